"""``optsched claims``: what papers state, measured again."""

from __future__ import annotations

import json as json_text
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from optsched.cli.adding import MANY, add_command
from optsched.cli.console import (
    NO,
    YES,
    Json,
    Output,
    check_apart,
    check_target,
    console,
    print_json,
    print_table,
    say,
)
from optsched.cli.progress import progress
from optsched.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from heuristics.common.claims import Claim, Judged, Result, Scale, Sweep
    from heuristics.common.claims.experiments import Experiment

app = typer.Typer()

KEEP = Path("out/claims.sqlite")
"""Where ``--full`` keeps what it measured, unless told otherwise."""

NARROW = 110
"""Columns of a terminal below which claims are listed and not put in a table."""

COLOURS = {"holds": "green", "fails": "red", "not measured": "dim"}
"""Colours of verdicts; the others are yellow."""


def claims(
    problem_name: Annotated[
        str | None,
        typer.Argument(metavar="[PROBLEM]", help="Only the claims of its paper; default: all."),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Small sizes: about 20 s per paper on two cores (default)."),
    ] = False,
    full: Annotated[
        bool,
        typer.Option(
            "--full", help="The papers' sizes: up to two hours on two cores; results are kept."
        ),
    ] = False,
    claim: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this claim; may be repeated.", show_default=False),
    ] = None,
    listing: Annotated[
        bool, typer.Option("--list", help="List the claims and how they are measured.")
    ] = False,
    interpretations: Annotated[
        bool,
        typer.Option(
            "--interpretations", help="Measure under every interpretation, which takes longer."
        ),
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Processes; default: one per core.", show_default=False),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder of the real traces; default: OPTSCHED_DATA.",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=f"Keep measurements here and start from them; {KEEP} with --full.",
            show_default=False,
        ),
    ] = None,
    measurements: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="CSV file for every single measurement.", show_default=False
        ),
    ] = None,
    overview: Annotated[
        bool, typer.Option("--overview", help="Show the measurements by setting, too.")
    ] = False,
    output: Output = None,
    json: Json = False,
) -> None:
    """Measure the claims of the papers: each holds, has the direction, fails, or is undecided.

    --interpretations measures each claim under every interpretation of what its paper leaves open.
    The row says how many interpretations give the verdict. A table says which of them fits the
    printed numbers best.

    -o writes the table as .md, .tex, .csv or .json. If a run with --full is interrupted, the same
    command continues it. Exits 0 if every claim that can be measured was measured, whatever the
    verdicts, and 1 if an error occurred.
    """
    from heuristics.common.claims import judge, run_experiments
    from heuristics.common.data import point_to
    from optsched.parallel.local import cores

    if quick and full:
        raise InputError.of("--quick", quick, "not together with --full")
    check_target(keep)
    check_target(measurements)
    write = _writer(output)
    keep = keep or (KEEP if full else None)
    check_apart({"--output": output, "--measurements": measurements, "--keep": keep}, {})
    point_to(data)
    chosen = _chosen(problem_name, claim or [])
    if listing:
        _list(chosen, json)
        return
    scale: Scale = "full" if full else "quick"
    if keep is not None:
        say(f"measurements are kept in {keep}")
    with progress("measuring claims", "parts") as tell:
        results = run_experiments(
            chosen,
            scale,
            interpretations=interpretations,
            workers=workers or cores(),
            progress=lambda p: tell(p.finished, p.planned, p.seconds_left, p.latest),
            keep=keep,
        )
    judged = judge(chosen, results, scale, interpretations=interpretations)
    write(judged, results)
    _write_measurements(results, measurements)
    if json:
        _print_json(judged, scale)
    else:
        if overview:
            _show_overviews(results)
        _show(judged)
    raise typer.Exit(NO if any(item.finding.failed for item in judged) else YES)


def _chosen(problem: str | None, names: Sequence[str]) -> dict[str, tuple[Claim, ...]]:
    """The claims asked for.

    Raises:
        InputError: no such problem, no such claim.
    """
    from heuristics.common.claims import claims as announced

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = announced(problem)
    for warning in caught:
        say(f"warning: {warning.message}")
    known = {claim.name for of in found.values() for claim in of}
    for name in names:
        if name not in known:
            raise InputError.of("--claim", name, "must be one of those that --list shows")
    if not names:
        return found
    return {
        of: kept
        for of, claims_of in found.items()
        if (kept := tuple(claim for claim in claims_of if claim.name in names))
    }


def _writer(
    output: Path | None,
) -> Callable[[Sequence[Judged], Mapping[Experiment, Result]], None]:
    """What writes the table, by the file's ending.

    Raises:
        InputError: another ending, or a file that cannot be written.
    """
    from heuristics.common.claims import latex, markdown, table
    from optsched.instances.document import write_text

    check_target(output)
    if output is None:
        return lambda judged, results: None
    makers: dict[str, Callable[[Sequence[Judged], Mapping[Experiment, Result]], str]] = {
        ".md": lambda judged, results: markdown(judged, _heading(judged, results)),
        ".tex": lambda judged, _: latex(judged),
        ".csv": lambda judged, _: table(judged).to_csv(index=False),
        ".json": lambda judged, _: (
            json_text.dumps(_records(judged), indent=1, allow_nan=False) + "\n"
        ),
    }
    if output.suffix not in makers:
        raise InputError.of("--output", str(output), "a file ending in " + ", ".join(makers))

    def write(judged: Sequence[Judged], results: Mapping[Experiment, Result]) -> None:
        write_text(output, makers[output.suffix](judged, results))
        say(f"wrote {output}")

    return write


def _heading(judged: Sequence[Judged], results: Mapping[Experiment, Result]) -> str:
    """How a page came about: of what scale it is, and how long its measurements took."""
    from optsched import __version__

    full = all(item.scale == "full" for item in judged)
    every = ", every interpretation of what the papers leave open" * any(i.under for i in judged)
    hours = sum(result.seconds for result in results.values()) / 3600
    return (
        "# What the papers state, measured\n\n"
        f"Made by `optsched claims` (optsched {__version__}), {'full' if full else 'quick'} scale"
        f"{every}: {len(results)} experiments, {hours:.2f} hours of computing. Sizes and seeds "
        "are beside each claim."
        + ("" if full else " Verdicts at quick scale are provisional.")
        + " The verdict is that of the first interpretation; how many of all give it stands beside "
        'it if not all do. "undecided" is what the instances leave open.\n'
    )


def _write_measurements(results: Mapping[Experiment, Result], path: Path | None) -> None:
    """Every row of every sweep; columns that another sweep has are empty."""
    import pandas as pd

    from optsched.instances.document import write_text

    if path is None:
        return
    frames = [
        pd.DataFrame(frame.assign(sweep=sweep.name)[["sweep", *frame.columns]])
        for sweep, frame in _sweeps(results)
    ]
    write_text(path, pd.concat(frames).to_csv(index=False) if frames else "sweep\n")
    say(f"wrote {path}")


def _sweeps(results: Mapping[Experiment, Result]) -> Iterator[tuple[Sweep, pd.DataFrame]]:
    from heuristics.common.claims import Sweep

    for experiment, result in results.items():
        if isinstance(experiment, Sweep) and result.value is not None:
            yield experiment, result.value


def _records(judged: Sequence[Judged]) -> list[dict[str, object]]:
    from heuristics.common.claims import table
    from optsched.evaluation.plain import plain

    records: list[dict[str, object]] = plain(table(judged).to_dict("records"))
    return records


def _print_json(judged: Sequence[Judged], scale: Scale) -> None:
    print_json({"scale": scale, "claims": _records(judged)})


def _list(chosen: Mapping[str, Sequence[Claim]], json: bool) -> None:
    from heuristics.common.claims.tables import printed

    if json:
        fields = ("name", "source", "text", "printed", "unit", "how", "standing", "remark")
        listed = [
            {
                "problem": problem,
                **{field: getattr(claim, field) for field in fields},
                "interpretations": [
                    asdict(interpretation) for interpretation in claim.interpretations
                ],
            }
            for problem, of in chosen.items()
            for claim in of
        ]
        print_json({"claims": listed})
        return
    for problem, of in chosen.items():
        rows = [
            (
                claim.name,
                claim.source,
                claim.text,
                printed(claim),
                claim.how,
            )
            for claim in of
        ]
        columns = ("claim", "source", "what is stated", "printed", "how it is measured")
        print_table(columns, rows, f"claims on {problem}: {len(rows)}")


def _show_overviews(results: Mapping[Experiment, Result]) -> None:
    for sweep, frame in _sweeps(results):
        if sweep.overview is not None:
            made = sweep.overview(frame).reset_index()
            print_table(list(map(str, made.columns)), made.to_numpy().tolist(), sweep.name)


def _show(judged: Sequence[Judged]) -> None:
    """A table per problem, or a list where the terminal is narrow; what must be known after it."""
    from heuristics.common.claims.tables import by_problem, tally

    narrow = console().width < NARROW
    for problem, items in by_problem(judged):
        title = f"{problem}, {tally(items)}"
        if narrow:
            _show_list(items, title)
        else:
            _show_table(items, title)
        _show_interpretations(problem, items)


def _show_interpretations(problem: str, items: Sequence[Judged]) -> None:
    """A table per claim that interpretations can move, and those that fit all claims best."""
    from heuristics.common.claims.tables import (
        FIT,
        INTERPRETATION,
        fit_cells,
        interpretation_cells,
        verdict_of,
    )

    for item in items:
        if item.under:
            title = f"{item.claim.name}: {verdict_of(item)}; * fits what is printed best"
            print_table(INTERPRETATION, interpretation_cells(item), title)
    if any(item.under for item in items):
        print_table(FIT, fit_cells(items), f"{problem}: interpretations that fit best")


def _colour(item: Judged) -> str:
    return COLOURS.get(item.finding.verdict, "yellow")


def _show_table(items: Sequence[Judged], title: str) -> None:
    from rich.table import Table
    from rich.text import Text

    from heuristics.common.claims.tables import HEADER, cells

    made = Table(title=title, title_justify="left", title_style="bold", show_lines=False)
    for name in HEADER:
        right = name in ("printed", "measured", "instances")
        label = "n" if name == "instances" else name
        wrap = name not in ("claim", "source")
        made.add_column(label, justify="right" if right else "left", no_wrap=wrap, overflow="fold")
    for item in items:
        text, *rest, verdict = cells(item)
        said = Text(text)
        notes = "; ".join(part for part in (item.claim.remark, item.finding.note) if part)
        about = ": ".join(part for part in (item.claim.name, notes) if part)
        said.append(f"\n{about}", style="dim")
        made.add_row(said, *map(Text, rest), Text(verdict, style=_colour(item)))
    output = console()
    output.print()
    output.print(made)


def _show_list(items: Sequence[Judged], title: str) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from heuristics.common.claims.tables import HEADER, cells

    output = console()
    output.print(f"\n{title}", style="bold", markup=False)
    for item in items:
        shown = dict(zip(HEADER, cells(item), strict=True))
        line = Text(shown["verdict"], style=_colour(item))
        line.append(f"  {shown['claim']} ({shown['source']})", style="not dim default")
        output.print(line)
        facts = [f"{name} {shown[name]}" for name in ("printed", "measured") if shown[name]]
        if shown["interval"]:
            facts.append(f"interval {shown['interval']}")
        if shown["instances"]:
            facts.append(f"{shown['instances']} instances")
        for text in (item.claim.name, ", ".join(facts), item.claim.remark, item.finding.note):
            if text:
                output.print(Padding(Text(text, style="dim"), (0, 0, 0, 4)))


add_command(
    claims,
    "optsched claims",
    "optsched claims drp --claim figure_2_greedy --overview",
    "optsched claims --full --data traces -o claims.md",
    group=app,
    part=MANY,
)
