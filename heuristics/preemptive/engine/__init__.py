"""The event loop of the edge workers: what waits, what runs, and what a place costs."""
