"""Our exact methods for preemptive; see method.py."""
