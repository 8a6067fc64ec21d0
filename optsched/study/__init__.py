"""Studies: many methods on many instances, with results that are kept in a file.

A study is one or more grids. Every method of a grid (heuristic, exact method, bound) is run on
every instance, and each result goes into an SQLite file as soon as it is known. If a study is
stopped or killed, it continues when it is run again; if a method is added later, only its runs are
computed. Ratios are computed from the runs of an instance when they are read.

Example:
    >>> from optsched.study import Exact, StudyGrid, run_study
    >>> from optsched.solvers.options import Options
    >>> grid = StudyGrid(
    ...     "preemptive",
    ...     generator={"jobs": [2, 3], "servers": [3]},
    ...     seeds=range(2),
    ...     heuristics=["a_online"],
    ...     exact=[Exact("problem_2_compact", options=Options(time_limit=60))],
    ... )
    >>> results = run_study([grid], workers=1)
    >>> len(results.rows), results.progress.finished, results.progress.planned
    (4, 8, 8)

As a file: see :mod:`optsched.study.spec`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor as FuturesExecutor
from contextlib import closing
from pathlib import Path

from optsched.errors import InputError
from optsched.parallel.local import Executor, External, Processes, Serial, cores
from optsched.solvers.solution import Status
from optsched.study.distinct import plan_of_distinct
from optsched.study.engine import Engine, Keep
from optsched.study.follow import Look
from optsched.study.follow import follow as follow_study
from optsched.study.pace import StudyProgress
from optsched.study.plan import Exact, StudyGrid
from optsched.study.reading import Ratios
from optsched.study.spec import Spec, read
from optsched.study.store import Store, StoreLostError

__all__ = [
    "Exact",
    "Look",
    "Ratios",
    "Spec",
    "Store",
    "StoreLostError",
    "StudyGrid",
    "StudyProgress",
    "follow_study",
    "read",
    "run_study",
]


def run_study(
    grids: Sequence[StudyGrid],
    store: str | Path | None = None,
    *,
    workers: int | None = None,
    executor: Executor | FuturesExecutor | Callable[[], FuturesExecutor] | None = None,
    keep: Keep = "exact",
    retry: Iterable[str] = (),
    progress: Callable[[StudyProgress], None] | None = None,
) -> Ratios:
    """Run what the store does not hold yet, and read it all.

    Args:
        grids: what the study consists of.
        store: file that keeps the results; None: only memory does.
        workers: how many runs go on at a time; None: one per core.
        executor: where they run. None: processes of this machine, or this very process with
            ``workers=1``. Any ``concurrent.futures`` executor will do, or a function that starts
            one (then a new one is started where a crash breaks the first), or an executor such as
            ``optsched.parallel.cluster.DaskCluster``.
        keep: whose schedules to keep.
        retry: statuses of runs to be forgotten and computed again, such as "error".
        progress: called at the start and after results.

    Raises:
        InputError: a name, an option or a value that is not known, or an instance that a grid
            has twice; nothing has run yet.
        ExecutorLostError: the executor is gone; what had its result is in the store.
        StoreLostError: the store cannot be written any more, as on a full disk; likewise.
        KeyboardInterrupt: as above.
    """
    count = cores() if workers is None else workers
    if count < 1:
        raise InputError.of("workers", workers, "an integer >= 1")
    again = [_status(word) for word in retry]
    planned = plan_of_distinct(grids)
    with Store.in_memory() if store is None else Store.open(store) as kept:
        kept.forget(again)
        with closing(Engine(planned, kept, _executor(executor, count), keep).run()) as steps:
            for step in steps:
                if progress is not None:
                    progress(step)
        return Ratios.of(kept, planned)


def _status(word: str) -> Status:
    try:
        return Status(word)
    except ValueError:
        raise InputError.of("retry", word, "a status of runs: " + ", ".join(Status)) from None


def _executor(
    executor: Executor | FuturesExecutor | Callable[[], FuturesExecutor] | None, workers: int
) -> Executor:
    if executor is None:
        return Serial() if workers == 1 else Processes(workers)
    if isinstance(executor, FuturesExecutor) or callable(executor):
        return External(executor, workers)
    return executor
