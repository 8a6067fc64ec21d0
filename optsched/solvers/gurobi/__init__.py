"""Gurobi, with the user's licence or the small one in its wheel."""
