"""Our exact methods for batch; see method.py."""
