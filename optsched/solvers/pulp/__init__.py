"""CBC from PuLP's wheel, and every solver that PuLP supports."""
