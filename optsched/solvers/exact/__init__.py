"""Exact, a search over whole numbers in arbitrary precision."""
