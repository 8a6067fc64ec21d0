"""What a job's flow time costs: the three functions of the paper's evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optsched.errors import InputError
from optsched.instances.arrays import freeze
from optsched.instances.declared import Declared
from optsched.instances.fields import declare, fields_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

KINDS = ("exponential", "linear", "piecewise")
EXPONENTIAL, LINEAR, PIECEWISE = range(3)
LARGEST = 1e12
"""Largest weight or cost, money."""
CEILING = 1e300
"""What a cost that double precision cannot hold counts as."""


@dataclass(frozen=True, eq=False)
class Latencies(Declared):
    """f_i of every job: non-decreasing in the flow time, each array of shape (jobs,)."""

    kind: Integers = declare(
        "jobs", file="jobs[].latency.kind", choices=KINDS, symbol="f_i",
        meaning="tau exp(rate x); tau x + offset; tau before the breakpoint, late from it on",
    )  # fmt: skip
    weight: Floats = declare(
        "jobs", file="jobs[].latency.weight", above=0, at_most=LARGEST, symbol="tau", unit="money",
        meaning="weight",
    )  # fmt: skip
    rate: Floats = declare(
        "jobs", file="jobs[].latency.rate", default=0.25, at_least=0, unit="1 per slot",
        meaning="growth, exponential only",
    )  # fmt: skip
    offset: Floats = declare(
        "jobs", file="jobs[].latency.offset", default=0.0, at_least=0, at_most=LARGEST,
        unit="money", meaning="cost at x = 0, linear only",
    )  # fmt: skip
    late: Floats = declare(
        "jobs", file="jobs[].latency.late", default=0.0, at_least=0, at_most=LARGEST,
        unit="money", meaning="cost from the breakpoint on, at least tau, piecewise only",
    )  # fmt: skip
    breakpoint: Integers = declare(
        "jobs", file="jobs[].latency.breakpoint", default=0, at_least=0, symbol="c", unit="slots",
        meaning="first late flow time, piecewise only",
    )  # fmt: skip

    def __post_init__(self) -> None:
        freeze(self)  # the instance it is part of checks the rest

    @classmethod
    def build(  # type: ignore[override]
        cls, kind: ArrayLike, weight: ArrayLike, **given: Any
    ) -> Latencies:
        """Build from names or positions of kinds; scalars spread over the jobs.

        Raises:
            InputError: an unknown kind.
        """
        names = np.atleast_1d(np.asarray(kind))
        if names.dtype.kind == "U":
            unknown = sorted(set(names.tolist()) - set(KINDS))
            if unknown:
                raise InputError.of("latency.kind", unknown[0], "one of " + ", ".join(KINDS))
            names = np.array([KINDS.index(name) for name in names.tolist()])
        if len(names) == 1 != np.size(weight):
            names = np.repeat(names, np.size(weight))
        return super().build(kind=names, weight=weight, **given)

    def __len__(self) -> int:
        return len(self.kind)

    def written(self) -> dict[str, Any]:
        """What a file holds, by path: of each function only what its kind uses."""
        columns = super().written()
        used = {"rate": EXPONENTIAL, "offset": LINEAR, "late": PIECEWISE, "breakpoint": PIECEWISE}
        for field in fields_of(Latencies):
            if field.name in used:
                mine = self.kind == used[field.name]
                columns[field.file] = np.where(mine, field.value(self), field.default).tolist()
        return columns

    def of_slots(self, job: int, slots: int) -> Floats:
        """f_i(0) .. f_i(slots - 1), money, looked up where they were asked for before."""
        asked = _known.setdefault(self, {})
        known = asked.get(job)
        if known is None or len(known) < slots:
            known = asked[job] = self.cost(job, np.arange(2 * slots))
        return known[:slots]

    def cost(self, job: ArrayLike, flow: ArrayLike) -> Floats:
        """f_i(x) for jobs and flow times (slots) of shapes that fit, money."""
        i, x = np.broadcast_arrays(np.asarray(job, dtype=np.int64), np.asarray(flow))
        kind, weight = self.kind[i], self.weight[i]
        with np.errstate(over="ignore"):
            grown = weight * np.exp(self.rate[i] * x * (kind == EXPONENTIAL))
            straight = weight * x + self.offset[i]
        stepped = np.where(x < self.breakpoint[i], weight, self.late[i])
        value = np.where(kind == EXPONENTIAL, grown, np.where(kind == LINEAR, straight, stepped))
        return np.asarray(np.minimum(value, CEILING), dtype=np.float64)


_known: WeakKeyDictionary[Latencies, dict[int, Floats]] = WeakKeyDictionary()
"""Costs of the first slots of each job, as far as they were asked for."""
