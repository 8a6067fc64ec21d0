"""``optsched ratio``: heuristics against the optimum, on generated instances or files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from optsched.cli.console import (
    INTERRUPTED,
    NO,
    YES,
    Json,
    MappingFile,
    Output,
    Solver,
    check_apart,
    check_picture,
    check_target,
    console,
    option,
    print_json,
    print_table,
    say,
)
from optsched.cli.names import (
    ProblemName,
    extra_options,
    named_files,
    split_heuristics,
    split_list,
)
from optsched.cli.progress import progress
from optsched.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from optsched.problem import Problem, Sense
    from optsched.study import Ratios
    from optsched.study.spec import GridDocument

SEEDS = 10
"""Instances per cell if nothing else is said."""

TIME_LIMIT = 60.0
"""Seconds per instance if nothing else is said."""

Heuristics = Annotated[
    str | None,
    option(
        'Separated by commas: "a_online,mine.py:worst_fit(k=3)"; default: all, or the preset\'s.'
    ),
]
Instances = Annotated[
    list[str] | None,
    option(
        "Instance files, tables, folders or patterns, in place of generated instances.",
        metavar="FILE...",
    ),
]
Seeds = Annotated[
    int | None,
    option(
        f"How many instances per cell; default {SEEDS}, or the preset's. With --instance: how many "
        "runs on each; default 1.",
        min=1,
    ),
]
FirstSeed = Annotated[int, typer.Option(min=0, help="Seed of the first instance.")]
Preset = Annotated[
    str | None, option('A study listed by "optsched problems"; other options change it.')
]
Reference = Annotated[
    str | None,
    option("Formulation that gives the optimum; default: the problem's, or the preset's."),
]
Bounds = Annotated[str | None, option("Further bounds, separated by commas.")]
InstanceLimit = Annotated[
    float | None,
    option(f"Limit per instance; default {TIME_LIMIT:g}, or the preset's.", metavar="SECONDS"),
]
Prove = Annotated[
    float,
    typer.Option(
        min=0.0,
        metavar="SECONDS",
        help="Time to prove each optimum in exact arithmetic; 0: no proofs.",
    ),
]
Workers = Annotated[int | None, option("Processes; default: one per core.")]
Plot = Annotated[Path | None, option("Picture to draw (png, pdf, svg).")]
AxisY = Annotated[str | None, option("What --plot draws: ratio, cost, seconds or measure_NAME.")]
AxisX = Annotated[str | None, option("Option that --plot draws it against; default: none.")]
By = Annotated[str | None, option("What makes the groups of --plot; default: heuristic.")]


def ratio(
    context: typer.Context,
    problem_name: ProblemName,
    heuristics: Heuristics = None,
    instance: Instances = None,
    mapping: MappingFile = None,
    seeds: Seeds = None,
    first_seed: FirstSeed = 0,
    preset: Preset = None,
    reference: Reference = None,
    bounds: Bounds = None,
    solver: Solver = None,
    time_limit: InstanceLimit = None,
    prove: Prove = 0.0,
    workers: Workers = None,
    output: Output = None,
    plot: Plot = None,
    y: AxisY = None,
    x: AxisX = None,
    by: By = None,
    json: Json = False,
) -> None:
    """Measure the ratio of heuristics to the optimum, as intervals that contain the true ratio.

    Options of the problem's generator form a grid: --jobs 5,10,15. Every cell has the same seeds,
    and "optsched generate" with a seed makes the same instance. --instance takes instances from
    files instead, JSON or the tables that "optsched import" takes. If the time limit leaves an
    optimum unproven, the ends of the interval are the ratios to the best schedule found and to the
    best proven bound.
    """
    from optsched.problem import problem
    from optsched.study.ratios import ratios

    typed = extra_options(context.args)
    found = problem(problem_name)
    _check_files(output, plot)
    check_axes_drawn(plot, y, x, by)
    read = {f"--instance {one}": Path(one) for one in instance or ()} | named_files(typed)
    check_apart({"--output": output, "--plot": plot}, {**read, "--mapping": mapping})
    own = _instances(found, instance, mapping, typed, preset)
    given: dict[str, Any] = {
        "generator": {name: split_list(value) for name, value in typed.items()} or None,
        "heuristics": None if heuristics is None else split_heuristics(heuristics),
        "seeds": seeds,
        "reference": reference,
        "bounds": None if bounds is None else split_list(bounds),
    }
    plan = _plan(found, preset, given)
    axes = {name: value for name, value in (("y", y), ("x", x), ("by", by)) if value is not None}
    if axes:
        _check_axes(found, plan, axes)
    with progress(f"measuring {problem_name}", "runs") as tell:
        result = ratios(
            problem_name,
            plan.heuristics,
            instances=own,
            grid=plan.cells if own is None else None,
            seeds=len(plan.seeds or range(SEEDS if own is None else 1)),
            first_seed=first_seed,
            reference=plan.reference,
            solver=solver,
            time_limit=_limit(found, plan, time_limit),
            bounds=plan.bounds or (),
            prove=prove or plan.limits.prove,
            workers=workers,
            progress=lambda step: tell(step.finished, step.planned, step.seconds_left),
        )
    _tell(found, plan, result, output, plot, axes, json)


def _instances(
    found: Problem,
    paths: list[str] | None,
    mapping: Path | None,
    typed: dict[str, str],
    preset: str | None,
) -> dict[str, Any] | None:
    """Return the instances of the files that are given, by name; None if none are given.

    Raises:
        InputError: a file is refused, or something is typed that says other instances.
    """
    from optsched.evaluation.instance_files import instances_from

    if not paths:
        if mapping is not None:
            raise InputError.of("--mapping", str(mapping), "only with --instance")
        return None
    says = {f"--{name.replace('_', '-')}": value for name, value in typed.items()}
    if preset is not None:
        says["--preset"] = preset
    for name, value in says.items():
        raise InputError.of(name, value, "left out: --instance says which instances there are")
    return instances_from(found, paths, mapping)


def _plan(found: Problem, preset: str | None, given: dict[str, Any]) -> GridDocument:
    """A preset, if one is named, with everything that is given beside it."""
    from optsched.problem.calls import pick
    from optsched.study.spec import GridDocument, presets

    plan = GridDocument(problem=found.name, reference=found.reference)
    if preset is not None:
        plan = pick(presets(found), preset, "preset")
        against = plan.exact[0].formulation if plan.exact else found.reference
        plan = plan.model_copy(update={"reference": against})
    known = {name: value for name, value in given.items() if value is not None}
    return plan.changed(GridDocument(problem=found.name, **known))


def _limit(found: Problem, plan: GridDocument, time_limit: float | None) -> float | None:
    """The seconds per instance: what is typed, or the preset's, or the usual ones."""
    limit = plan.limits.time_limit if time_limit is None else time_limit
    if limit is None and "time_limit" in found.formulation(str(plan.reference))[0].supports:
        return TIME_LIMIT
    return limit


def _tell(
    found: Problem,
    plan: GridDocument,
    result: Ratios,
    output: Path | None,
    plot: Path | None,
    axes: Mapping[str, str],
    json: bool,
) -> None:
    """Write and print what came of it, and exit with it."""
    from optsched.evaluation.comparison import compare, profile_table
    from optsched.evaluation.tables import in_words, summarise, varying

    if result.interrupted:
        say(f"interrupted: {result.finished} of {result.planned} instances are measured")
        output, plot = _for_part(output, result.finished), _for_part(plot, result.finished)
    table = result.table()
    cells = varying(table, plan.cells)
    summary = summarise(table, ["heuristic", *cells])
    x = plan.x if plan.x in cells else next(iter(cells), None)
    broken = result.violations()
    _write(table, x, output, plot, axes)
    if json:
        print_json(
            {
                "rows": in_words(row.record() for row in result.rows),
                "summary": in_words(summary.to_dict("records")),
                "paired": in_words(compare(table, cells).to_dict("records")),
                "profile": profile_table(table).to_dict("records"),
                "instances": result.planned,
                "finished": result.finished,
                "violations": broken,
            }
        )
    else:
        show_ratios(table, summary, ["heuristic", *cells], list(found.measures), found.sense)
        show_violations(broken)
        show_comparison(table, cells)
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)
    unknown = table["ratio_low"].isna() & table["ratio_high"].isna()
    raise typer.Exit(NO if unknown.any() or broken else YES)


def _check_files(output: Path | None, plot: Path | None) -> None:
    check_target(output)
    check_picture(plot)
    if output is not None:
        from optsched.study.export import check_table_file

        check_table_file(output)


def _check_axes(found: Problem, plan: GridDocument, axes: Mapping[str, str]) -> None:
    """Refuse axes that the table will not have, before anything runs."""
    from optsched.problem.calls import call_options
    from optsched.report.study_plots import check_axes

    own = [call_options(one.run, 2) or {} for one in found.heuristics.values()]
    check_axes(
        axes.get("y", "ratio"),
        axes.get("x"),
        axes.get("by", "heuristic"),
        options=list(dict.fromkeys([*plan.cells, *(name for names in own for name in names)])),
        measures=[f"measure_{name}" for name in found.measures],
    )


def check_axes_drawn(plot: Path | None, *axes: str | None) -> None:
    """Refuse axes of a picture that is not drawn.

    Raises:
        InputError: saying what to add.
    """
    if plot is None and any(axis is not None for axis in axes):
        given = next(axis for axis in axes if axis is not None)
        raise InputError.of("--y, --x or --by", given, "needs --plot FILE")


def _for_part(path: Path | None, finished: int) -> Path | None:
    """Where a table that was interrupted goes: it replaces no other; None: nothing is in it."""
    if path is None or not finished:
        if path is not None:
            say(f"{path} is not written")
        return None
    if not path.is_file():
        return path
    say(f"{path} stays as it was")
    return path.with_stem(f"{path.stem}.part")


def _write(
    table: pd.DataFrame,
    x: str | None,
    output: Path | None,
    plot: Path | None,
    axes: Mapping[str, str],
) -> None:
    if output is not None:
        from optsched.study.export import write

        write(table, output)
        say(f"wrote {output}")
    if plot is not None:
        from optsched.report.study_plots import plot as draw
        from optsched.report.study_plots import study_figure

        plot.parent.mkdir(parents=True, exist_ok=True)
        try:
            picture = draw(table, **axes) if axes else study_figure(table, x)
        except InputError as error:  # no run has a value, which the table says of each
            say(f"{plot} is not written: {error}")
            return
        picture.savefig(plot, dpi=150)
        say(f"wrote {plot}")


def show_ratios(
    table: pd.DataFrame,
    summary: pd.DataFrame,
    keys: Sequence[str],
    measures: Sequence[str],
    sense: Sense,
) -> None:
    """The summary for people, and what went wrong.

    Args:
        table: rows of ratios.
        summary: of the table, by ``keys``.
        keys: columns that make the groups.
        measures: what the problem measures of a schedule.
        sense: of the problem.
    """
    from optsched.evaluation.tables import (
        CONFIDENCE,
        GUARANTEES,
        guarantee_lines,
        interval_cell,
        remarks,
        share,
        span,
    )

    against = [name for name in summary.columns if name.startswith("mean_") and "ratio_" in name]
    records = summary.to_dict("records")
    infinite = any(line["infinite"] > 0 for line in records)
    columns = [*keys, "n", "proven", *(["infinite"] if infinite else []), "mean ratio"]
    columns += [f"{CONFIDENCE:.0%} interval", "worst"]
    for name in against:
        source, _, bound = name.removeprefix("mean_").partition("ratio_")
        columns.append(f"{source.replace('_', ' ')}ratio to {bound}")
    columns += [name.replace("_", " ") for name in measures]
    lines = [
        [
            *(line[key] for key in keys),
            _of(line["measured"], line["rows"]),
            _of(line["verified"], line["proven"]) if line["verified"] else line["proven"],
            *([share(line["infinite"])] if infinite else []),
            span(line["mean_low"], line["mean_high"]),
            interval_cell(line),
            span(line["max_low"], line["max_high"]),
            *(span(line[name], line[name]) for name in against),
            *(span(line[name], line[name]) for name in (f"mean_measure_{m}" for m in measures)),
        ]
        for line in records
    ]
    quotient = "cost of the schedule over the optimum"
    if sense == "maximise":
        quotient = "optimum over the value of the schedule"
    print_table(columns, lines, f"{quotient} (1 is optimal)", len(keys))
    for told in remarks(table):
        console().print(told)
    if stated := guarantee_lines(summary, keys):
        told = "factor that is stated, and worst ratio that was measured"
        print_table([*keys, *GUARANTEES], stated, told, len(keys) + 1)
    _show_failed(table)


def show_violations(lines: Sequence[str]) -> None:
    """Print every guarantee that is violated, so that nobody misses it."""
    for line in lines:
        console().print(line, style="bold red", markup=False, soft_wrap=True)


def _show_failed(table: pd.DataFrame) -> None:
    """Print how often each heuristic has no ratio, and the first reason."""
    from optsched.solvers.solution import FAILED

    failed = table[table["status"].isin(FAILED)]
    if failed.empty:
        return
    groups = failed.groupby(["heuristic", "status"], sort=False)
    counts = groups.agg(rows=("message", "size"), message=("message", "first")).reset_index()
    columns = ["heuristic", "status", "rows", "the first of them"]
    print_table(columns, counts.to_numpy().tolist(), "without a ratio", 2)


def show_comparison(table: pd.DataFrame, cells: Sequence[str]) -> None:
    """Heuristics against each other, on the same instances; nothing if there is one.

    Args:
        table: rows of ratios.
        cells: columns that make groups of instances.
    """
    from optsched.evaluation.comparison import WITHIN, compare, profile_table
    from optsched.evaluation.tables import CONFIDENCE, span

    paired = compare(table, cells)
    if paired.empty:
        return
    columns = [*cells, "first", "second", "n", "wins", "ties", "losses"]
    lines = [
        [
            *(line[name] for name in (*cells, "first", "second")),
            *(line[name] for name in ("instances", "wins", "ties", "losses")),
            span(line["difference_low"], line["difference_high"]),
            span(line["ci_low"], line["ci_high"]),
        ]
        for line in paired.to_dict("records")
    ]
    columns += ["mean difference", f"{CONFIDENCE:.0%} interval"]
    told = "difference of the ratios (first - second), on the same instances"
    print_table(columns, lines, told, len(cells) + 2)
    shares = [list(line.values()) for line in profile_table(table).to_dict("records")]
    marks = [f"{factor:g}" for factor in WITHIN]
    lines = [[*line[:2], *(f"{part:.0%}" for part in line[2:])] for line in shares]
    print_table(
        ["heuristic", "n", *marks],
        lines,
        "share of instances with a cost within this factor of the best heuristic's",
    )


def _of(part: int, whole: int) -> str:
    return str(whole) if part == whole else f"{part} of {whole}"
