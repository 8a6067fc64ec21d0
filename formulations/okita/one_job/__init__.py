"""The cheapest schedule of one job at given prices: what bounds, windows and pricing stand on."""
