"""AerialEdge's algorithms and the policies it is compared with."""

from formulations.aerialedge import PROBLEM
from optsched.online.reoptimise import reoptimise_heuristic
from optsched.problem import Heuristic, later

_PAPER = "Awada et al., Section IV-B"
_HERE = "heuristics.aerialedge."
_BASELINES = _HERE + "baselines"

HEURISTICS: dict[str, Heuristic] = {
    heuristic.name: heuristic
    for heuristic in (
        Heuristic("aerialedge", later(_HERE + "aerialedge", "aerialedge"),
                  "Awada et al., Algorithms 2 and 3, corrected",
                  "closest dispatch, exact packing, all tasks reserved at once", online=False,
                  proposed=True),
        Heuristic("pack_greedy", later(_HERE + "aerialedge", "pack_greedy"),
                  "Awada et al., Algorithm 3, by its text",
                  "largest node first, each filled by an exact knapsack", online=False),
        Heuristic("tetris", later(_BASELINES, "tetris"), _PAPER,
                  "half of the tasks at a time, by alignment of demand and free space",
                  online=False),
        Heuristic("graphene", later(_BASELINES, "graphene"), _PAPER,
                  "troublesome tasks first, some 40 % at a time, first-fit", online=False),
        Heuristic("spear", later(_BASELINES, "spear"), _PAPER,
                  "critical path first, some 15 % at a time, first-fit", online=False),
        Heuristic("spear_mcts", later(_HERE + "spear_mcts", "spear_mcts"),
                  "after Spear (ICDCS 2019)",
                  "order by tree search with random rollouts, some 15 % at a time", online=False),
        Heuristic("random_queued", later(_BASELINES, "random_queued"), _PAPER,
                  "one task per node drawn at random; the rest waits"),
        Heuristic("random_at_once", later(_BASELINES, "random_at_once"), _PAPER,
                  "one task per node drawn at random; the rest is left out"),
        Heuristic("next_fit", later(_BASELINES, "next_fit"), _PAPER,
                  "the next task on the current node, else on a new one"),
        Heuristic("first_fit", later(_BASELINES, "first_fit"), _PAPER,
                  "the next task on the first node with room"),
        Heuristic("first_fit_decreasing", later(_BASELINES, "first_fit_decreasing"), "reference",
                  "large tasks first, each on the first node with room", online=False),
        Heuristic("best_order", later(_BASELINES, "best_order"), "beyond the paper",
                  "all tasks at once, the best of first-fit by two sizes and alignment",
                  online=False),
        reoptimise_heuristic(PROBLEM),
    )
}  # fmt: skip

__all__ = ["HEURISTICS"]
