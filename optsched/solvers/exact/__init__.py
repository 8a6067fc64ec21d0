"""Exact, a search over integers in arbitrary precision."""
