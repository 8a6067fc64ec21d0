"""``optsched study show``: print, watch or write the results of a study."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from optsched.cli.console import (
    BAD_INPUT,
    NO,
    YES,
    Json,
    argument,
    check_apart,
    check_picture,
    check_target,
    console,
    option,
    print_facts,
    print_json,
    print_table,
    say,
    tables,
)
from optsched.cli.progress import spoken, waiting
from optsched.cli.ratio import (
    AxisX,
    AxisY,
    By,
    Plot,
    check_axes_drawn,
    show_comparison,
    show_ratios,
    show_violations,
)
from optsched.errors import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Group

    from optsched.study import Look, Ratios
    from optsched.study.reading import StepSummary

EVERY_LOOK, EVERY_REPORT = 2.0, 10.0
"""Seconds between two looks at a store if nothing else is said."""

StudyOrStore = Annotated[Path, argument("Study file (TOML) or its store.", metavar="STUDY")]
StoreFile = Annotated[
    Path | None, option("File with the results; default: STUDY.sqlite.", "--store")
]
Errors = Annotated[
    bool, typer.Option("--errors", help="Show every run that failed, with its traceback.")
]
Watch = Annotated[
    bool,
    typer.Option("--watch", help="Repeat until the study is done."),
]
Once = Annotated[
    bool,
    typer.Option("--once", help="With --watch: once only; the default if there is no terminal."),
]
Every = Annotated[
    float | None,
    option(
        f"Least time between two repetitions of --watch; default {EVERY_LOOK:g}, for a report "
        f"{EVERY_REPORT:g}.",
        min=0.5,
        metavar="SECONDS",
    ),
]
Target = Annotated[
    Path | None,
    option(
        "File to write: ratios as csv or parquet, a summary as md, a report as html.",
        "--output",
        "-o",
    ),
]
Runs = Annotated[bool, typer.Option("--runs", help="Write every run instead of the ratios.")]


def show(
    study: StudyOrStore,
    store: StoreFile = None,
    errors: Errors = False,
    watch: Watch = False,
    once: Once = False,
    every: Every = None,
    output: Target = None,
    runs: Runs = False,
    plot: Plot = None,
    y: AxisY = None,
    x: AxisX = None,
    by: By = None,
    json: Json = False,
) -> None:
    """Show the results of a study, also while it is running.

    -o writes the ratios as a table, one line each; a summary of each grid in Markdown; or a report
    as one HTML file that needs no network: tables, distributions of the ratios, the worst runs, the
    model's formulas, and what was not proven.

    --plot draws means with their intervals, one panel per problem: a row per heuristic, or against
    an option (--x jobs --y cost).

    --watch shows the progress of a running study until it is done, with the ratios so far. Ctrl-C
    ends the view and not the study. With -o it writes the report repeatedly, and the open report
    reloads itself.
    """
    source = store_of(study, store)
    check_axes_drawn(plot, y, x, by)
    if plot is not None:
        check_picture(plot)
        files = {"--output": output, "--plot": plot}
        check_apart(files, {"STUDY": study, "--store": source})
        results_of(source).plot(y=y or "ratio", x=x, by=by or "heuristic", path=plot)
        say(f"wrote {plot}")
        if output is None:
            return
    if output is not None:
        check_target(output)
        check_apart({"--output": output}, {"STUDY": study, "--store": source})
        if output.suffix == ".md":
            _write_summary(study, store, output)
        elif output.suffix != ".html":
            _write_table(source, output, runs)
        elif watch:
            _follow(study, store, output, every or EVERY_REPORT)
        else:
            _write_report(study, store, output)
    elif watch:
        _watch(source, once, every or EVERY_LOOK)
    elif errors:
        _show_errors(source, json)
    else:
        results = results_of(source)
        tell(results, json)
        if results.damage:
            raise typer.Exit(BAD_INPUT)
        raise typer.Exit(NO if results.violations() else YES)


def _show_errors(source: Path, json: bool) -> None:
    from optsched.study import Ratios, Store

    with Store.reading(source) as kept:
        failures = Ratios.of(kept).failures(kept)
    if json:
        print_json(failures)
        return
    for failure in failures:
        told = ("problem", "instance", "seed", "kind", "method", "status", "message")
        print_facts({name: failure[name] for name in told})
        typer.echo(failure["trace"])
    say(f"{len(failures)} runs failed")


def _write_table(source: Path, output: Path, runs: bool) -> None:
    from optsched.study.export import check_table_file, write

    check_table_file(output, ".md", ".html")
    results = results_of(source)
    table = results.runs_table() if runs else results.table()
    write(table, output)
    say(f"wrote {output} ({len(table)} lines)")
    raise typer.Exit(BAD_INPUT if results.damage else YES)


def _write_summary(study: Path, store: Path | None, output: Path) -> None:
    from optsched.instances.document import write_text
    from optsched.study.markdown import study_markdown

    title, commands = _heading(study, store, output)
    results = results_of(store_of(study, store))
    write_text(output, study_markdown(results, title, commands))
    say(f"wrote {output}")
    raise typer.Exit(BAD_INPUT if results.damage else YES)


def _write_report(study: Path, store: Path | None, output: Path) -> None:
    from optsched.instances.document import write_text
    from optsched.study import Ratios, Store
    from optsched.study.page import study_page

    title, commands = _heading(study, store, output)
    with Store.reading(store_of(study, store)) as known, waiting(f"drawing {output}"):
        write_text(output, study_page(Ratios.of(known), known, title, commands))
    say(f"wrote {output}")


def _follow(study: Path, store: Path | None, output: Path, every: float) -> None:
    """Write the report until the study has ended."""
    from optsched.instances.document import write_text
    from optsched.study import follow_study
    from optsched.study.page import study_page

    title, commands = _heading(study, store, output)
    for look in follow_study(store_of(study, store), every):
        again = every if look.state == "running" else None
        with waiting(f"drawing {output}"):
            page = study_page(look.results, look.store, title, commands, reload=again)
            write_text(output, page)
        told = look.results.progress
        say(f"wrote {output}: {told.finished} of {told.planned} runs")
    _tell_end(look)


def _heading(study: Path, store: Path | None, output: Path) -> tuple[str, Sequence[str]]:
    """The title of a report, and the commands that make it again."""
    from optsched.study.spec import read_title

    title = read_title(study) if study.suffix == ".toml" else ""
    kept = [study] if store is None else [study, "--store", store]
    again = [["show", *kept, "-o", output]]
    if study.suffix == ".toml":
        again.insert(0, ["run", *kept])
    commands = [clean(shlex.join(["optsched", "study", *map(str, words)])) for words in again]
    return title or clean(study.stem.replace("_", " ")), commands


def _watch(source: Path, once: bool, every: float) -> None:
    """Show how far a study is, until it has ended."""
    from optsched.study import follow_study

    output = console()
    if once or not output.is_terminal:
        output.print(watched(results_of(source), output.width, None))
        return
    from rich.live import Live

    with Live(console=output, auto_refresh=False) as live:
        for look in follow_study(source, every):
            live.update(watched(look.results, output.width, output.height), refresh=True)
    _tell_end(look)


def _tell_end(look: Look) -> None:
    """Say that a study was left unfinished, which is a "no"."""
    if look.state == "stopped":
        say("nobody is running it any more; optsched study run goes on from here")
        raise typer.Exit(NO)


def store_of(study: Path, store: Path | None) -> Path:
    """The file with the results of a study file; a store stands for itself."""
    if store is not None:
        return store
    return study.with_suffix(".sqlite") if study.suffix == ".toml" else study


def results_of(store: Path) -> Ratios:
    """What a store holds at this moment."""
    from optsched.study import Ratios, Store

    with Store.reading(store) as kept, waiting(f"reading {store}"):
        found = Ratios.of(kept)
    if found.damage:
        say(f"error: store = {str(store)!r}: damaged ({found.damage}); the rest of it is shown")
    return found


def tell(results: Ratios, json: bool) -> None:
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
                "violations": results.violations(),
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
    show_violations(results.violations())
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


def how_far(results: Ratios) -> str:
    """How many runs have their result, and how long the rest may take."""
    told = results.progress
    rest = ""
    if told.finished < told.planned and told.seconds_left is not None:
        rest = f", {spoken(told.seconds_left)} left while it runs"
    return f"{told.finished} of {told.planned} runs have their result{rest}"


def watched(results: Ratios, width: int, height: int | None) -> Group:
    """Show how far a study is, with a line per method, or per algorithm if there are too many.

    Args:
        results: of the study.
        width: of the screen, in letters.
        height: of the screen, in lines; None: as many as it takes.
    """
    from rich.console import Group
    from rich.text import Text

    lines = list(_method_lines(results))
    if height is not None and len(lines) > height - 6:
        first = {line[0]: line for line in reversed(lines)}
        lines = [first[name] for name in dict.fromkeys(line[0] for line in lines)]
    columns = ["problem", "method", "done", "proven", "failed", "ratio so far", "interval"]
    return Group(Text(how_far(results)), *tables(columns, lines, 2, width))


def _method_lines(results: Ratios) -> Iterator[list[Any]]:
    """Of every heuristic and exact method: runs done, optima proven, failures, ratio so far.

    A heuristic's ratios are proven if they are points.
    """
    from optsched.evaluation.tables import frame, interval_cell, span, summarise
    from optsched.solvers.solution import FAILED, Status

    steps = results.steps()
    for number, layout in enumerate(results.layouts):
        table = frame(results.rows_of_grid(number))
        found = [] if table.empty else summarise(table, ["heuristic"]).to_dict("records")
        ratios = {line["heuristic"]: line for line in found}
        for step in steps:
            if step.grid != number or step.kind not in ("heuristic", "exact", "sweep"):
                continue
            line = ratios.get(step.method) if step.kind == "heuristic" else None
            proven: int | None = step.statuses.get(Status.OPTIMAL, 0)
            if step.kind != "exact":
                proven = None if line is None else line["proven"]
            yield [
                *(layout.problem, step.method, f"{step.finished} of {step.planned}", proven),
                sum(count for status, count in step.statuses.items() if status in FAILED),
                None if line is None else span(line["mean_low"], line["mean_high"]),
                None if line is None else interval_cell(line),
            ]
