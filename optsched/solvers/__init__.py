"""Back ends: one engine a folder, found by name, each answer judged by the model."""
