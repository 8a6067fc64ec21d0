"""Problems (2), (3) and (9) under the paper's own numbers, for instances of a few jobs and slots.

Workers y and parameter servers z have a variable for every job, server and slot. Conditions and
alternatives stay what they are. ``problem_2``, ``problem_3`` and ``problem_9`` have the same
optima in far fewer variables.

The statements are corrected where they fail as printed: (2b) also says that a job at rest has no
parameter server, (2c) and (2d) end with the slot before c_j, (2g) and (2h) count the jobs of the
type.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from formulations.batch.domain_reduction import last_slots
from formulations.batch.instance import Instance, Integers
from formulations.batch.problem_2 import Objective, objective_terms
from formulations.batch.problem_9 import OBJECTIVE_9, ServerPrices
from formulations.batch.schedule import Schedule
from optsched.model import Model, Variable
from optsched.problem import OBJECTIVE
from optsched.problem.methods import Formulation
from optsched.solvers.solution import Solution


def problem_2_literal(instance: Instance, *, objective: Objective = "flow") -> Model:
    """(2) as the paper states it.

    Args:
        instance: the jobs and the system; tiny.
        objective: what is minimised.

    Raises:
        InputError: no such objective.
    """
    weight, constant = objective_terms(instance, objective)
    model = Model("problem (2), literal")
    _add_jobs(model, instance, np.arange(1, int(last_slots(instance).max()) + 1))
    _add_capacities(model, instance)
    model.add("served", model["run"].sum(axis=1) >= 1)
    formula = r"\sum_j (c_j - a_j)" if objective == "flow" else r"\sum_j w_j c_j"
    model.minimize(model["2k"] @ weight + constant, formula=formula)
    return model


def problem_3_literal(instance: Instance, *, tau: int = 8) -> Model:
    """(3) as the paper states it; with weights, the total weight of the jobs.

    Args:
        instance: holds the jobs of the round; tiny.
        tau: end of the slot in which the round happens.
    """
    model = Model("problem (3), literal")
    x = model.binary("x", instance.jobs, formula="x_j")
    _add_jobs(model, instance, np.arange(tau + 1, 2 * tau + 1), x)
    _add_capacities(model, instance)
    run = model["run"]
    formula = r"x_j = 1 \Leftrightarrow y_{js}(t) > 0 \text{ for some } s, t"
    model.add("3b:only", run <= x.reshape(-1, 1), formula=formula)
    model.add("3b:if", run.sum(axis=1) >= x, formula=formula)
    model.maximize(x @ instance.weight, formula=r"\sum_j x_j")
    return model


def problem_9_literal(instance: Instance, j: int, prices: ServerPrices) -> Model:
    """(9) for one job as the paper states it; see ``problem_9.problem_9``."""
    one = instance.select_jobs([j])
    u, v = int(one.worker_type[0]), int(one.ps_type[0])
    model = Model("problem (9), literal")
    _add_jobs(model, one, prices.first + np.arange(prices.workers.shape[2]))
    y, z = model["y"][0], model["z"][0]
    for name, amount, room, formula in (
        ("9a", y, prices.workers[:, u], r"y_{js}(t) \le W_{su_j} - f_{su_j}(t)"),
        ("9b", z, prices.services[:, v], r"z_{js}(t) \le P_{sv_j} - g_{sv_j}(t)"),
    ):
        at = np.isfinite(room)
        model.add(name, amount[at] <= room[at], formula=formula)
    model.add("served", model["run"].sum(axis=1) >= 1)
    bills = (y, prices.worker_price[:, u]), (z, prices.ps_price[:, v])
    model.minimize(
        # where nothing is, nothing can be taken, whatever the price
        sum((amount * np.where(np.isfinite(price), price, 0.0)).sum() for amount, price in bills),
        formula=OBJECTIVE_9,
    )
    return model


def _add_jobs(
    model: Model, instance: Instance, slots: Integers, accepted: Variable | None = None
) -> None:
    """Add (2a) to (2f) and (2i) to (2l): each is of one job.

    Args:
        model: what to add to.
        instance: the jobs and the system.
        slots: in which they may run, one after the other.
        accepted: x_j, binary; None: all are.
    """
    jobs, span = instance.jobs, len(slots)
    shape = (jobs, instance.servers, span)
    chunks = instance.num_chunks.reshape(-1, 1)
    y = model.integer("y", shape, upper=chunks[:, :, None], formula="y_{js}(t)")
    z = model.binary("z", shape, formula="z_{js}(t)")
    model.binary("xi", jobs, formula=r"\xi_j")
    run = model.binary("run", (jobs, span), formula=r"[\sum_s y_{js}(t) > 0]")
    busy = y.sum(axis=1)
    model.add("2a", busy <= chunks, formula=r"\sum_s y_{js}(t) \le D_j")
    model.add("run:workers", busy <= run * chunks)
    model.add("run:rest", busy >= run)
    formula = r"\sum_s z_{js}(t) = 1 \text{ if } \sum_s y_{js}(t) > 0, \text{ else } 0"
    model.add("2b", z.sum(axis=1) == run, formula=formula)
    first = model.first_active(run, slots, name="2j", formula=
        r"h_j = \min \{t : \sum_s y_{js}(t) > 0\}")  # fmt: skip
    last = model.last_active(run, slots, name="2k", formula=
        r"c_j = \max \{t : \sum_s y_{js}(t) > 0\}")  # fmt: skip
    x = 1.0 if accepted is None else accepted
    # without a gap between h_j and c_j, (2c) and (2d) speak of neighbouring slots that run
    gone = float(slots[-1] + 1 - slots[0])
    length = last - first + 1 + (1 - x) * gone
    for name, letter, placed in (("2c", "y", y), ("2d", "z", z)):
        formula = rf"{letter}_{{js}}(t) = {letter}_{{js}}(t + 1), \quad h_j \le t < c_j"
        now, next_ = (run[:, s].reshape(jobs, 1, span - 1) for s in (np.s_[:-1], np.s_[1:]))
        same = placed[:, :, :-1] == placed[:, :, 1:]
        model.indicator([now, next_], same, name=f"{name}:stays", formula=formula)
    model.add("2c:no gap", length == run.sum(axis=1), formula=
        r"y_{js}(t) = y_{js}(t + 1), \quad h_j \le t < c_j")  # fmt: skip
    reached = (instance.release_slot[:, None] + instance.upload_delay)[:, :, None]
    early = np.broadcast_to(slots, shape) < reached
    formula = r"y_{js}(t) = z_{js}(t) = 0, \quad t < a_j + \Delta_{js}"
    model.add("2i:workers", y[early] == 0, formula=formula)
    model.add("2i:parameter servers", z[early] == 0, formula=formula)
    _add_work(model, instance, accepted)


def _add_work(model: Model, instance: Instance, accepted: Variable | None) -> None:
    """Add (2e) and (2f)."""
    y, z, xi = model["y"], model["z"], model["xi"]
    shape, x = y.shape, 1.0 if accepted is None else accepted
    work = r"\sum_{t,s} y_{js}(t) p_j^{\xi_j} \ge E_j D_j M_j"
    done = y.sum(axis=(1, 2))
    for name, need, fast in (
        ("2e:apart", instance.work_slow, False), ("2e:together", instance.work_fast, True),
    ):  # fmt: skip
        literals, values = [xi], [fast]
        if accepted is not None:
            literals, values = [xi, accepted], [fast, True]
        model.indicator(literals, done >= need, active=values, name=name, formula=work)
    formula = r"\xi_j = 1 \Leftrightarrow \text{one server has all workers and the PS of } j"
    limit = instance.num_chunks.reshape(-1, 1, 1)
    beside = y + xi.reshape(-1, 1, 1) * limit - z * limit
    model.add("2f:only", beside <= np.broadcast_to(limit, shape), formula=formula)
    away = model.binary("away", shape, formula=r"[y_{js}(t) > 0, z_{js}(t) = 0]")
    model.add("away:workers", away <= y)
    model.add("away:parameter server", away + z <= 1)
    model.add("2f:if", xi + away.sum(axis=(1, 2)) >= x, formula=formula)


def _add_capacities(model: Model, instance: Instance) -> None:
    """Add (2g) and (2h)."""
    for name, kinds, capacity, held, symbol, room in (
        ("2g", instance.worker_type, instance.worker_capacity, model["y"], "y", "W_{su}"),
        ("2h", instance.ps_type, instance.ps_capacity, model["z"], "z", "P_{sv}"),
    ):
        kind = room[-2]
        for k in range(capacity.shape[1]):
            finite = np.flatnonzero(np.isfinite(capacity[:, k]))
            load = held[np.flatnonzero(kinds == k)].sum(axis=0)[finite]
            model.add(
                f"{name}:{k}",
                load <= capacity[finite, k][:, None],
                formula=rf"\sum_{{j: {kind}_j = {kind}}} {symbol}_{{js}}(t) \le {room}",
            )


def decode_literal(instance: Instance, solution: Solution, *, tau: int = 0) -> Schedule:
    """The schedule of a solved (2), or of a solved (3) whose window begins after tau."""
    runs: list[tuple[int, int, int, bool, int]] = []
    placements: list[tuple[int, int, int]] = []
    for job, on in enumerate(solution["run"] > 0.5):
        slots = np.flatnonzero(on)
        if not len(slots):
            continue
        first, last = int(slots[0]), int(slots[-1])
        workers = np.round(solution["y"][job, :, first]).astype(np.int64)
        placements += [(len(runs), s, n) for s, n in enumerate(workers.tolist())]
        ps, together = int(np.argmax(solution["z"][job, :, first])), solution["xi"][job] > 0.5
        runs.append((job, first + tau + 1, last + tau + 1, bool(together), ps))
    return Schedule.build(runs=runs, placements=placements)


EQUATIONS = {
    "2a": "2a", "2b": "2b", "2c": "2c", "2d": "2d", "2e": "2e", "2f": "2f", "2g": "2g",
    "2h": "2h", "2i": "2i", "2j": "2j", "2k": "2k", "2l": "y, z, xi",
}  # fmt: skip
"""Where (2a) to (2l) are in these models."""


def formulations(objective: Objective) -> tuple[Formulation, ...]:
    """The model of (2) with that objective."""
    return (
        Formulation(
            "problem_2_literal", partial(problem_2_literal, objective=objective), "problem (2)",
            "row by row under the paper's numbers; tiny instances",
            decode_literal, solver="cpsat", equations={"2": OBJECTIVE, **EQUATIONS},
        ),
    )  # fmt: skip


FLOW, COMPLETION = formulations("flow"), formulations("completion")

FORMULATIONS = (
    Formulation(
        "problem_3_literal", problem_3_literal, "problem (3)",
        "row by row under the paper's numbers; tiny instances",
        solver="cpsat", equations={"3": OBJECTIVE, "3a": "x", "3b": "3b", **EQUATIONS},
    ),
)  # fmt: skip
