"""Why claims of AerialEdge's paper come out as they do."""

_SCHEDULING = (
    "seconds of a Kubernetes cluster there, CPU time of this code here: exact packing where the "
    "paper's gang takes one pass, so that AerialEdge is the slowest"
)
_EXECUTION = (
    "over Random and Tetris Figure 9 has (10) over all tasks at once, which is the number of "
    "batches; Spear's and Graphene's factors fit (10) job by job as well; by the end of the last "
    "task all are near 1"
)
_NO_FACTOR = "Figure 9 prints no factor over Random for this drone"
_NO_MAKESPAN = (
    "the paper states no end of the last task; it stands beside (10), which is no time at which "
    "anything ends"
)

REMARKS = {
    "usage_drone_2_tetris": "no whole number of nodes gives 2 %: one node of Drone 2 is 11 %",
    "as_few_tetris": "Tetris reaches the fewest nodes in all workloads where batches share nodes",
    "trace_depth": "a job cannot be deeper than it has tasks, 3.4 in the mean",
    "headline_utilisation": "23.6 points if Random queues what finds no empty node; 44.4 for the "
    "tasks that it can deploy at once, for which the paper says that its results are",
    "usage_drone_5_spear": "in the mean one of 20 nodes stays empty",
    "usage_drone_6_spear": "in the mean three of 38 nodes stay empty",
    "headline_execution_others": "the largest factor over all drones is 6.6",
    "memory_drone_2": "below one point, as printed rounded",
    "usage_drone_4": "Graphene and Spear open 12 or 13 of 13 nodes, by what their batches hold, of "
    "which only totals are printed; with 12 it is the printed 7 %",
    "usage_drone_5": "Random holds all 20 nodes, AerialEdge needs 17: no whole number of nodes "
    "gives 13 %, one is 5 %",
    **{
        f"scheduling_drone_{drone}_{method}": _SCHEDULING
        for drone in (2, 3, 4)
        for method in ("tetris", "graphene", "spear", "random")
        if (drone, method) != (3, "random")
    },
    **dict.fromkeys(
        ("headline_scheduling_others", "headline_scheduling_random", "fastest_scheduling"),
        _SCHEDULING,
    ),
    **{
        f"execution_drone_{drone}_{method}": _EXECUTION
        for drone in (2, 3, 4)
        for method in ("tetris", "graphene", "spear", "random")
        if (drone, method) != (3, "random")
    },
    "headline_execution_random": _EXECUTION,
    **{f"execution_metric_drone_{drone}": _NO_FACTOR for drone in (1, 3, 5)},
    **{f"makespan_drone_{drone}": _NO_MAKESPAN for drone in range(1, 7)},
    "headline_makespan": _NO_MAKESPAN,
}
"""By claim."""
