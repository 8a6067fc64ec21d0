"""Column generation over whole schedules of (2), the servers of each type pooled.

A column is one schedule of one job: a choice and a start, or the cloud. Rows are the pooled
capacities per (type, slot). Pricing is exact: with prefix sums of the prices over time, every
choice at every start is priced at once. The bound is true at every iteration.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from scipy.sparse import csc_array

from formulations.batch.domain_reduction import Prospects, prospects
from formulations.batch.instance import Booleans, Floats, Instance, Integers
from formulations.batch.problem_2 import Objective, objective_terms
from optsched.decomposition import (
    Column,
    ColumnBlock,
    ColumnGeneration,
    ColumnSolution,
    Duals,
    GenerationOptions,
    ListedColumns,
    Priced,
)
from optsched.decomposition.outcome import Separate
from optsched.instances.arrays import compress, ranges
from optsched.model import Model
from optsched.problem import Bound
from optsched.problem.methods import LIMITS, ExactMethod, Formulation
from optsched.solvers.answer import Answer
from optsched.solvers.options import Options
from optsched.solvers.trajectory import SearchProgress

RANKS: Mapping[Hashable, float] = {0: 0.0, 1: -1.0, 2: -2.0}
"""Of the features that are branched on: completion slots first, then first slots, then choices."""


@dataclass(frozen=True, eq=False)
class PooledColumns:
    """Rows, columns and pricing of the pooled problem."""

    prospects: Prospects
    objective: Objective = "flow"

    @property
    def instance(self) -> Instance:
        """The jobs and the system."""
        return self.prospects.instance

    @cached_property
    def slots(self) -> int:
        """Slots 0..slots - 1 have rows."""
        contested = self.prospects.last[self.prospects.contested]
        return int(contested.max(initial=0)) + 1

    @cached_property
    def capacity(self) -> Floats:
        """Of every row (kind of resource, type, slot), shape (rows,); infinite where unlimited."""
        totals = [room.sum(axis=0) for room in self.prospects.rooms]
        return np.repeat(np.concatenate(totals), self.slots)

    @cached_property
    def _value(self) -> tuple[Floats, float]:
        return objective_terms(self.instance, self.objective)

    @cached_property
    def _of_job(self) -> list[Integers]:
        """Choices of each job."""
        job = self.prospects.choices.job
        ends = np.cumsum(np.bincount(job, minlength=self.instance.jobs))
        return np.split(np.arange(len(job)), ends[:-1])

    @cached_property
    def _starts(self) -> list[tuple[Integers, Integers, Integers]]:
        """Per job: choice, first and last slot of every schedule on servers with limits."""
        k = self.prospects.choices
        found = []
        for j, mine in enumerate(self._of_job):
            latest = self.prospects.last[j] - k.duration[mine] + 1
            of, start = ranges(self.prospects.first[mine], latest + 1)
            choice = mine[of]
            found.append((choice, start, start + k.duration[choice] - 1))
        return found

    @property
    def schedules(self) -> tuple[Integers, Integers, Integers]:
        """Choice, first and last slot of every schedule of any job on servers with limits."""
        choice, start, end = (np.concatenate(part) for part in zip(*self._starts, strict=True))
        return choice, start, end

    def rows_of(self, j: int) -> tuple[int, int]:
        """First rows of the job's worker type and parameter-server type."""
        instance = self.instance
        workers = int(instance.worker_type[j]) * self.slots
        services = (instance.worker_types + int(instance.ps_type[j])) * self.slots
        return workers, services

    def column(self, j: int, choice: int, start: int) -> Column:
        """A schedule of a job on servers with limits."""
        k = self.prospects.choices
        slots = np.arange(start, start + int(k.duration[choice]))
        workers, services = self.rows_of(j)
        rows = np.concatenate([workers + slots, services + slots])
        values = np.repeat([float(k.workers[choice]), 1.0], len(slots))
        return Column(
            j,
            float(self._value[0][j] * slots[-1]),
            rows,
            values,
            payload=(choice, start),
        )

    def cloud_column(self, j: int) -> Column | None:
        """The job in the cloud, if it may be there."""
        end = int(self.prospects.cloud_end[j])
        if end < 0:
            return None
        nothing = np.zeros(0, dtype=np.int64)
        cost = float(self._value[0][j] * end)
        return Column(j, cost, nothing, np.zeros(0), payload=None)

    def price(self, j: int, duals: Duals) -> Priced:
        """The cheapest schedule of a job."""
        offers = []
        cloud = self.cloud_column(j)
        if cloud is not None:
            offers.append((duals.weight * cloud.cost, cloud))
        choice, start, end = self._starts[j]
        if len(choice):
            workers, services = self.rows_of(j)
            paid = [
                np.concatenate([[0.0], np.cumsum(duals.rows[first : first + self.slots])])
                for first in (workers, services)
            ]
            n = self.prospects.choices.workers[choice]
            price = duals.weight * self._value[0][j] * end
            price = price - n * (paid[0][end + 1] - paid[0][start])
            price = price - (paid[1][end + 1] - paid[1][start])
            best = int(np.argmin(price))
            column = self.column(j, int(choice[best]), int(start[best]))
            offers.append((duals.price_of(column), column))
        if not offers:
            return Priced([], bound=np.inf)
        value, column = min(offers, key=lambda offer: offer[0])
        # sums taken in another order differ by rounding, which the bound must not gain from
        spent = float(np.abs(duals.rows[column.rows]) @ np.abs(column.values))
        return Priced([column], bound=value - 1e-12 * (abs(value) + spent))

    def generation(self) -> ColumnGeneration:
        """The master problem with each job's soonest schedule and the cloud to begin with."""
        initial = [c for j in range(self.instance.jobs) if (c := self.cloud_column(j))]
        blocks = [ColumnBlock() for _ in range(self.instance.jobs)]
        lower = np.full(len(self.capacity), -np.inf)
        return ColumnGeneration(lower, self.capacity, blocks, self.price, initial=initial)

    def relaxation(self, options: GenerationOptions | None = None) -> ColumnSolution:
        """The linear relaxation: a bound on the pooled problem, and so on (2), less a constant."""
        return self.generation().solve_relaxation(options)

    @cached_property
    def listed(self) -> ListedColumns:
        """All columns: the schedules in their order, then the jobs that may be in the cloud.

        Features are a column's completion slot, first slot and choice.
        """
        k, (choice, start, end) = self.prospects.choices, self.schedules
        cloud = np.flatnonzero(self.prospects.cloud_end >= 0)
        away = self.prospects.cloud_end[cloud]
        job = np.concatenate([k.job[choice], cloud])
        ends = np.concatenate([end, away])
        of, slot = ranges(start, end + 1)
        first = np.array([self.rows_of(j) for j in range(self.instance.jobs)])[k.job[choice[of]]]
        rows = np.concatenate([first[:, 0] + slot, first[:, 1] + slot])
        values = np.concatenate([k.workers[choice[of]].astype(float), np.ones(len(of))])
        shape = len(self.capacity), len(job)
        load = csc_array((values, (rows, np.concatenate([of, of]))), shape=shape)
        which = [ends, np.concatenate([start, away]), np.concatenate([choice, len(k) + cloud])]
        return ListedColumns(job, self.weight[job] * ends, load, np.stack(which))

    def tree(self, listed: ListedColumns, separate: Separate) -> ColumnGeneration:
        """Branch and price over some listed columns: on completion slots, then starts, choices."""
        blocks = [ColumnBlock() for _ in range(self.instance.jobs)]
        lower = np.full(len(self.capacity), -np.inf)
        return ColumnGeneration(
            lower, self.capacity, blocks, listed,
            branching=1, rank=RANKS.__getitem__, separate=separate,
        )  # fmt: skip

    def model(self, kept: Booleans | None = None) -> Model:
        """A binary ``b`` per schedule on servers with limits and one per job in the ``cloud``.

        Args:
            kept: schedules that may be chosen, shape (schedules,); None: all.
        """
        k, cloud_end = self.prospects.choices, self.prospects.cloud_end
        jobs, (weight, constant) = self.instance.jobs, self._value
        choice, start, end = self.schedules
        model = Model("problem (2), pooled by slot")
        upper = np.ones(len(choice)) if kept is None else kept
        b = model.integer("b", len(choice), upper=upper, formula=r"b_{jN\xi h}")
        cloud = model.integer("cloud", jobs, upper=cloud_end >= 0, formula=r"1 - e_j")
        chosen = b.sum_by(k.job[choice], jobs) + cloud
        model.add("choice", chosen == 1.0, formula=r"\sum b_{jN\xi h} + (1 - e_j) = 1")
        of, slot = ranges(start, end + 1)
        workers, services = np.array([self.rows_of(j) for j in range(jobs)]).T
        job = k.job[choice[of]]
        for name, first, used in (
            ("workers", workers, b[of] * k.workers[choice[of]].astype(float)),
            ("services", services, b[of]),
        ):
            row = first[job] + slot
            scarce = np.flatnonzero(np.isfinite(self.capacity[row]))
            place, rows = compress(row[scarce])
            load = used[scarce].sum_by(place, len(rows))
            model.add(name, load <= self.capacity[rows], formula=r"\sum_j load \le capacity")
        at_edge = b @ (weight[k.job[choice]] * end)
        model.minimize(at_edge + cloud @ (weight * np.maximum(cloud_end, 0)) + constant)
        return model

    @property
    def weight(self) -> Floats:
        """Of the completion slots, shape (jobs,)."""
        return self._value[0]

    @property
    def constant(self) -> float:
        """What the objective adds to the columns' costs."""
        return self._value[1]


def lb_columns(instance: Instance) -> float:
    """Bound of column generation over whole schedules, servers of a type pooled (slots)."""
    columns = PooledColumns(prospects(instance))
    solved = columns.relaxation()
    return float(np.ceil((solved.bound or 0.0) + columns.constant - 1e-6))


def problem_2_columns(
    instance: Instance,
    options: Options,
    *,
    objective: Objective = "flow",
) -> Answer:
    """The linear relaxation over whole schedules, pooled: a bound on (2) at any size.

    Args:
        instance: the jobs and the system.
        options: limits.
        objective: what is minimised.

    Raises:
        InputError: no such objective.
    """
    columns = PooledColumns(prospects(instance), objective)
    course = SearchProgress(options)
    limits = GenerationOptions(
        time_limit=options.time_limit,
        stop=course.stop,
        on_progress=lambda bound, _: course.report(bound + columns.constant),
    )
    found = columns.relaxation(limits)
    return Answer(course.ended(found.solution(constant=columns.constant)))


def problem_2_pooled_slots(instance: Instance, *, objective: Objective = "flow") -> Model:
    """The pooled problem with a binary per schedule of a job: its columns all at once.

    Args:
        instance: the jobs and the system.
        objective: what is minimised.

    Raises:
        InputError: no such objective.
    """
    return PooledColumns(prospects(instance), objective).model()


def formulations(objective: Objective) -> tuple[Formulation | ExactMethod, ...]:
    """The relaxations of (2) with that objective."""
    return (
        Formulation(
            "problem_2_pooled_slots", partial(problem_2_pooled_slots, objective=objective),
            "problem (2)", "relaxation: a binary per schedule, servers of a type pooled",
        ),
        ExactMethod(
            "problem_2_columns", partial(problem_2_columns, objective=objective), "problem (2)",
            "relaxation: whole schedules in fractions, servers of a type pooled",
            LIMITS | {"on_progress"}, relaxation=True,
        ),
    )  # fmt: skip


FLOW, COMPLETION = formulations("flow"), formulations("completion")

COLUMNS = Bound(
    "columns", lb_columns, "problem (2)",
    "linear relaxation over whole schedules, servers of a type pooled",
)  # fmt: skip
