"""A_online, its variants, the paper's baselines, and the policy every figure needs beside them."""

from dataclasses import replace
from functools import partial

from formulations.preemptive import PROBLEM, STORAGE
from optsched.online.reoptimise import reoptimise_heuristic
from optsched.problem import Guarantee, Heuristic, later

_PAPER = "Wang et al., Algorithms 1 to 5"
_HERE = "heuristics.preemptive."

_THEOREMS = "formulations.preemptive.theorems.theorems"
_FOR_2 = Guarantee(
    later(_THEOREMS, "factor_for_2"),
    "optimum",
    "machines 1 + epsilon times as fast as those of the optimum",
    "Wang et al., Theorem 3 for (2), as printed",
)
_FOR_4 = Guarantee(
    later(_THEOREMS, "factor_for_4"),
    "optimum_4",
    "machines 1 + epsilon times as fast as those of (4); by the mean completion of chunks",
    "Wang et al., Theorem 3 for (4), as printed",
)

HEURISTICS: dict[str, Heuristic] = {
    heuristic.name: heuristic
    for heuristic in (
        Heuristic(
            "a_online",
            later(_HERE + "a_online", "a_online"),
            _PAPER,
            "cheapest place for each chunk on arrival, preemption by highest density",
            proposed=True,
            rules=later("heuristics.preemptive.rules", "Rules"),
            guarantees=(_FOR_2, _FOR_4),
        ),
        Heuristic(
            "a_online_e",
            later(_HERE + "a_online", "a_online_e"),
            _PAPER,
            "A_online on edge workers only",
        ),
        Heuristic(
            "a_online_ns",
            later(_HERE + "a_online", "a_online_ns"),
            "beyond the paper, after " + _PAPER,
            "A_online that never splits a job between edge and cloud",
        ),
        Heuristic(
            "a_online_margin",
            partial(
                later(_HERE + "a_online", "a_online_ns"), pending_rule="exact", edge_margin=0.75
            ),
            "beyond the paper, after " + _PAPER,
            "A_online-NS by exact prices, at the edge only where that is a quarter cheaper",
        ),
        Heuristic(
            "srtf",
            later(_HERE + "srtf", "srtf"),
            "Wang et al., Section V-A",
            "whole jobs on edge workers, shortest remaining time first",
        ),
        Heuristic(
            "tiresias_l",
            later(_HERE + "tiresias", "tiresias_l"),
            "Wang et al., Section V-A, after Gu et al., NSDI 2019",
            "whole jobs on edge workers, queues by attained service",
            later(_HERE + "tiresias", "is_online"),
        ),
        Heuristic(
            "batch_sche",
            later(_HERE + "batch_scheduler", "batch_sche"),
            "Wang et al., Section V-A, after Zhang et al., MobiHoc 2020",
            "doubling batches, the cheapest place for each job, no preemption",
        ),
        Heuristic(
            "all_cloud",
            later(_HERE + "all_cloud", "all_cloud"),
            "trivial policy",
            "every job entirely in the cloud",
        ),
        reoptimise_heuristic(PROBLEM),
    )
}

STORAGE_HEURISTICS: dict[str, Heuristic] = {
    "a_online_storage": Heuristic(
        "a_online_storage",
        later(_HERE + "storage", "a_online_storage"),
        "Wang et al., Section VI",
        "A_online that sends a chunk only where there is room for it",
        proposed=True,
        guarantees=(replace(_FOR_2, source="Wang et al., Section VI: Theorem 3 for (7)"),),
    ),
    "all_cloud": HEURISTICS["all_cloud"],
    "reoptimise": reoptimise_heuristic(STORAGE),
}
"""For the problem with limited storage."""

__all__ = ["HEURISTICS", "STORAGE_HEURISTICS"]
