"""Problem (3): most jobs that start and finish inside one round's window, as a program in slots.

Round i happens at the end of slot tau and fills the slots tau + 1..2 tau. The jobs of the round
are those of the instance; ``round_jobs`` selects them.
"""

from __future__ import annotations

import numpy as np

from formulations.batch.domain_reduction import windows
from formulations.batch.instance import Instance
from formulations.batch.schedule import Schedule
from formulations.batch.time_indexed import EQUATIONS, SlotIndex, build, decode
from optsched.model import Model
from optsched.problem import OBJECTIVE
from optsched.problem.methods import Formulation
from optsched.solvers.solution import Solution


def round_jobs(instance: Instance, tau: int) -> Instance:
    """The jobs that have arrived before slot tau.

    Raises:
        InputError: there are none.
    """
    return instance.select_jobs(np.flatnonzero(instance.release_slot < tau))


def layout(instance: Instance, tau: int, *, every: bool = False) -> SlotIndex:
    """The index sets of (3)."""
    w = windows(instance, every=every)
    first = np.maximum(w.earliest, tau + 1)
    kept = (w.earliest >= 0) & (first + w.choices.duration - 1 <= 2 * tau)
    last = np.full(instance.jobs, 2 * tau)
    everywhere = np.ones((instance.jobs, instance.servers), dtype=bool)
    return SlotIndex(instance, w.choices.take(kept), first[kept], last, everywhere)


def problem_3(instance: Instance, *, tau: int = 8, every: bool = False) -> Model:
    """(3) as a mixed-integer program; with weights, the total weight of the jobs.

    Args:
        instance: holds the jobs of the round.
        tau: end of the slot in which the round happens.
        every: all worker counts, without Lemma 2.
    """
    model = Model("problem (3)")
    x = model.binary("x", instance.jobs, formula="x_j")
    build(model, layout(instance, tau, every=every), x)
    model.maximize(x @ instance.weight, formula=r"\sum_j x_j")
    return model


def decode_problem_3(
    instance: Instance, solution: Solution, *, tau: int = 8, every: bool = False
) -> Schedule:
    """The runs of the jobs accepted."""
    return decode(layout(instance, tau, every=every), solution)


FORMULATIONS = (
    Formulation("problem_3", problem_3, "problem (3)",
                "most jobs inside the window tau + 1..2 tau; a binary per start",
                equations={
                    "3": OBJECTIVE,
                    "3a": "x",
                    "3b": "`R1`, `R2` and `R3`: a job with x_j = 0 has no start, no workers and no "
                    "parameter server, one with x_j = 1 has them.",
                    **EQUATIONS,
                }),
)  # fmt: skip
