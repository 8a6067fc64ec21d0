"""Back ends: one folder per solver, found by name; the model checks each answer."""
