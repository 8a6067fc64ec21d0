"""Run methods on instances, and compute ratios to the optimum and tables of them."""
