"""A study as one HTML file, finished or not: see :mod:`optsched.report`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optsched import __version__
from optsched.errors import InputError
from optsched.evaluation.guarantees import violations
from optsched.evaluation.heuristic_run import run_heuristic
from optsched.evaluation.ratios import Row
from optsched.evaluation.tables import frame, remarks, span, varying
from optsched.instances.document import load, parse
from optsched.problem import Problem
from optsched.report import Example, Section, page
from optsched.solvers.solution import Solution, Status
from optsched.study.layout import PlannedInstance
from optsched.study.plan import Recipe, instance_digest
from optsched.study.store import Store

if TYPE_CHECKING:
    from optsched.study.reading import Ratios

MADE_AGAIN = 10.0
"""Seconds of a heuristic's run up to which the page makes its schedule again."""


def study_page(
    results: Ratios,
    store: Store,
    title: str,
    commands: Sequence[str] = (),
    *,
    reload: float | None = None,
) -> str:
    """The page of a study.

    The runs to look at are those on which each heuristic does worst, runs of more than
    ``MADE_AGAIN`` left out: heuristics are run again. The schedule of the exact method beside them
    is the one that was kept.

    Args:
        results: of the study.
        store: that they are of, with the schedules that were kept.
        title: of the page.
        commands: which make it again.
        reload: seconds after which the page loads itself again; None: it stays as it is.

    Raises:
        InputError: a problem of the study is not installed here.
    """
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


def _section(store: Store, results: Ratios, number: int) -> Section:
    layout = results.layouts[number]
    problem = results.problem(number)
    table = frame(results.rows_of_grid(number))
    cells = varying(table, layout.options)
    notes = []
    steps = [step for step in results.steps() if step.grid == number]
    finished, planned = (sum(getattr(s, of) for s in steps) for of in ("finished", "planned"))
    if finished < planned:
        notes.append(f"Not at its end: {finished} of {planned} runs have their result.")
    for told in remarks(table):
        notes.append(f"{told[0].upper()}{told[1:]}.")
    runs = list(_worst_runs(store, results, number, problem))
    flow_times = _flow_times(store, results, number)
    x, longest = cells[0] if cells else None, _longest_solve(store, results, number)
    broken = violations(table, layout.comparison.guarantees) if layout.comparison else []
    return Section(problem, table, cells, x, runs, flow_times, longest, notes, broken)


def _worst_runs(store: Store, results: Ratios, number: int, problem: Problem) -> Iterator[Example]:
    """Of each heuristic of a grid the run with the largest ratio, if it can be shown.

    Of problems whose pictures are no Gantt charts, that of the first heuristic.
    """
    layout = results.layouts[number]
    worst: dict[str, tuple[Row, PlannedInstance]] = {}
    for case in results.cases if layout.comparison is not None else ():
        for row in results.rows_of_case(case) if case.grid == number else ():
            if row.ratio_high is not None:
                known = worst.setdefault(row.heuristic, (row, case))[0].ratio_high
                if known is not None and row.ratio_high > known:
                    worst[row.heuristic] = row, case
    instances: dict[str, Any] = {}  # several may do worst on one
    for row, case in worst.values():
        if case.recipe not in instances:
            instances[case.recipe] = _instance(problem, case, results)
        instance = instances[case.recipe]
        if instance is None or row.seconds > MADE_AGAIN:
            continue
        schedules = dict(_schedules(store, results, problem, case, instance, row.heuristic))
        ratio = span(row.ratio_low, row.ratio_high)
        title = f"{case.name}: the worst ratio of {row.heuristic}, {ratio}"
        yield Example(row.heuristic, case.name, title, instance, schedules)
        if problem.pictures and "gantt" not in problem.pictures:
            return  # its other pictures, such as maps, weigh several times as much


def _flow_times(store: Store, results: Ratios, number: int) -> dict[str, list[list[float]]]:
    """By method, the flow times of each instance on which all methods that ran have them."""
    layout = results.layouts[number]
    steps = [step for step in layout.steps if step.kind in ("heuristic", "exact")]
    found: dict[str, list[list[float]]] = {step.label: [] for step in steps}
    for case in results.cases:
        made = results.instances.get(case.recipe)
        if case.grid != number or made is None:
            continue
        times = {step.label: store.flow_times(step.run(made.digest, case.seed)) for step in steps}
        if all(times.values()):
            for label, one in times.items():
                found[label].append(one)
    return {label: instances for label, instances in found.items() if instances}


def _longest_solve(store: Store, results: Ratios, number: int) -> tuple[str, Solution] | None:
    """Of the exact runs of a grid that told of steps on their way, the one that took longest."""
    found = [
        (run.seconds, case, step, run)
        for case in results.cases
        if case.grid == number
        for step in results.layouts[number].steps
        if step.kind == "exact" and (run := results.runs_of(case).get(step.place)) is not None
    ]
    for _, case, step, run in sorted(found, key=lambda one: -one[0]):
        made = results.instances[case.recipe]
        steps = store.trajectory(step.run(made.digest, case.seed))
        if steps:
            solution = Solution(Status(run.status), run.cost, run.bound, trajectory=steps)
            return f"{step.label} on {case.name}", solution
    return None


def _instance(problem: Problem, case: PlannedInstance, results: Ratios) -> Any:
    """The instance of a case made again; None if it is another one now, or gone."""
    known = results.plan.recipes.get(case.recipe) if results.plan is not None else None
    try:
        if known is not None:
            instance = known.make()
        elif case.cell or not Path(case.name).is_file():
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
    results: Ratios,
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
