"""Problem (2) for one job: its schedules, the cheapest at given prices, and a bound on it."""
