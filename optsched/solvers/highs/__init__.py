"""HiGHS, by arrays."""
