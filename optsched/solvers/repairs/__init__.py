"""Repairs: what keeps solvers from answers that are wrong, and mends those they give all the same.

Each file holds one repair, and names the model on which a solver was seen to be wrong without it.
"""
