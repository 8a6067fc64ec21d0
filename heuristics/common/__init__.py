"""What the baselines of several papers share."""
