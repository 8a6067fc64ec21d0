"""Exchanging jobs over sets of servers: simulated annealing and ejection chains.

``annealing`` looks for so many jobs; ``ejection_chains`` are its moves on the ``state`` of jobs and
servers. ``tight_servers`` places jobs on dear servers first.
"""
