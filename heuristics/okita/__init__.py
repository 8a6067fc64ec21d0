"""Okita and the baselines of its evaluation."""

from functools import partial

from formulations.okita import PROBLEM
from optsched.online.reoptimise import reoptimise_heuristic
from optsched.problem import Heuristic, later

__all__ = ["HEURISTICS"]

_OKITA = later("heuristics.okita.okita", "okita")

HEURISTICS: dict[str, Heuristic] = {
    "okita": Heuristic(
        "okita", _OKITA, "Han et al., Algorithms 1 to 3",
        "plans every job alone, deploys by priority, migrates or delays; errata as options",
        proposed=True,
    ),
    "okita_exact": Heuristic(
        "okita_exact", partial(_OKITA, placement="exact", transport="exact"),
        "Han et al., Algorithm 1 with (5) and (7')",
        "the same with exact placement and transport in every step",
    ),
    "okita_near_data": Heuristic(
        "okita_near_data", partial(_OKITA, placement="near_data", migrate_search="any_n"),
        "beyond the paper, after Han et al., Algorithm 1",
        "the same, workers also tried beside the server, where the data lie, and site after site",
    ),
    "fifo": Heuristic(
        "fifo", later("heuristics.okita.fifo", "fifo"),
        "Han et al., Section V-A",
        "first come, first served, with a random fixed number of workers",
    ),
    "drf": Heuristic(
        "drf", later("heuristics.okita.drf", "drf"),
        "Han et al., Section V-A; Ghodsi et al., NSDI 2011",
        "dominant-resource fairness among waiting jobs, then fixed",
    ),
    "oasis": Heuristic(
        "oasis", later("heuristics.okita.oasis", "oasis"),
        "Bao et al., INFOCOM 2018, without rejection",
        "reserves workers on arrival by prices that rise with what is reserved",
    ),
    "reoptimise": reoptimise_heuristic(PROBLEM),
}  # fmt: skip
