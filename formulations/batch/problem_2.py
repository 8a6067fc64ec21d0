"""Problem (2): least total flow time, as a mixed-integer program.

Its rows R1 to R7 are ours; ``problem_2_literal`` has the paper's. ``problem_2_intervals`` states
the same without slots.
"""

from __future__ import annotations

from functools import partial
from typing import Literal, get_args

import numpy as np

from formulations.batch.domain_reduction import last_slots, windows
from formulations.batch.instance import Floats, Instance
from formulations.batch.schedule import Schedule
from formulations.batch.time_indexed import EQUATIONS, SlotIndex, build, decode, encode
from optsched.errors import InputError
from optsched.model import Model
from optsched.problem import OBJECTIVE
from optsched.problem.methods import Formulation
from optsched.solvers.solution import Solution

Objective = Literal["flow", "completion"]
"""sum_j (c_j - a_j) as printed, or the weighted completion times sum_j w_j c_j."""


def objective_terms(instance: Instance, objective: str) -> tuple[Floats, float]:
    """Weights of the completion slots, shape (jobs,), and a constant.

    Raises:
        InputError: no such objective.
    """
    if objective == "flow":
        return np.ones(instance.jobs), -float(instance.release_slot.sum())
    if objective == "completion":
        return instance.weight, 0.0
    allowed = "must be one of " + ", ".join(get_args(Objective))
    raise InputError.of("objective", objective, allowed)


def layout(instance: Instance, *, every: bool = False, slack: int = 0, known: int = 0) -> SlotIndex:
    """The index sets of (2).

    Args:
        instance: the jobs and the system.
        every: all worker counts, without Lemma 2.
        slack: slots added to every job's window, which changes no optimum.
        known: slot before which jobs may wait to see who comes.
    """
    w = windows(instance, every=every)
    chosen = w.choices
    soonest = instance.release_slot + w.alone
    first = np.maximum(w.earliest, soonest[chosen.job] - chosen.duration + 1)
    last = last_slots(instance, known) + slack
    kept = (w.earliest >= 0) & (first + chosen.duration - 1 <= last[chosen.job])
    everywhere = np.ones((instance.jobs, instance.servers), dtype=bool)
    return SlotIndex(instance, chosen.take(kept), first[kept], last, everywhere)


def problem_2(
    instance: Instance, *, objective: Objective = "flow", every: bool = False, slack: int = 0
) -> Model:
    """(2) as a mixed-integer program.

    Args:
        instance: the jobs and the system.
        objective: what is minimised.
        every: all worker counts, without Lemma 2.
        slack: slots added to every job's window.

    Raises:
        InputError: no such objective.
    """
    index = layout(instance, every=every, slack=slack)
    weight, constant = objective_terms(instance, objective)
    model = Model("problem (2)")
    build(model, index, 1.0)
    choice, start = index.starts
    completion = start + index.choices.duration[choice] - 1
    formula = r"\sum_j (c_j - a_j)" if objective == "flow" else r"\sum_j w_j c_j"
    model.minimize(model["b"] @ (weight[index.start_job] * completion) + constant, formula=formula)
    return model


def decode_problem_2(
    instance: Instance, solution: Solution, *, every: bool = False, slack: int = 0
) -> Schedule:
    """The schedule a solution of ``problem_2`` stands for."""
    return decode(layout(instance, every=every, slack=slack), solution)


def encode_problem_2(instance: Instance, schedule: Schedule) -> dict[str, Floats]:
    """A schedule as a start for ``problem_2`` with its defaults."""
    return encode(layout(instance), schedule)


def formulations(objective: Objective) -> tuple[Formulation, ...]:
    """The model of (2) with that objective."""
    return (
        Formulation(
            "problem_2", partial(problem_2, objective=objective), "problem (2)",
            "a binary per start, efficient worker counts",
            decode_problem_2, encode_problem_2,
            equations={
                "1": "`b` knows p_j by the durations of its choices.", "2": OBJECTIVE, **EQUATIONS,
            },
        ),
    )  # fmt: skip


FLOW, COMPLETION = formulations("flow"), formulations("completion")
