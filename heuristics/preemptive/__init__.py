"""A_online, its variants, and the policy every figure needs beside it."""

from heuristics.preemptive import a_online, all_cloud
from optsched.problem import Heuristic

_PAPER = "Wang et al., Algorithms 1 to 5"

HEURISTICS: dict[str, Heuristic] = {
    heuristic.name: heuristic
    for heuristic in (
        Heuristic(
            "a_online",
            a_online.a_online,
            _PAPER,
            "cheapest place for each chunk on arrival, preemption by highest density",
        ),
        Heuristic(
            "a_online_e",
            a_online.a_online_e,
            _PAPER,
            "A_online on edge workers only",
        ),
        Heuristic(
            "a_online_ns",
            a_online.a_online_ns,
            "beyond the paper, after " + _PAPER,
            "A_online that never splits a job between edge and cloud",
        ),
        Heuristic(
            "all_cloud",
            all_cloud.all_cloud,
            "trivial policy",
            "every job entirely in the cloud",
        ),
    )
}

__all__ = ["HEURISTICS"]
