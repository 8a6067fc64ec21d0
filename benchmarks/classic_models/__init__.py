"""Fifteen classic models, by us and by the tool that says each best."""
