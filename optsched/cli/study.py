"""``optsched study run``: run a study and keep its results, so that it can be continued."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from optsched.cli.console import (
    INTERRUPTED,
    NO,
    YES,
    Json,
    argument,
    check_apart,
    check_target,
    option,
    say,
)
from optsched.cli.names import split_list
from optsched.cli.progress import progress
from optsched.cli.ratio import Workers
from optsched.cli.study_show import StoreFile, results_of, store_of, tell
from optsched.errors import InputError

if TYPE_CHECKING:
    from optsched.parallel.local import Executor

StudyFile = Annotated[Path, argument("Study file (TOML).", metavar="STUDY")]
Where = Annotated[
    Literal["processes", "dask"],
    typer.Option(help="Where to run: processes of this machine, or a Dask cluster."),
]
Address = Annotated[str | None, option("Scheduler of the Dask cluster: tcp://host:8786.")]
Retry = Annotated[str | None, option('Statuses to compute again, such as "error,no_solution".')]

EXAMPLE = """\
[limits]
time_limit = 20                          # wall seconds per solve
[[grid]]
problem = "preemptive"
generator = { jobs = [5, 10], servers = 5 }   # lists span the grid
seeds = 5                                # instances per cell
heuristics = ["a_online", "a_online(epsilon=0.5)"]
bounds = ["lb_prices"]
exact = ["problem_2_compact"]            # ratios refer to the first
"""
"""A study file; ``optsched.study.spec`` says what else one may hold."""


def run(
    study: StudyFile,
    store: StoreFile = None,
    executor: Where = "processes",
    address: Address = None,
    workers: Workers = None,
    retry: Retry = None,
    json: Json = False,
) -> None:
    """Run every method of a study on every instance, except for results that are kept already.

    Each result is kept as soon as it is known. If a study is stopped or killed, the same command
    continues it. If a method is added to the file, only its runs are computed. A run that times
    out, crashes or proves infeasibility is a result too.
    """
    from optsched.parallel.local import ExecutorLostError
    from optsched.solvers.solution import FAILED
    from optsched.study import StoreLostError, read, run_study

    spec = read(study)
    target = store_of(study, store)
    check_target(target)
    chosen = _executor(executor, address, workers)
    check_apart({"--store": target}, {"STUDY": study})
    interrupted, lost = False, ""
    try:
        with progress(f"running {study}", "runs") as show:
            run_study(
                spec.grids,
                target,
                executor=chosen,
                keep=spec.keep,
                retry=[] if retry is None else split_list(retry),
                progress=lambda p: show(p.finished, p.planned, p.seconds_left),
            )
    except KeyboardInterrupt:
        interrupted = True
    except (ExecutorLostError, StoreLostError) as error:
        lost = str(error)
    if interrupted or lost:  # said first, as what is imported for the tables takes a while
        how = f"stopped: {lost}" if lost else "interrupted"
        say(f"{how}; the same command goes on from here")
    results = results_of(target)
    tell(results, json)
    if interrupted:
        raise typer.Exit(INTERRUPTED)
    ends = {status for step in results.steps() for status in step.statuses}
    failed = any(end in FAILED for end in ends | {row.status for row in results.rows})
    raise typer.Exit(NO if failed or lost or results.violations() else YES)


def _executor(executor: str, address: str | None, workers: int | None) -> Executor:
    if executor == "dask":
        from optsched.parallel.cluster import DaskCluster

        if address is None:
            raise InputError.of("--address", address, "of the scheduler: tcp://host:8786")
        if workers is not None:
            raise InputError.of("--workers", workers, "left out: the cluster says how many")
        return DaskCluster(address)
    if address is not None:
        raise InputError.of("--address", address, "left out without --executor dask")
    from optsched.parallel.local import Processes, cores

    count = cores() if workers is None else workers
    if count < 1:
        raise InputError.of("--workers", workers, "an integer >= 1")
    return Processes(count)  # one process, too: a crash of a method must not end the study
