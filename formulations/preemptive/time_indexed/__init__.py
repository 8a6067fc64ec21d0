"""Time-indexed models: the grid of jobs, classes and slots, and schedules read off their points."""
