"""R-DR, R-DSR and the baselines of the paper's evaluation."""

from functools import partial

from optsched.problem import Guarantee, Heuristic, later

__all__ = ["DSRP_HEURISTICS", "HEURISTICS"]

_PAPER = "Chen et al., "
_HERE = "heuristics.drp."
_BASELINES = _HERE + "baselines"

_SEQUENTIAL = (
    (
        "random", later(_BASELINES, "random"), _PAPER + "Section 5",
        "a random server in reach for every node",
    ),
    (
        "greedy", later(_BASELINES, "greedy"), _PAPER + "Section 5",
        "the server in reach that stores least",
    ),
    (
        "nearest", later(_BASELINES, "nearest"), _PAPER + "Section 5, job by job",
        "the nearest server, job by job",
    ),
    (
        "nearest_literal", later(_BASELINES, "nearest_literal"),
        _PAPER + "Section 5, as written",
        "all at the nearest server, then jobs of greatest rate go while anything is violated",
    ),
    (
        "least_load", later(_HERE + "least_load", "least_load"), "beyond the paper",
        "each node on the server that is then used least, the exact test, small jobs first",
    ),
)  # fmt: skip

_THEOREM_3 = [
    Guarantee(
        later("formulations.drp.theorems", "factor_of_theorem_3"), against,
        "many nodes, rates uniformly bounded, every x of LP1 off 0 and 1; in expectation",
        _PAPER + "Theorem 3, (20)",
    )
    for against in ("optimum", "lp1_first")
]  # fmt: skip

_R_DSR = [
    Guarantee(
        later("formulations.drp.theorems", "factor_of_r_dsr"), against,
        "jobs admitted, whatever capacities say; with probability 1 - 1 / n^3",
        _PAPER + "(32) to (39)",
    )
    for against in ("optimum", "lp2")
]  # fmt: skip

HEURISTICS: dict[str, Heuristic] = {
    "r_dr": Heuristic(
        "r_dr", later(_HERE + "r_dr", "r_dr"), "Chen et al., Algorithm 1",
        "relax, round at random, admit what fits; mode and prune as options", online=False,
        proposed=True, guarantees=_THEOREM_3,
    ),
    **{
        name: Heuristic(name, run, source, summary, online=False)
        for name, run, source, summary in _SEQUENTIAL
    },
}  # fmt: skip
"""Of DRP."""

DSRP_HEURISTICS: dict[str, Heuristic] = {
    "r_dsr": Heuristic(
        "r_dsr", later(_HERE + "r_dsr", "r_dsr"), "Chen et al., Algorithm 2, repaired",
        "relax, admit at random, round around few servers, repair and fill", online=False,
        proposed=True, guarantees=_R_DSR,
    ),
    "r_dsr_raw": Heuristic(
        "r_dsr_raw", later(_HERE + "r_dsr", "r_dsr_raw"), "Chen et al., Algorithm 2",
        "as printed: in general breaks capacities", online=False, guarantees=_R_DSR,
    ),
    "r_dr_storage": Heuristic(
        "r_dr_storage", later(_HERE + "r_dr_storage", "r_dr_storage"), "Chen et al., Section 5",
        "R-DR, then jobs whose services do not fit go", online=False,
    ),
    **{
        name: Heuristic(
            name, partial(run, services=True), source, summary, online=False
        )
        for name, run, source, summary in _SEQUENTIAL
    },
}  # fmt: skip
"""Of DSRP."""
