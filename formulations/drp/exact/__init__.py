"""Our exact methods for drp; see method.py."""
