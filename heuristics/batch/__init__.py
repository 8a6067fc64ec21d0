"""A_online and its baselines."""

from formulations.batch import COMPLETION, PROBLEM
from optsched.online.reoptimise import reoptimise_heuristic
from optsched.problem import Heuristic, later

_HERE = "heuristics.batch."

_RULES: dict[str, Heuristic] = {
    heuristic.name: heuristic
    for heuristic in (
        Heuristic(
            "a_online",
            later(_HERE + "a_online", "a_online"),
            "She et al., Algorithms 1 to 4",
            "rounds at doubling times, each a packing by dual prices",
            proposed=True,
        ),
        Heuristic(
            "batch_sche",
            later(_HERE + "a_online", "batch_sche"),
            "She et al., Section VI; Zhang et al., MobiHoc 2020",
            "the same rounds and prices, blind to location",
        ),
        Heuristic(
            "shortest_first",
            later(_HERE + "shortest_first", "shortest_first"),
            "beyond the paper",
            "jobs not begun planned anew on arrivals, shortest first, each where it ends first",
        ),
        Heuristic(
            "fifo",
            later(_HERE + "fifo", "fifo"),
            "She et al., Section VI",
            "in order of arrival, each on the server that starts it earliest",
        ),
        Heuristic(
            "drf",
            later(_HERE + "drf", "drf"),
            "She et al., Section VI; Ghodsi et al., NSDI 2011",
            "progressive filling over workers and parameter servers, fixed to completion",
        ),
        Heuristic(
            "preemptive",
            later(_HERE + "preemptive", "preemptive"),
            "She et al., Section VI; after Tiresias, NSDI 2019",
            "shortest remaining run time first, whole jobs, with or without overhead",
        ),
        Heuristic(
            "all_cloud",
            later(_HERE + "all_cloud", "all_cloud"),
            "trivial policy",
            "every job entirely in the cloud",
        ),
    )
}

HEURISTICS = _RULES | {"reoptimise": reoptimise_heuristic(PROBLEM)}
"""For total flow time."""

COMPLETION_HEURISTICS = _RULES | {"reoptimise": reoptimise_heuristic(COMPLETION)}
"""For total weighted completion time."""

__all__ = ["COMPLETION_HEURISTICS", "HEURISTICS"]
