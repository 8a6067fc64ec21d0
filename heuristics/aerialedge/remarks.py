"""Why claims of AerialEdge's paper come out as they do."""

REMARKS = {
    "usage_drone_2_tetris": "no whole number of nodes gives 2 %: one node of Drone 2 is 11 %",
    "as_few_tetris": "Tetris reaches the fewest nodes in all workloads where batches share nodes",
    "trace_depth": "a job cannot be deeper than it has tasks, 3.4 in the mean",
    "headline_execution_others": "the largest factor over all drones is 6.6",
    "memory_drone_2": "below one point, as printed rounded",
}
"""By claim."""
