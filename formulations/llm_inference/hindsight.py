"""The offline integer program as printed: (H1), (H2), a binary per request and start."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from formulations.llm_inference.instance import Instance, Integers
from formulations.llm_inference.schedule import Schedule
from optsched.instances.arrays import ranges
from optsched.model import Model
from optsched.problem.methods import Formulation
from optsched.solvers.solution import Solution


@dataclass(frozen=True)
class Starts:
    """Every request with every round in which it may start.

    Args:
        instance: the requests and the worker.
        first: earliest start of each request, shape (requests,).
        last: latest start, shape (requests,).
    """

    instance: Instance
    first: Integers
    last: Integers

    @cached_property
    def columns(self) -> tuple[Integers, Integers]:
        """Request and start of each column."""
        return ranges(self.first, self.last + 1)

    @cached_property
    def end(self) -> Integers:
        """Round after the last token, by column."""
        request, start = self.columns
        return np.asarray(start + self.instance.output[request])

    @cached_property
    def memory(self) -> csr_array:
        """Tokens that each column holds in each round, shape (rounds, columns)."""
        request, start = self.columns
        column, rounds = ranges(start, self.end)
        held = self.instance.prompt[request[column]] + rounds - start[column] + 1
        shape = (int(self.end.max()), len(start))
        return csr_array((held.astype(float), (rounds, column)), shape=shape)

    @cached_property
    def once(self) -> csr_array:
        """Which columns are of which request, shape (requests, columns)."""
        request, _ = self.columns
        entries = (np.ones(len(request)), (request, np.arange(len(request))))
        return csr_array(entries, shape=(self.instance.requests, len(request)))


def starts(instance: Instance, horizon: int | None = None) -> Starts:
    """The columns of the integer program; every request ends by the horizon."""
    end = instance.horizon if horizon is None else horizon
    return Starts(instance, instance.arrival, end - instance.output)


def program(columns: Starts, room: Integers | int) -> Model:
    """(H1) and (H2) on given columns.

    Args:
        columns: which there are.
        room: tokens free in each round, shape (rounds,), or in all.
    """
    model = Model("LLM inference, hindsight")
    x = model.binary("x", len(columns.end))
    model.add("H1", columns.once @ x == 1, formula=r"\sum_t x_i(t) = 1 \quad \forall i")
    model.add(
        "H2", columns.memory @ x <= room,
        formula=r"\sum_i \sum_{t = \max(a_i, u - o_i + 1)}^u (s_i + u - t + 1)\, x_i(t) \le M "
        r"\quad \forall u",
    )  # fmt: skip
    request, _ = columns.columns
    model.minimize(x @ (columns.end - columns.instance.arrival[request]).astype(float))
    return model


def hindsight(instance: Instance, *, horizon: int | None = None) -> Model:
    """The offline integer program.

    Args:
        instance: the requests and the worker.
        horizon: H, by which all requests end; None: the last arrival and all outputs one after
            the other, which no optimum exceeds.
    """
    return program(starts(instance, horizon), instance.memory)


def decode(instance: Instance, solution: Solution, *, horizon: int | None = None) -> Schedule:
    """The schedule a solution stands for."""
    return chosen(starts(instance, horizon), solution["x"])


def chosen(columns: Starts, x: np.ndarray) -> Schedule:
    """The schedule of the columns whose value is 1."""
    request, start = (column[np.round(x) == 1] for column in columns.columns)
    return Schedule.build(np.column_stack([request, start, columns.instance.output[request]]))


def encode(
    instance: Instance, schedule: Schedule, *, horizon: int | None = None
) -> dict[str, np.ndarray]:
    """A schedule as a start."""
    request, start = starts(instance, horizon).columns
    given = np.full(instance.requests, -1)
    given[schedule.request] = schedule.start
    return {"x": (start == given[request]).astype(float)}


def admits(instance: Instance, schedule: Schedule, *, horizon: int | None = None) -> bool:
    """Whether a schedule ends by the horizon, without restarts."""
    end = instance.horizon if horizon is None else horizon
    return not schedule.restarts and bool((schedule.start + schedule.tokens <= end).all())


FORMULATIONS = (
    Formulation(
        "hindsight", hindsight, "offline integer program, (H1), (H2)",
        "a binary per request and start", decode, encode, admits=admits, tying=("H2",),
    ),
)  # fmt: skip
