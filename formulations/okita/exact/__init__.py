"""Our exact methods for problem (2) of okita; see method.py."""
