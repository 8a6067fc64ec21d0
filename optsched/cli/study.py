"""``optsched study``: grids of runs, kept in a file that survives a kill and goes on from there."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from optsched.cli.console import (
    BAD_INPUT,
    INTERRUPTED,
    NO,
    YES,
    Json,
    check_apart,
    check_target,
    print_facts,
    print_json,
    print_table,
    say,
)
from optsched.cli.names import split_list
from optsched.cli.progress import progress, spoken, waiting
from optsched.cli.ratio import show_comparison, show_ratios
from optsched.errors import InputError, clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from optsched.parallel.local import Executor
    from optsched.study import Look, Results
    from optsched.study.reading import StepSummary

StudyFile = Annotated[
    Path, typer.Argument(metavar="STUDY", help="Study file (TOML).", show_default=False)
]
StudyOrStore = Annotated[
    Path,
    typer.Argument(metavar="STUDY", help="Study file (TOML) or its store.", show_default=False),
]
StoreFile = Annotated[
    Path | None,
    typer.Option(
        "--store", help="File with the results; default: STUDY.sqlite.", show_default=False
    ),
]

Every = Annotated[
    float, typer.Option(min=0.5, help="Seconds between two looks at the store, at the least.")
]

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
    executor: Annotated[
        Literal["processes", "dask"],
        typer.Option(help="Where runs go: this machine, or a cluster."),
    ] = "processes",
    address: Annotated[
        str | None,
        typer.Option(help="Scheduler of the Dask cluster: tcp://host:8786.", show_default=False),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Processes; default: one per core.", show_default=False)
    ] = None,
    retry: Annotated[
        str | None,
        typer.Option(
            help='Statuses to compute again, such as "error,no_solution".', show_default=False
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Run what a study does not have yet: every method of its grids on every instance.

    Each result is kept the moment it is there, so a study that is stopped or killed goes on from
    there when the same command is given again, and a method added to the file later is all that
    is computed. A run that times out, crashes or proves infeasibility is a result, too.
    """
    from optsched.evaluation.ratios import FAILED
    from optsched.parallel.local import ExecutorLostError
    from optsched.study import StoreLostError, read, run_study

    spec = read(study)
    target = store_of(study, store)
    check_target(target)
    chosen = _executor(executor, address, workers)
    check_apart({"--store": target}, {"STUDY": study})
    interrupted, lost = False, ""
    try:
        with progress(f"running {study}", "runs") as tell:
            run_study(
                spec.grids,
                target,
                executor=chosen,
                keep=spec.keep,
                retry=[] if retry is None else split_list(retry),
                progress=lambda p: tell(p.finished, p.planned, p.seconds_left),
            )
    except KeyboardInterrupt:
        interrupted = True
    except (ExecutorLostError, StoreLostError) as error:
        lost = str(error)
    if interrupted or lost:  # said first, as what is imported for the tables takes a while
        how = f"stopped: {lost}" if lost else "interrupted"
        say(f"{how}; the same command goes on from here")
    results = results_of(target)
    _tell(results, json)
    if interrupted:
        raise typer.Exit(INTERRUPTED)
    ends = {status for step in results.steps() for status in step.statuses}
    failed = any(end in FAILED for end in ends | {row.status for row in results.rows})
    raise typer.Exit(NO if failed or lost else YES)


def show(
    study: StudyOrStore,
    store: StoreFile = None,
    errors: Annotated[
        bool, typer.Option("--errors", help="Every run that failed, with its traceback.")
    ] = False,
    json: Json = False,
) -> None:
    """Show what a study knows so far; it may be running meanwhile."""
    if not errors:
        results = results_of(store_of(study, store))
        _tell(results, json)
        raise typer.Exit(BAD_INPUT if results.damage else YES)
    from optsched.study import Results, Store

    with Store.reading(store_of(study, store)) as kept:
        failures = Results.of(kept).failures(kept)
    if json:
        print_json(failures)
        return
    for failure in failures:
        told = ("problem", "instance", "seed", "kind", "method", "status", "message")
        print_facts({name: failure[name] for name in told})
        typer.echo(failure["trace"])
    say(f"{len(failures)} runs failed")


def export(
    study: StudyOrStore,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="File to write (csv, parquet).", show_default=False),
    ],
    store: StoreFile = None,
    runs: Annotated[
        bool, typer.Option("--runs", help="Every run, instead of the ratios joined from them.")
    ] = False,
) -> None:
    """Write a study's ratios, or all its runs, as a table: one line each."""
    from optsched.study.export import check_table_file, write

    check_target(output)
    check_table_file(output)
    source = store_of(study, store)
    check_apart({"--output": output}, {"STUDY": study, "--store": source})
    results = results_of(source)
    table = results.runs_table() if runs else results.ratios()
    write(table, output)
    say(f"wrote {output} ({len(table)} lines)")
    raise typer.Exit(BAD_INPUT if results.damage else YES)


def report(
    study: StudyOrStore,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File to write (html).", show_default=False)
    ],
    store: StoreFile = None,
    follow: Annotated[
        bool,
        typer.Option("--follow", help="Write it again until the study is done; it reloads itself."),
    ] = False,
    every: Every = 10.0,
) -> None:
    """Write a study as one HTML file that opens anywhere, without a network.

    Tables, distributions of the ratios, runs to look at, the model's formulas, and what was not
    proven. The study may be running meanwhile.
    """
    check_target(output)
    if output.suffix != ".html":
        raise InputError.of("--output", str(output), "a file ending in .html")
    source = store_of(study, store)
    check_apart({"--output": output}, {"STUDY": study, "--store": source})
    from optsched.instances.document import write_text
    from optsched.study import Store, follow_study
    from optsched.study.page import study_page
    from optsched.study.spec import read_title

    title = read_title(study) if study.suffix == ".toml" else ""
    title = title or clean(study.stem.replace("_", " "))
    kept = [study] if store is None else [study, "--store", store]
    again = [["report", *kept, "-o", output]]
    if study.suffix == ".toml":
        again.insert(0, ["run", *kept])
    commands = [clean(shlex.join(["optsched", "study", *map(str, words)])) for words in again]
    if not follow:
        with Store.reading(source) as known, waiting(f"drawing {output}"):
            write_text(output, study_page(known, title, commands))
        say(f"wrote {output}")
        return
    for look in follow_study(source, every):
        ended = look.state != "running"
        with waiting(f"drawing {output}"):
            page = study_page(look.store, title, commands, reload=None if ended else every)
            write_text(output, page)
        told = look.results.progress
        say(f"wrote {output}: {told.finished} of {told.planned} runs")
    tell_end(look)


def tell_end(look: Look) -> None:
    """Say that a study was left unfinished, which is a "no"."""
    if look.state == "stopped":
        say("nobody is running it any more; optsched study run goes on from here")
        raise typer.Exit(NO)


def store_of(study: Path, store: Path | None) -> Path:
    """The file with the results of a study file; a store stands for itself."""
    if store is not None:
        return store
    return study.with_suffix(".sqlite") if study.suffix == ".toml" else study


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


def results_of(store: Path) -> Results:
    """What a store holds at this moment."""
    from optsched.study import Results, Store

    with Store.reading(store) as kept, waiting(f"reading {store}"):
        found = Results.of(kept)
    if found.damage:
        say(f"error: store = {str(store)!r}: damaged ({found.damage}); the rest of it is shown")
    return found


def _tell(results: Results, json: bool) -> None:
    from dataclasses import asdict

    from optsched.evaluation.comparison import compare, profile_table
    from optsched.evaluation.tables import frame, in_words, summarise, varying

    tables = [frame(results.rows_of_grid(number)) for number in range(len(results.layouts))]
    keys = [
        ["heuristic", *varying(table, layout.options)]
        for table, layout in zip(tables, results.layouts, strict=True)
    ]
    summaries = [summarise(table, by) for table, by in zip(tables, keys, strict=True)]
    steps = results.steps()
    if json:
        print_json(
            {
                "progress": asdict(results.progress),
                "methods": [asdict(step) for step in steps],
                "summary": [
                    {
                        "problem": layout.problem,
                        "lines": in_words(summary.to_dict("records")),
                        "paired": in_words(compare(table).to_dict("records")),
                        "profile": profile_table(table).to_dict("records"),
                    }
                    for layout, summary, table in zip(
                        results.layouts, summaries, tables, strict=True
                    )
                ],
            }
        )
        return
    for number, layout in enumerate(results.layouts):
        mine = [step for step in steps if step.grid == number]
        _show_steps(f"grid {number}: {layout.problem}", mine)
        comparison = layout.comparison
        if comparison is not None and len(tables[number]):
            show_ratios(
                tables[number],
                summaries[number],
                keys[number],
                comparison.measures,
                comparison.sense,
            )
            show_comparison(tables[number], ())
    say(how_far(results))


def _show_steps(title: str, steps: Sequence[StepSummary]) -> None:
    """How the methods of a grid have fared."""
    columns = ["kind", "method", "runs", "ended", "mean seconds"]
    lines = [
        [
            *(step.kind, step.method, f"{step.finished} of {step.planned}"),
            ", ".join(f"{status} {count}" for status, count in step.statuses.items()),
            None if step.seconds is None else float(f"{step.seconds:.3g}"),
        ]
        for step in steps
    ]
    if any(step.complaint for step in steps):
        columns.append("the first failure")
        lines = [[*line, step.complaint] for line, step in zip(lines, steps, strict=True)]
    print_table(columns, lines, title, 2)


def how_far(results: Results) -> str:
    """How many runs have their result, and how long the rest may take."""
    told = results.progress
    rest = ""
    if told.finished < told.planned and told.seconds_left is not None:
        rest = f", {spoken(told.seconds_left)} left while it runs"
    return f"{told.finished} of {told.planned} runs have their result{rest}"
