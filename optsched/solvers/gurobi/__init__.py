"""Gurobi, with a licence of one's own or the small one in its wheel."""
