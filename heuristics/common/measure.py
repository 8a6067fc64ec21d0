"""Measure sweeps: every task once, in parallel processes, kept in a store and looked for there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optsched.errors import words
from optsched.evaluation.runs import MethodRun, UnmeasuredError
from optsched.parallel.local import Processes, Serial
from optsched.solvers.solution import Status
from optsched.study.engine import Engine
from optsched.study.layout import NO_SEED, RunKey
from optsched.study.pace import StudyProgress
from optsched.study.plan import Plan
from optsched.study.store import Store
from optsched.study.sweep import Rows, Scale, Sweep, add_sweep

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Measured:
    """What came of a sweep."""

    tasks: tuple[tuple[Mapping[str, Any], Rows], ...] = ()
    """Tasks that were measured, and their rows."""
    seconds: float = 0.0
    """Wall seconds of the tasks together."""
    reason: str = ""
    """Why there was nothing to measure."""
    error: str = ""
    """What went wrong, in all of it or in parts."""

    @property
    def table(self) -> pd.DataFrame:
        """One line per row: the task's arguments and what was measured."""
        return Sweep.frame(self.tasks)


def measure_sweeps(
    sweeps: Mapping[Sweep, str],
    scale: Scale,
    *,
    workers: int = 1,
    progress: Callable[[StudyProgress], None] | None = None,
    keep: Path | None = None,
) -> dict[Sweep, Measured]:
    """Measure every task of every sweep; what fails costs the others nothing.

    Args:
        sweeps: with the problem of each, in the order in which they are to start.
        scale: how large they are.
        workers: processes.
        progress: called at the start and after results.
        keep: store of a study, in which measurements are kept and looked for; what failed is
            measured again. None: nothing is kept.

    Raises:
        InputError: ``keep`` is another kind of file.
    """
    plan, unplanned, planned = Plan(), dict[Sweep, Measured](), list[Sweep]()
    for sweep, problem in sweeps.items():
        try:
            add_sweep(plan, problem, sweep, scale)
        except UnmeasuredError as out_of_reach:
            unplanned[sweep] = Measured(reason=str(out_of_reach))
        except Exception as error:  # one sweep must not take the others with it
            unplanned[sweep] = Measured(error=words(error))
        else:
            planned.append(sweep)
    with Store.in_memory() if keep is None else Store.open(keep) as store:
        store.forget([Status.ERROR, Status.UNMEASURED])
        engine = Engine(plan, store, Serial() if workers == 1 else Processes(workers))
        with closing(engine.run()) as steps:
            for step in steps:
                if progress is not None:
                    progress(step)
        runs = store.runs()
        found = {sweep: _measured(plan, grid, store, runs) for grid, sweep in enumerate(planned)}
    return {sweep: (found | unplanned)[sweep] for sweep in sweeps}


def _measured(plan: Plan, grid: int, store: Store, known: Mapping[RunKey, MethodRun]) -> Measured:
    """What the store has of the sweep that is the grid of that number in the plan."""
    (step,) = plan.layouts[grid].steps
    tasks = [(one.cell, step.run(one.recipe, NO_SEED)) for one in plan.cases if one.grid == grid]
    runs = [known[key] for _, key in tasks]
    kept = [(task, rows) for task, key in tasks if (rows := store.rows(key)) is not None]
    errors = [run.message for run in runs if run.status == Status.ERROR]
    error = errors[0] if errors else ""
    if errors and len(tasks) > 1:
        error = f"{len(errors)} of {len(tasks)} instances failed, one by {error}"
    reasons = [run.message for run in runs if run.status == Status.UNMEASURED]
    return Measured(tuple(kept), sum(run.seconds for run in runs), (reasons or [""])[0], error)
