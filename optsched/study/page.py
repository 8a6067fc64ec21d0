"""A study as one HTML file, whether or not it has come to its end: see :mod:`optsched.page`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from optsched import __version__
from optsched.document import load, parse
from optsched.errors import InputError
from optsched.evaluation.heuristic_run import run_heuristic
from optsched.evaluation.tables import frame, span, varying
from optsched.page import Example, Section, page
from optsched.problem import Problem
from optsched.study.layout import PlannedInstance
from optsched.study.plan import Recipe, found, instance_digest
from optsched.study.reading import Results, rows_of
from optsched.study.store import Store


def study_page(
    store: Store, title: str, commands: Sequence[str] = (), *, reload: float | None = None
) -> str:
    """The page of what a store holds.

    The run to look at is the one on which a grid's first heuristic does worst. It is run again;
    the schedule of the exact method beside it is the one that was kept.

    Args:
        store: of the study.
        title: of the page.
        commands: which make it again.
        reload: seconds after which the page loads itself again; None: it stays as it is.

    Raises:
        InputError: a problem of the study is not installed here.
    """
    results = Results.of(store)
    solvers = sorted({run.solver for run in results.runs.values() if run.solver})
    sections = [
        _section(store, results, number)
        for number, layout in enumerate(results.layouts)
        if layout.comparison is not None
    ]
    return page(
        title,
        sections,
        made_with=", ".join([f"optsched {__version__}", *solvers]),
        made_on=date.today().isoformat(),
        commands=commands,
        reload=reload,
    )


def _section(store: Store, results: Results, number: int) -> Section:
    layout = results.layouts[number]
    problem = found(layout.problem)
    table = frame(results.rows_of_grid(number))
    cells = varying(table, layout.options)
    notes = []
    steps = [step for step in results.steps() if step.grid == number]
    finished, planned = (sum(getattr(s, of) for s in steps) for of in ("finished", "planned"))
    if finished < planned:
        notes.append(f"Not at its end: {finished} of {planned} runs have their result.")
    example = _worst(store, results, number, problem)
    return Section(problem, table, cells, cells[0] if cells else None, example, notes)


def _worst(store: Store, results: Results, number: int, problem: Problem) -> Example | None:
    """The case with the largest ratio of the grid's first heuristic."""
    layout = results.layouts[number]
    rows = [
        (row.ratio_high, row.heuristic, case)
        for case in results.cases
        if case.grid == number
        for row in rows_of(layout, case, results.runs_of(case))
        if row.ratio_high is not None
    ]
    first = next((heuristic for _, heuristic, _ in rows), None)
    worst = max((row for row in rows if row[1] == first), key=lambda row: row[0], default=None)
    if worst is None:
        return None
    high, heuristic, case = worst
    instance = _instance(problem, case, results)
    if instance is None:
        return None
    schedules = dict(_schedules(store, results, problem, case, instance, heuristic))
    title = f"{case.name}: the worst ratio of {heuristic}, {span(high, high)}"
    return Example(title, instance, schedules)


def _instance(problem: Problem, case: PlannedInstance, results: Results) -> Any:
    """The instance of a case made again; None where it is another one now, or gone."""
    try:
        if case.cell or not Path(case.name).is_file():
            instance = Recipe(problem, case.name, case.seed, case.cell).make()
        else:
            instance = load(problem.instance_type, case.name)
    except InputError:
        return None
    made = results.instances.get(case.recipe)
    same = made is not None and instance_digest(instance) == made.digest
    return instance if same else None


def _schedules(
    store: Store,
    results: Results,
    problem: Problem,
    case: PlannedInstance,
    instance: Any,
    heuristic: str,
) -> Iterator[tuple[str, Any]]:
    trial = run_heuristic(problem, instance, heuristic, case.seed)
    if trial.schedule is not None and trial.cost is not None:
        yield f"{heuristic}: {trial.cost:g} {problem.unit}", trial.schedule
    made, runs = results.instances[case.recipe], results.runs_of(case)
    for step in results.layouts[case.grid].steps:
        kept = store.schedule(step.run(made.digest, case.seed)) if step.kind == "exact" else None
        run = runs.get(step.place)
        if kept is None or run is None or run.cost is None:
            continue
        word = "optimum" if run.status == "optimal" else "best found"
        schedule = parse(problem.schedule_type, json.loads(kept))
        yield f"{word}, {step.label}: {run.cost:g} {problem.unit}", schedule
