"""Executors: processes of this machine, and a cluster's."""
