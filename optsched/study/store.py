"""The store of a study: one SQLite file with the result of each run.

Only the process that runs a study writes to it; others may read meanwhile. ``results`` is a view
for queries in SQL.

While a study runs, and after a kill, the newest results are in a second file beside the store
(``-wal``). Copy both, or open the store first. ``-lock`` is an empty file that keeps a second
writer out.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import fields
from sys import intern
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from optsched.evaluation.runs import NO_OPTIMUM, MethodRun
from optsched.solvers.solution import ProgressPoint, Status
from optsched.study.layout import Layout, Made, PlannedInstance, RunKey, groupable
from optsched.study.plan import Asked, Plan, Recipe, found, settings
from optsched.study.store_file import StoreFile, StoreLostError

__all__ = ["Store", "StoreLostError"]


class Store(StoreFile):
    """What a study plans and what came of it; use ``open``, ``reading`` or ``in_memory``."""

    # what is planned

    def set_plan(self, plan: Plan, workers: int) -> None:
        """Say what the study consists of now; results of earlier plans stay."""
        with self.writing():
            self._sql.execute("DELETE FROM cases")
            self._sql.execute("DELETE FROM grids")
            self._insert(
                "INSERT OR IGNORE INTO methods VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [_method_line(asked) for asked in plan.methods.values()],
            )
            self._insert(
                "INSERT INTO grids VALUES (?, ?)",
                [(number, _json(layout.plain())) for number, layout in enumerate(plan.layouts)],
            )
            self._sql.execute("INSERT OR REPLACE INTO facts VALUES ('workers', ?)", [str(workers)])
            self._insert_cases(plan, 0)

    def add_cases(self, plan: Plan, first: int) -> None:
        """Say that the cases of a plan from this number on belong to the study."""
        with self.writing():
            self._insert_cases(plan, first)

    def _insert_cases(self, plan: Plan, first: int) -> None:
        cases = plan.cases[first:]
        self._insert(
            "INSERT INTO cases VALUES (?, ?, ?, ?, ?, ?)",
            [
                (number, case.grid, case.recipe, case.name, case.seed, _json(case.cell))
                for number, case in enumerate(cases, first)
            ],
        )
        self._insert(
            "INSERT OR IGNORE INTO instances VALUES (?, ?, ?, ?, ?, '', 0.0)",
            [
                (one.recipe, plan.layouts[one.grid].problem, one.name, one.seed, one.recipe)
                for one in cases
                if one.given
            ],
        )

    def layouts(self) -> list[Layout]:
        """The grids of the study.

        Raises:
            StoreLostError: one of them cannot be read.
        """
        found = list(self._readable("SELECT facts FROM grids ORDER BY number", _layout))
        if self.damage:
            raise StoreLostError(f"the plan of the study is damaged: {self.damage}")
        return found

    def cases(self) -> list[PlannedInstance]:
        """The instances of the study, once per grid they appear in."""
        question = (
            "SELECT grid, recipe, name, seed, cell FROM cases"
            " WHERE grid IN (SELECT number FROM grids) ORDER BY number"
        )
        return list(self._readable(question, _case))

    def workers(self) -> int:
        """How many tasks the study runs at a time."""
        found = self._readable("SELECT value FROM facts WHERE name = 'workers'", int)
        return max(1, *found, 1)

    # what came of it

    def put_instance(self, recipe: Recipe, made: Made) -> None:
        """Keep what came of making an instance."""
        problem = found(recipe.problem).name
        line = (recipe.key, problem, recipe.name, recipe.seed, made.digest, made.message, made.took)
        self._insert("INSERT OR REPLACE INTO instances VALUES (?, ?, ?, ?, ?, ?, ?)", [line])

    def put_run(self, key: RunKey, run: MethodRun, took: float) -> None:
        """Keep what came of a run.

        Raises:
            sqlite3.IntegrityError: it is there already.
        """
        content = {name: getattr(run, name) for name in _RUN}
        content |= {name: _json(content[name]) for name in _MAPPINGS}
        line = (*key, *content.values(), took, time.time())
        self._insert(f"INSERT INTO runs VALUES ({', '.join('?' * len(line))})", [line])

    def instances(self) -> dict[str, Made]:
        """What came of making each instance, by recipe."""
        question = "SELECT recipe, digest, message, took FROM instances"
        return dict(self._readable(question, lambda recipe, *made: (str(recipe), _made(*made))))

    def instance(self, recipe: str) -> Made | None:
        """What came of making one instance; None if it was not tried."""
        question = "SELECT digest, message, took FROM instances WHERE recipe = ?"
        return next((Made(*line) for line in self._ask(question, [recipe])), None)

    def has(self, key: RunKey) -> bool:
        """Whether a run is there."""
        question = "SELECT 1 FROM runs WHERE instance = ? AND method = ? AND seed = ?"
        return bool(self._ask(question, key))

    def runs(self, instance: str | None = None) -> dict[RunKey, MethodRun]:
        """What came of every run, or of those on one instance; ``_LONG`` is left out."""
        columns = ", ".join(f'"{name}"' for name in _RUN if name not in _LONG)
        where, given = ("", []) if instance is None else (" WHERE instance = ?", [instance])
        question = f"SELECT instance, method, seed, {columns} FROM runs{where}"
        return dict(self._readable(question, _run, given))

    def schedule(self, key: RunKey) -> str | None:
        """The schedule of a run as JSON, if it was kept."""
        return self._long("schedule", key)

    def trace(self, key: RunKey) -> str:
        """The traceback of what a run raised; empty if it raised nothing."""
        return self._long("trace", key) or ""

    def rows(self, key: RunKey) -> list[dict[str, Any]] | None:
        """What a sweep measured on one instance, if it could."""
        text = self._long("rows", key)
        return None if text is None else json.loads(text)

    def flow_times(self, key: RunKey) -> list[float]:
        """Flow times of a run (slots, ascending), if its schedule has them: see ``MethodRun``."""
        times: list[float] = json.loads(self._long("flow_times", key) or "[]")
        return times

    def trajectory(self, key: RunKey) -> tuple[ProgressPoint, ...]:
        """The steps by which an exact method came to its answer, if it told any."""
        return tuple(
            ProgressPoint(*one) for one in json.loads(self._long("trajectory", key) or "[]")
        )

    def _long(self, name: str, key: RunKey) -> str | None:
        question = f"SELECT {name} FROM runs WHERE instance = ? AND method = ? AND seed = ?"
        lines = self._ask(question, key)
        return lines[0][0] if lines else None

    def took(self) -> dict[str, tuple[int, float]]:
        """Runs and their wall seconds in all, by method key."""
        question = "SELECT method, COUNT(*), TOTAL(took) FROM runs GROUP BY method"
        return {method: (count, total) for method, count, total in self._ask(question)}

    def forget(self, statuses: Iterable[Status]) -> int:
        """Drop runs that ended so, and instances that could not be made where "error" is named.

        A proof that had no optimum goes with its solve, which may find one now.

        Returns:
            How many were dropped, such proofs not counted.
        """
        dropped = 0
        with self.writing():
            for status in statuses:
                question = "DELETE FROM runs WHERE status = ?"
                dropped += self._sql.execute(question, [status.value]).rowcount
                if status == Status.ERROR:
                    dropped += self._sql.execute("DELETE FROM instances WHERE digest = ''").rowcount
            if dropped:
                self._sql.execute("DELETE FROM runs WHERE message = ?", [NO_OPTIMUM])
        return dropped


_RUN = tuple(f.name for f in fields(MethodRun))
_MAPPINGS = ("measures", "quantities")
_LONG = ("trace", "schedule", "rows", "flow_times", "trajectory")


_RUNS: TypeAdapter[MethodRun] = TypeAdapter(MethodRun)
_MADE: TypeAdapter[Made] = TypeAdapter(Made)
_LAYOUTS: TypeAdapter[Layout] = TypeAdapter(Layout)
_CASES: TypeAdapter[PlannedInstance] = TypeAdapter(PlannedInstance)


def _run(instance: str, method: str, seed: int, *line: Any) -> tuple[RunKey, MethodRun]:
    names = [name for name in _RUN if name not in _LONG]
    content = dict(zip(names, line, strict=True))
    content |= {name: json.loads(content[name]) for name in _MAPPINGS}
    return (intern(instance), intern(method), seed), _RUNS.validate_python(content)


def _made(digest: str, message: str, took: float) -> Made:
    return _MADE.validate_python({"digest": digest, "message": message, "took": took})


def _layout(facts: str) -> Layout:
    return Layout.of(_LAYOUTS.dump_python(_LAYOUTS.validate_json(facts)))


def _case(grid: int, recipe: str, name: str, seed: int, cell: str) -> PlannedInstance:
    content = {"grid": grid, "recipe": recipe, "name": name, "seed": seed}
    return _CASES.validate_python({**content, "cell": groupable(json.loads(cell))})


def _method_line(asked: Asked) -> tuple[Any, ...]:
    method = asked.method
    return (
        *(asked.key, asked.problem, method.kind, method.call, method.solver),
        *(_json(method.start), _json(settings(method.options)), _json(asked.versions)),
    )


def _json(value: Any) -> str:
    return json.dumps(to_jsonable_python(value, fallback=repr), ensure_ascii=False)
