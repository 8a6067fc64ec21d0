"""``optsched figure``: the figures of papers, measured again and drawn on their axes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from optsched.cli.adding import MANY, add_command
from optsched.cli.console import (
    NO,
    PICTURES,
    YES,
    Json,
    argument,
    check_apart,
    check_picture,
    check_target,
    option,
    print_json,
    print_table,
    say,
)
from optsched.cli.progress import progress
from optsched.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heuristics.common.figures import PaperFigure
    from heuristics.common.measure import Measured
    from optsched.study.sweep import Scale, Sweep

app = typer.Typer()

SCALES: dict[str, Scale] = {"small": "quick", "paper": "full"}

STORE = Path("out/figures.sqlite")

Paper = Annotated[
    str | None, argument("Problem of the paper; default: all papers.", metavar="[PAPER]")
]
Number = Annotated[
    int | None, argument("Of the figure; default: all, listed or drawn.", metavar="[NUMBER]")
]
ScaleName = Annotated[
    Literal["small", "paper"],
    typer.Option("--scale", help="Small: seconds a figure. Paper: its sizes, up to an hour."),
]
StoreFile = Annotated[
    Path, typer.Option("--store", metavar="FILE", help="Keep measurements here; start from them.")
]
Data = Annotated[
    Path | None,
    option("Folder of real traces; default: OPTSCHED_DATA.", metavar="FOLDER"),
]
Workers = Annotated[int | None, option("Processes; default: one per core.", min=1)]
Target = Annotated[
    Path | None,
    option("Picture to write (png, pdf, svg); without NUMBER a folder for all.", "--output", "-o"),
]


def figure(
    paper: Paper = None,
    number: Number = None,
    scale: ScaleName = "small",
    store: StoreFile = STORE,
    workers: Workers = None,
    data: Data = None,
    output: Target = None,
    json: Json = False,
) -> None:
    """Draw a figure of a paper on its axes, and print its means beside what the paper prints.

    Without NUMBER it lists the figures, what each shows or why it is not drawn; with -o FOLDER it
    draws all of them.

    Figures share studies, and a study that was interrupted goes on where it was: measurements are
    kept in --store.
    """
    from heuristics.common.data import point_to
    from heuristics.common.figures import figures

    point_to(data)
    found = figures(paper)
    if number is None and output is None:
        _list(found, json)
        return
    if number is None:
        if output is not None and output.suffix in PICTURES:
            raise InputError.of("NUMBER", None, "a number; or give -o a folder for all figures")
        chosen = {name: [one for one in of if one.sweep] for name, of in found.items()}
    else:
        chosen = {str(paper): [_numbered(found[str(paper)], number)]}
        check_picture(output)
    check_target(store)
    check_apart({"--output": output, "--store": store}, {})
    measured = _measure(chosen, SCALES[scale], store, workers)
    answers = [
        _drawn(name, one, measured, scale, _path(output, name, one, number is None))
        for name, of in chosen.items()
        for one in of
    ]
    if json:
        print_json(answers[0] if number is not None else answers)
    elif number is not None:
        _show(answers[0])
    raise typer.Exit(NO if any(answer["error"] for answer in answers) else YES)


def _list(found: Mapping[str, Sequence[PaperFigure]], json: bool) -> None:
    rows = [
        {"paper": name, "figure": one.number, "caption": one.caption, "drawn": bool(one.sweep),
         "note": one.note or one.missing}
        for name, of in found.items()
        for one in of
    ]  # fmt: skip
    if json:
        print_json({"figures": rows})
        return
    columns = ("paper", "figure", "caption", "drawn", "note")
    print_table(columns, [tuple(row.values()) for row in rows], keys=2)


def _numbered(of: Sequence[PaperFigure], number: int) -> PaperFigure:
    """Return the figure of that number.

    Raises:
        InputError: there is none, or it is not drawn.
    """
    for one in of:
        if one.number == number:
            if one.sweep is None:
                raise InputError.of("NUMBER", number, f"a figure that is drawn: {one.missing}")
            return one
    numbers = ", ".join(str(one.number) for one in of if one.sweep)
    raise InputError.of("NUMBER", number, f"one of {numbers}")


def _measure(
    chosen: Mapping[str, Sequence[PaperFigure]], scale: Scale, store: Path, workers: int | None
) -> dict[Sweep, Measured]:
    """Measure the sweeps of the figures, each once."""
    from heuristics.common.measure import measure_sweeps
    from optsched.parallel.local import cores

    sweeps = {one.sweep: name for name, of in chosen.items() for one in of if one.sweep}
    store.parent.mkdir(parents=True, exist_ok=True)
    with progress("measuring", "parts") as tell:
        return measure_sweeps(
            sweeps,
            scale,
            workers=workers or cores(),
            progress=lambda p: tell(p.finished, p.planned, p.seconds_left, p.latest),
            keep=store,
        )


def _path(output: Path | None, paper: str, one: PaperFigure, of_many: bool) -> Path | None:
    return output / f"{paper}_{one.number}.svg" if output is not None and of_many else output


def _drawn(
    paper: str,
    one: PaperFigure,
    measured: Mapping[Sweep, Measured],
    scale: str,
    path: Path | None,
) -> dict[str, Any]:
    """Draw a figure into a file if one is named; return what it shows."""
    assert one.sweep is not None
    result = measured[one.sweep]
    error = result.error or result.reason
    if error:
        say(f"{paper} {one.number}: {error}")
    answer = {"paper": paper, "figure": one.number, "caption": one.caption, "scale": scale,
              "note": one.note, "error": error, "means": [], "printed": []}  # fmt: skip
    if not result.tasks:
        return answer
    points = one.points(result.table)
    if path is not None:
        import matplotlib as mpl

        path.parent.mkdir(parents=True, exist_ok=True)
        with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "optsched"}):
            one.draw(points, one.caption_of(result.table, scale)).savefig(path, dpi=150)
        say(f"wrote {path}")
    answer["means"] = one.means(points).reset_index().to_dict("records")
    answer["printed"] = [asdict(mark) for mark in one.printed]
    return answer


def _show(answer: Mapping[str, Any]) -> None:
    """Print the means as a table, then what the paper prints and what is left open."""
    rows = answer["means"]
    if rows:
        columns = [name for name in rows[0] if name != "panel" or any(row[name] for row in rows)]
        title = f"Figure {answer['figure']}. {answer['caption']} ({answer['scale']} scale)"
        cells = [[row[name] for name in columns] for row in rows]
        print_table(columns, cells, title, keys=1 + ("panel" in columns))
    for mark in answer["printed"]:
        kind = " added to " if mark["added"] else " times "
        where = "" if mark["at"] is None else f" at {mark['at']}"
        of = f"{kind}{mark['of']}" if mark["of"] else ""
        typer.echo(f"printed: {mark['text']} ({mark['value']:g}{of}{where})")
    if answer["note"]:
        typer.echo(answer["note"])


add_command(
    figure,
    "optsched figure preemptive",
    "optsched figure preemptive 7 -o figure.pdf",
    "optsched figure preemptive 7 --scale paper -o figure.pdf",
    "optsched figure drp -o figures",
    group=app,
    part=MANY,
)
