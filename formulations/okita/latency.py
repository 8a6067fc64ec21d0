"""What a job's flow time costs: the three functions of the paper's evaluation (sheet 6.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.okita.document import LatencyDocument
from optsched.arrays import freeze, spread
from optsched.errors import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

KINDS = ("exponential", "linear", "piecewise")
EXPONENTIAL, LINEAR, PIECEWISE = range(3)
CEILING = 1e300
"""What a cost that double precision cannot hold counts as."""


@dataclass(frozen=True, eq=False)
class Latencies:
    """f_i of every job: non-decreasing in the flow time, each array of shape (jobs,)."""

    kind: Integers
    """Position in ``KINDS``."""
    weight: Floats
    """tau_i (tau_1 where piecewise), money."""
    rate: Floats
    """Growth per slot of the exponential."""
    offset: Floats
    """b of the linear function, money."""
    late: Floats
    """tau_2 of the piecewise function, money."""
    breakpoint: Integers
    """c of the piecewise function, slots."""

    def __post_init__(self) -> None:
        freeze(self)

    @classmethod
    def build(
        cls,
        kind: ArrayLike,
        weight: ArrayLike,
        *,
        rate: ArrayLike = 0.25,
        offset: ArrayLike = 0.0,
        late: ArrayLike = 0.0,
        breakpoint: ArrayLike = 0,
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
        jobs = np.broadcast_shapes(names.shape, np.shape(weight))[0]
        return cls(
            spread("latency.kind", names, jobs, int),
            spread("latency.weight", weight, jobs, float),
            spread("latency.rate", rate, jobs, float),
            spread("latency.offset", offset, jobs, float),
            spread("latency.late", late, jobs, float),
            spread("latency.breakpoint", breakpoint, jobs, int),
        )

    def __len__(self) -> int:
        return len(self.kind)

    def select(self, kept: Integers) -> Latencies:
        """The functions of some jobs."""
        columns = (self.kind, self.weight, self.rate, self.offset, self.late, self.breakpoint)
        return Latencies(*(column[kept] for column in columns))  # type: ignore[arg-type]

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

    def document(self, i: int) -> LatencyDocument:
        """The file form of one function: only what its kind uses."""
        kind = int(self.kind[i])
        used = {
            EXPONENTIAL: {"rate": float(self.rate[i])},
            LINEAR: {"offset": float(self.offset[i])},
            PIECEWISE: {"late": float(self.late[i]), "breakpoint": int(self.breakpoint[i])},
        }[kind]
        return LatencyDocument.model_validate(
            {"kind": KINDS[kind], "weight": float(self.weight[i]), **used}
        )
