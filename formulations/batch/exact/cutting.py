"""A relaxation over whole schedules on a live solver, and the cuts it has at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from formulations.batch.exact.columns import PooledColumns
from formulations.batch.exact.placement_cuts import placement_cuts
from formulations.batch.exact.server_cuts import Row, Runs, at_most
from formulations.batch.exact.width_cuts import width_cuts
from formulations.batch.instance import Booleans
from optsched.session import Session
from optsched.solvers.deadline import Deadline
from optsched.solvers.options import Options
from optsched.solvers.solution import Solution

ROUNDING = 1e-6
"""Share of a schedule, and slack of a row, that is rounding."""


class Cutting:
    """The relaxation; rows that are slack are dropped, as they are found again when need be."""

    def __init__(
        self, columns: PooledColumns, runs: Runs, options: Options, rows: Sequence[Row] = ()
    ) -> None:
        """Begin with capacities, and some rows.

        Args:
            columns: all schedules.
            runs: the same.
            options: limits of each solve.
            rows: as ``take`` has them.
        """
        self._runs = runs
        self._session = Session(columns.model().relax(), options=options)
        self._loose: dict[str, Row] = {}
        self._taken = 0
        self.take(rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.__exit__()

    @property
    def rows(self) -> list[Row]:
        """Those that may be dropped."""
        return list(self._loose.values())

    def solve(self, here: Booleans | None = None, away: Booleans | None = None) -> Solution:
        """Solve.

        Args:
            here: schedules on servers with limits there are, shape (schedules,); None: as before.
            away: jobs that may be in the cloud, shape (jobs,).
        """
        changed: dict[str, Any] = {}
        if here is not None and away is not None:
            changed = {"b": here.astype(float), "cloud": away.astype(float)}
        return self._session.solve(upper=changed)

    def take(self, rows: Sequence[Row], *, for_good: bool = False) -> None:
        """Have more rows, which may be dropped unless they are ``for_good``."""
        model = self._session.model
        for row in rows:
            name, self._taken = f"cut {self._taken}", self._taken + 1
            model.add(name, at_most(model["b"], [row]))
            if not for_good:
                self._loose[name] = row

    def renew(self, solution: Solution, placing: Deadline | None = None) -> bool:
        """Take rows that the last solution violates, and drop those that are slack in it.

        Args:
            solution: the last.
            placing: time for the costly ones, those of runs' placement; None: without them.

        Returns:
            Whether it violates any.
        """
        b = solution["b"]
        used = np.flatnonzero(b > ROUNDING)
        runs = self._runs.take(used)
        found = [self._runs.row(cut) for cut in runs.violated(b[used])]
        found += [cut.row(self._runs) for cut in width_cuts(runs, b[used])]
        if placing is not None:
            found += [cut.row(self._runs) for cut in placement_cuts(runs, b[used], placing)]
        slack = [
            name
            for name, (at, counts, side) in self._loose.items()
            if b[at] @ counts < side - ROUNDING * max(1.0, side)
        ]
        self._session.remove(*slack)
        for name in slack:
            del self._loose[name]
        self.take(found)
        return bool(found)
