"""(2) for what is known by and by: one scenario's part of the model of all online algorithms.

A job may wait to see whether others come, and so end later than it would have in the cloud at
once. Once no other future is left, waiting is of no more use: from then on windows are those of
(2).
"""

from __future__ import annotations

import numpy as np

from formulations.batch.instance import Instance
from formulations.batch.problem_2 import Objective, layout, objective_terms
from formulations.batch.schedule import Schedule
from formulations.batch.time_indexed import build, decode
from optsched.model import Model
from optsched.problem.arrivals import Copy, Decisions
from optsched.solvers.solution import Solution


def unfold(
    model: Model, name: str, instance: Instance, known: float, *, objective: Objective = "flow"
) -> Copy:
    """Add (2) with windows that leave room for waiting until the future is known.

    Args:
        model: what to add to.
        name: of the scenario.
        instance: the jobs and the system.
        known: slot from which on no other jobs may come than the instance's.
        objective: what is minimised.
    """
    index = layout(instance, known=int(max(0.0, np.ceil(known))))
    prefix = f"{name}."
    cells = build(model, index, 1.0, prefix=prefix)
    choice, start = index.starts
    b = model[f"{prefix}b"]
    chosen = index.choices
    end = start + chosen.duration[choice] - 1
    decisions = {
        "b": Decisions(
            b,
            start.astype(float),
            np.column_stack(
                [index.start_job, chosen.workers[choice], chosen.fast[choice], start]
            ).astype(np.int64),
        )
    }
    for label, (of, slot), pair in (
        ("y_t", cells.worker_cell, index.worker_pair),
        ("z_t", cells.ps_cell, index.ps_pair),
    ):
        what = np.column_stack([pair[0][of], pair[1][of], slot])
        decisions[label] = Decisions(model[f"{prefix}{label}"], slot.astype(float), what)

    def decoded(solution: Solution) -> Schedule:
        return decode(index, {part: solution[f"{prefix}{part}"] for part in ("b", "y", "z")})

    weight, constant = objective_terms(instance, objective)
    return Copy(b @ (weight[index.start_job] * end) + constant, decisions, decoded)
