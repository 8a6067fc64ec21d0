"""Our exact methods for aerialedge; see method.py."""
