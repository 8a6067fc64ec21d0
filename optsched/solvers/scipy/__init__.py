"""scipy's own HiGHS: a second witness at no cost."""
