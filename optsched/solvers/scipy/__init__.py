"""scipy's HiGHS: a second solve without a further package."""
