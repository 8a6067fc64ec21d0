"""AerialEdge's algorithms and the policies it is compared with."""

from formulations.aerialedge import PROBLEM
from heuristics.aerialedge import aerialedge, baselines, spear_mcts
from optsched.online import reoptimise_heuristic
from optsched.problem import Heuristic

_PAPER = "Awada et al., Section IV-B"

HEURISTICS: dict[str, Heuristic] = {
    heuristic.name: heuristic
    for heuristic in (
        Heuristic("aerialedge", aerialedge.aerialedge,
                  "Awada et al., Algorithms 2 and 3, corrected",
                  "closest dispatch, exact packing, all tasks reserved at once", online=False,
                  proposed=True),
        Heuristic("pack_greedy", aerialedge.pack_greedy, "Awada et al., Algorithm 3, by its text",
                  "largest node first, each filled by an exact knapsack", online=False),
        Heuristic("tetris", baselines.tetris, _PAPER,
                  "half of the tasks at a time, by alignment of demand and free space",
                  online=False),
        Heuristic("graphene", baselines.graphene, _PAPER,
                  "troublesome tasks first, some 40 % at a time, first-fit", online=False),
        Heuristic("spear", baselines.spear, _PAPER,
                  "critical path first, some 15 % at a time, first-fit", online=False),
        Heuristic("spear_mcts", spear_mcts.spear_mcts, "after Spear (ICDCS 2019)",
                  "order by tree search with random rollouts, some 15 % at a time", online=False),
        Heuristic("random", baselines.random, _PAPER,
                  "one task per node drawn at random; the rest is left out"),
        Heuristic("next_fit", baselines.next_fit, _PAPER,
                  "the next task on the current node, else on a new one"),
        Heuristic("first_fit", baselines.first_fit, _PAPER,
                  "the next task on the first node with room"),
        Heuristic("first_fit_decreasing", baselines.first_fit_decreasing, "reference",
                  "large tasks first, each on the first node with room", online=False),
        Heuristic("best_order", baselines.best_order, "beyond the paper",
                  "all tasks at once, the best of first-fit by two sizes and alignment",
                  online=False),
        reoptimise_heuristic(PROBLEM),
    )
}  # fmt: skip

__all__ = ["HEURISTICS"]
