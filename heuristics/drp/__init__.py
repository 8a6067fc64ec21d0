"""R-DR, R-DSR and the baselines of the paper's evaluation."""

from functools import partial

from heuristics.drp.baselines import greedy, nearest, nearest_literal, random
from heuristics.drp.r_dr import r_dr
from heuristics.drp.r_dr_storage import r_dr_storage
from heuristics.drp.r_dsr import r_dsr, r_dsr_raw
from optsched.problem import Heuristic

__all__ = ["DSRP_HEURISTICS", "HEURISTICS"]

_BASELINES = (
    ("random", random, "Section 5", "a random server in reach for every node"),
    ("greedy", greedy, "Section 5", "the server in reach that stores least"),
    ("nearest", nearest, "Section 5, job by job", "the nearest server, job by job"),
    (
        "nearest_literal", nearest_literal, "Section 5, as written",
        "all at the nearest server, then jobs of greatest rate go while anything is violated",
    ),
)  # fmt: skip

HEURISTICS: dict[str, Heuristic] = {
    "r_dr": Heuristic(
        "r_dr", r_dr, "Chen et al., Algorithm 1",
        "relax, round at random, admit what fits; mode and prune as options", online=False,
        proposed=True,
    ),
    **{
        name: Heuristic(name, run, f"Chen et al., {source}", summary, online=False)
        for name, run, source, summary in _BASELINES
    },
}  # fmt: skip
"""Of DRP."""

DSRP_HEURISTICS: dict[str, Heuristic] = {
    "r_dsr": Heuristic(
        "r_dsr", r_dsr, "Chen et al., Algorithm 2, repaired",
        "relax, admit at random, round around few servers, repair and fill", online=False,
        proposed=True,
    ),
    "r_dsr_raw": Heuristic(
        "r_dsr_raw", r_dsr_raw, "Chen et al., Algorithm 2",
        "as printed: in general breaks capacities", online=False,
    ),
    "r_dr_storage": Heuristic(
        "r_dr_storage", r_dr_storage, "Chen et al., Section 5",
        "R-DR, then jobs whose services do not fit go", online=False,
    ),
    **{
        name: Heuristic(
            name, partial(run, services=True), f"Chen et al., {source}", summary, online=False
        )
        for name, run, source, summary in _BASELINES
    },
}  # fmt: skip
"""Of DSRP."""
