"""Problem (4): a round as a packing of whole schedules, and (5), the dual of its relaxation.

``schedules`` lists all of them, which is for tiny instances; ``problem_4_columns`` generates those
that matter, pricing by (9), which is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from formulations.batch.domain_reduction import job_choices
from formulations.batch.instance import Floats, Instance, Integers
from formulations.batch.problem_9 import ServerView, best_offer
from optsched.decomposition import (
    Column,
    ColumnBlock,
    ColumnGeneration,
    Duals,
    Priced,
)
from optsched.errors import InputError
from optsched.instances.arrays import ranges
from optsched.jit import limited
from optsched.model import Model
from optsched.problem import OBJECTIVE
from optsched.problem.methods import LIMITS, ExactMethod, Formulation
from optsched.solvers.answer import Answer
from optsched.solvers.options import Options
from optsched.solvers.solution import Limit, Solution, Status
from optsched.solvers.trajectory import SearchProgress

MOST_SCHEDULES = 200_000
"""Schedules that are listed."""


@dataclass(frozen=True, eq=False)
class Listed:
    """All schedules of Lemma 1 inside a window; each array (schedules,)."""

    instance: Instance
    tau: int
    job: Integers
    start: Integers
    """h."""
    duration: Integers
    together: Integers
    """xi."""
    ps: Integers
    """Server of the parameter server."""
    workers: Integers
    """y, shape (schedules, servers)."""

    def rows(self, resource: str) -> tuple[Integers, Integers, Floats, Floats]:
        """The terms of (4a) or (4b).

        Args:
            resource: "workers" or "parameter servers".

        Returns:
            Row, schedule and amount of every term, and the capacity of every row. Rows are
            (server, type, slot of the window); where capacity is unlimited there are no terms.
        """
        if resource == "workers":
            of, server = np.nonzero(self.workers)
            amount, kinds = self.workers[of, server], self.instance.worker_type
            capacity = self.instance.worker_capacity
        else:
            of, server = np.arange(len(self.job)), self.ps
            amount, kinds = np.ones(len(of), dtype=np.int64), self.instance.ps_type
            capacity = self.instance.ps_capacity
        kind = kinds[self.job[of]]
        kept = np.flatnonzero(np.isfinite(capacity[server, kind]))
        of, server, amount, kind = of[kept], server[kept], amount[kept], kind[kept]
        begin = self.start[of] - self.tau - 1
        entry, slot = ranges(begin, begin + self.duration[of])
        row = (server[entry] * capacity.shape[1] + kind[entry]) * self.tau + slot
        sides = np.repeat(capacity.reshape(-1), self.tau)
        return row, of[entry], amount[entry].astype(float), sides


def schedules(instance: Instance, tau: int) -> Listed:
    """All schedules of all jobs inside the window tau + 1..2 tau, every worker count.

    (2f) holds both ways here: what is on one server runs at the fast speed.

    Raises:
        InputError: there are more than ``MOST_SCHEDULES``.
    """
    rows: list[tuple[int, int, int, int, int, tuple[int, ...]]] = []
    for j in range(instance.jobs):
        for row in _of_job(instance, j, tau):
            rows.append(row)
            if len(rows) > MOST_SCHEDULES:
                allowed = f"a round of at most {MOST_SCHEDULES} schedules"
                raise InputError.of("tau", tau, allowed)
    columns = np.array([row[:5] for row in rows], dtype=np.int64).reshape(-1, 5)
    workers = np.array([row[5] for row in rows], dtype=np.int64).reshape(-1, instance.servers)
    job, start, duration, together, ps = columns.T
    return Listed(instance, tau, job, start, duration, together, ps, workers)


def _of_job(
    instance: Instance, j: int, tau: int
) -> Iterator[tuple[int, int, int, int, int, tuple[int, ...]]]:
    """(job, start, duration, xi, server of the PS, workers by server)."""
    most = instance.most_workers[j].tolist()
    services = np.flatnonzero(instance.ps_room[j] >= 1).tolist()
    reached = (instance.release_slot[j] + instance.upload_delay[j]).tolist()
    for n in range(1, int(instance.num_chunks[j]) + 1):
        for fast in (0, 1):
            work = (instance.work_fast if fast else instance.work_slow)[j]
            duration = -(-int(work) // n)
            for y in _spread(n, most, single=bool(fast)):
                used = [s for s, workers in enumerate(y) if workers]
                for ps in services:
                    if bool(fast) != (used == [ps]):
                        continue
                    first = max(tau + 1, *(reached[s] for s in (*used, ps)))
                    for start in range(first, 2 * tau - duration + 2):
                        yield j, start, duration, fast, ps, y


def _spread(n: int, most: list[int], *, single: bool) -> Iterator[tuple[int, ...]]:
    """All ways to put n workers on servers; on one server only, if asked."""
    if not most:
        if n == 0:
            yield ()
        return
    for here in range(min(n, most[0]) + 1):
        if single and here not in (0, n):
            continue
        for rest in _spread(n - here, most[1:], single=single):
            yield here, *rest


def problem_4(instance: Instance, *, tau: int = 8) -> Model:
    """(4) over all schedules listed.

    Args:
        instance: holds the jobs of the round; tiny.
        tau: end of the slot in which the round happens.

    Raises:
        InputError: there are too many schedules.
    """
    listed = schedules(instance, tau)
    model = Model("problem (4)")
    chi = model.binary("chi", len(listed.job), formula=r"\chi_j^l")
    for label, resource, formula in (
        ("4a", "workers", r"\sum_{j: u_j = u} \sum_l \gamma_{js}^l(t) \chi_j^l \le W_{su}"),
        ("4b", "parameter servers",
         r"\sum_{j: v_j = v} \sum_l \delta_{js}^l(t) \chi_j^l \le P_{sv}"),
    ):  # fmt: skip
        row, of, amount, sides = listed.rows(resource)
        used = np.flatnonzero(np.bincount(row, minlength=len(sides)))
        place = np.searchsorted(used, row)
        held = (chi[of] * amount).sum_by(place, len(used))
        model.add(label, held <= sides[used], formula=formula)
    model.add("4c", chi.sum_by(listed.job, instance.jobs) <= 1.0, formula=r"\sum_l \chi_j^l \le 1")
    model.maximize(chi @ instance.weight[listed.job], formula=r"\sum_j \sum_l \chi_j^l")
    return model


def problem_5(instance: Instance, *, tau: int = 8) -> Model:
    """(5), the dual of the linear relaxation of (4), over all schedules listed.

    Args:
        instance: holds the jobs of the round; tiny.
        tau: end of the slot in which the round happens.

    Raises:
        InputError: there are too many schedules.
    """
    listed = schedules(instance, tau)
    model = Model("problem (5)")
    eta = model.continuous("eta", instance.jobs, formula=r"\eta_j")
    value = eta.sum()
    paid = eta[listed.job]
    for name, resource, symbol in (
        ("lambda", "workers", r"\lambda_{su}(t)"), ("mu", "parameter servers", r"\mu_{sv}(t)"),
    ):  # fmt: skip
        row, of, amount, sides = listed.rows(resource)
        finite = np.isfinite(sides)
        free = np.where(finite, np.inf, 0.0)
        price = model.continuous(name, len(sides), upper=free, formula=symbol)
        value = value + price @ np.where(finite, sides, 0.0)
        paid = paid + (price[row] * amount).sum_by(of, len(listed.job))
    model.add(
        "5a",
        paid >= instance.weight[listed.job],
        formula=r"\eta_j \ge 1 - \sum_{s,t} \lambda_{su_j}(t) \gamma_{js}^l(t) - "
        r"\sum_{s,t} \mu_{sv_j}(t) \delta_{js}^l(t)",
    )
    model.minimize(
        value,
        formula=r"\sum_j \eta_j + \sum_{s,u,t} \lambda_{su}(t) W_{su} + "
        r"\sum_{s,v,t} \mu_{sv}(t) P_{sv}",
    )
    return model


@dataclass(frozen=True, eq=False)
class RoundColumns:
    """Column generation for (4): pricing is (9) at the master problem's prices."""

    instance: Instance
    tau: int

    @cached_property
    def _capacity(self) -> tuple[Floats, Floats]:
        """Per row (server, type, slot), workers then parameter servers."""
        instance = self.instance
        return (
            np.repeat(instance.worker_capacity.reshape(-1), self.tau),
            np.repeat(instance.ps_capacity.reshape(-1), self.tau),
        )

    def price(self, j: int, duals: Duals) -> Priced:
        """The cheapest schedule of a job in the window."""
        instance, workers = self.instance, len(self._capacity[0])
        prices = np.maximum(-duals.rows, 0.0)
        shape = (instance.servers, -1, self.tau)
        u, v = instance.worker_type[j], instance.ps_type[j]
        whole = np.ones(self.tau)
        market = ServerView(
            self.tau + 1,
            prices[:workers].reshape(shape)[:, u],
            prices[workers:].reshape(shape)[:, v],
            instance.worker_room[j][:, None] * whole,
            instance.ps_room[j][:, None] * whole,
            instance.release_slot[j] + instance.upload_delay[j],
        )
        chosen = job_choices(instance.job(j))
        found = best_offer(market, chosen, range(self.tau + 1, 2 * self.tau + 1))
        if found is None:
            return Priced([], bound=np.inf)
        pick, offer = found
        y, ps = offer.placement(pick.choice)
        slots = np.arange(pick.start, pick.end + 1) - self.tau - 1
        used = np.flatnonzero(y)
        column = self._column(j, y[used], used, ps, slots)
        value = duals.price_of(column)
        # equal costs are told apart up to a tie only
        return Priced([column], bound=value - 1e-8 * max(1.0, pick.cost))

    def _column(self, j: int, y: Integers, used: Integers, ps: int, slots: Integers) -> Column:
        instance, (worker_sides, ps_sides) = self.instance, self._capacity
        u, v = instance.worker_type[j], instance.ps_type[j]
        rows = ((used * instance.worker_types + u) * self.tau)[:, None] + slots
        service = (ps * instance.ps_types + v) * self.tau + slots
        amount = np.repeat(y, len(slots)).astype(float)
        rows = rows.reshape(-1)
        finite, limited = np.isfinite(worker_sides[rows]), np.isfinite(ps_sides[service])
        return Column(
            j,
            -float(instance.weight[j]),
            np.concatenate([rows[finite], len(worker_sides) + service[limited]]),
            np.concatenate([amount[finite], np.ones(int(limited.sum()))]),
            payload=(
                int(slots[0]) + self.tau + 1,
                len(slots),
                tuple(zip(used, y, strict=True)),
                ps,
            ),
        )

    def generation(self) -> ColumnGeneration:
        """The master problem, in which rejecting a job is no column."""
        upper = np.concatenate(self._capacity)
        blocks = [ColumnBlock(lower=0) for _ in range(self.instance.jobs)]
        return ColumnGeneration(np.full(len(upper), -np.inf), upper, blocks, self.price)


def problem_4_columns(
    instance: Instance,
    options: Options,
    *,
    tau: int = 8,
) -> Answer:
    """The linear relaxation of (4), by column generation.

    Args:
        instance: holds the jobs of the round.
        options: limits.
        tau: end of the slot in which the round happens.
    """
    course = SearchProgress(options, maximise=True)
    with limited(options.time_limit), suppress(TimeoutError):
        generation = RoundColumns(instance, tau).generation()
        found = generation.solve_relaxation(
            time_limit=options.time_limit,
            stop=course.stop,
            on_progress=lambda bound, _: course.report(-bound),
        )
        return Answer(course.ended(found.solution(scale=-1.0)))
    late = Solution(
        Status.NO_SOLUTION, bound=course.bound, limit=Limit.TIME,
        message="no time was left for machine code",
    )  # fmt: skip
    return Answer(course.ended(late))


FORMULATIONS = (
    Formulation("problem_4", problem_4, "problem (4)",
                "the round over all schedules listed; tiny instances",
                equations={"4": OBJECTIVE, "4a": "4a", "4b": "4b", "4c": "4c", "4d": "chi"}),
    ExactMethod("problem_4_columns", problem_4_columns, "problem (4)",
                "its linear relaxation by column generation, priced by (9)",
                LIMITS | {"on_progress"}, relaxation=True),
    Formulation("problem_5", problem_5, "problem (5)",
                "the dual of the relaxation of (4); tiny instances",
                equations={
                    "5": OBJECTIVE,
                    "5a": "5a",
                    "5b": "eta, lambda, mu",
                    "6": "The objective leaves `eta` no more than `5a` and 0 ask for.",
                }),
)  # fmt: skip
