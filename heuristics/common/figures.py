"""A paper's figures as data: a sweep that measures, a table of it, axes, and what is printed.

Packages announce the figures of a paper through the entry-point group ``optsched.figures``: a
sequence of :class:`PaperFigure` under the paper's name. ``optsched figure`` draws them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

import numpy as np

from optsched.errors import InputError
from optsched.problem.calls import pick
from optsched.study.sweep import Sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

    from optsched.report.plots import Picture

CAPTION_LETTERS, LETTERS_PER_INCH = 15, 14
"""Small letters in an inch of the caption, and of a name, which may have wide ones."""
Y_LETTERS = 40
"""In a line of a vertical axis's label."""
AXES_INCHES, LINE_INCHES, HANDLE_INCHES = 3.5, 0.17, 0.7
"""Height of a panel with its labels, height of a line below it, width of a legend's handle."""
CUT = 2.0
"""Multiple of the largest mean or mark at which intervals of few values are cut off."""
MARK = "printed: "
"""Start of the legend's entries of what a paper prints."""


@dataclass(frozen=True)
class Printed:
    """A number that a paper prints about its figure, to be marked there."""

    text: str
    """What is printed: "40 % below SRTF"."""
    value: float
    """On the vertical axis; a factor if ``of`` names a series."""
    of: str = ""
    """Series whose means the factor applies to; empty: none."""
    added: bool = False
    """Whether the value is added to the means of ``of``, not a factor."""
    at: float | str | None = None
    """Place on the horizontal axis; None: every place."""
    panel: str = ""
    """Panel to be marked; empty: every panel."""


@dataclass(frozen=True)
class PaperFigure:
    """A figure of a paper's evaluation."""

    number: int
    caption: str
    """As printed."""
    sweep: Sweep | None = None
    """Measures what is drawn; None: the figure is not drawn."""
    table: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    """Measurements -> rows with ``x``, ``y`` and ``series``, and ``panel`` if there are several."""
    x: str | Mapping[str, str] = ""
    """Label of the horizontal axis, with its unit; or of each panel's."""
    y: str | Mapping[str, str] = ""
    """Label of the vertical axis, with its unit; or of each panel's, in their order."""
    series: tuple[str, ...] = ()
    """Names as printed, in the printed order."""
    over_time: bool = False
    """Whether means are drawn as steps without intervals, each until the next place."""
    logarithmic: bool = False
    """Whether the vertical axis is: if one series is so far above that the others lie at zero."""
    printed: tuple[Printed, ...] = ()
    note: str = ""
    """How the setting differs from the paper's, or what the paper leaves open."""
    missing: str = ""
    """Why it is not drawn, in a sentence."""

    def points(self, measured: pd.DataFrame) -> pd.DataFrame:
        """Return what is drawn: ``panel``, ``x``, ``series``, ``y``, in the printed order.

        Args:
            measured: what the sweep measured.

        Raises:
            ValueError: a series or a panel that the figure does not name.
        """
        if self.table is None:
            raise ValueError(f"figure {self.number} is not drawn: {self.missing}")
        table = self.table(measured)
        if "panel" not in table:
            table = table.assign(panel="")
        panels = list(self.y) if isinstance(self.y, Mapping) else list(table["panel"].unique())
        for column, known in (("series", list(self.series)), ("panel", panels)):
            strange = set(table[column]) - set(known)
            if strange:
                raise ValueError(f"figure {self.number} has no {column} {sorted(strange)}")
        ranked = table.assign(
            _panel=table["panel"].map(panels.index), _series=table["series"].map(self.series.index)
        )
        order = ["_panel", "_series"]
        return ranked.sort_values(order, kind="stable")[["panel", "x", "series", "y"]]

    def means(self, points: pd.DataFrame) -> pd.DataFrame:
        """Return the means that are drawn: a row per panel and place, a column per series."""
        wide = points.pivot_table(index=["panel", "x"], columns="series", values="y", sort=False)
        ranked = wide.sort_index(level="x", kind="stable", sort_remaining=False)
        known = [name for name in self.series if name in wide]
        return ranked.loc[list(points["panel"].unique()), known]

    def caption_of(self, measured: pd.DataFrame, scale: str) -> str:
        """Return what stands below the picture: caption, scale, seeds, values in a mean, note.

        Args:
            measured: what the sweep measured.
            scale: name of its size.
        """
        counts = self.points(measured).groupby(["panel", "series", "x"])["y"].size()
        runs = f"{counts.min()} to {counts.max()}" if counts.nunique() > 1 else str(counts.min())
        size = f"Scale: {scale}; {measured['seed'].nunique()} seeds, n = {runs} for each mean."
        return f"Figure {self.number}. {self.caption.rstrip('.')}. {size} {self.note}".strip()

    def draw(self, points: pd.DataFrame, caption: str = "") -> Picture:
        """Draw one panel beside the other on the printed axes, printed numbers as marks.

        Args:
            points: what ``points`` gave.
            caption: stands below the legend that the panels share.
        """
        from optsched.report.plots import Picture

        panels = list(points["panel"].unique())
        width = 6.0 if len(panels) == 1 else 4.6 * len(panels)
        lines = textwrap.wrap(caption, round(CAPTION_LETTERS * width))
        picture = Picture(layout="constrained")
        # the legend makes room within a part, the caption below it: in one they would overlap
        body = picture.add_subfigure(picture.add_gridspec()[0, 0])
        picture.set_figwidth(width)
        for ax, name in zip(body.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            here = points[points["panel"] == name]
            self._panel(ax, points, name)
            self._mark(ax, here, name)
            ax.set(
                xlabel=_of_panel(self.x, name),
                ylabel=textwrap.fill(_of_panel(self.y, name), Y_LETTERS),
            )
            self._limits(ax)
            if name:
                ax.set_title(name, loc="left", fontsize="medium", pad=8)
        rows = _legend(body, width)
        picture.set_figheight(AXES_INCHES + LINE_INCHES * (rows + len(lines)))
        picture.supxlabel("\n".join(lines), fontsize="small", x=0.01, ha="left")
        return picture

    def _panel(self, ax: Axes, points: pd.DataFrame, panel: str) -> None:
        """Draw the series of a panel, each in the look that it has in every panel."""
        from optsched.report.plots import COLOURS, LINES, means_against

        if not self.over_time:
            ranked = points.sort_values("series", key=lambda s: s.map(self.series.index))
            ranked["y"] = ranked["y"].where(ranked["panel"] == panel)
            above = means_against(ax, ranked, "x", "series", "y").get_legend()
            if above is not None:  # all panels share one
                above.remove()
            return
        here = points[points["panel"] == panel]
        for name in here["series"].unique():
            means = here[here["series"] == name].groupby("x")["y"].mean()
            look = self.series.index(name)
            ax.step(
                means.index, means, where="post", linewidth=1.3, label=str(name),
                color=COLOURS[look % len(COLOURS)], linestyle=LINES[look % len(LINES)],
            )  # fmt: skip

    def _limits(self, ax: Axes) -> None:
        """Show every mean and mark; intervals of few values may reach beyond."""
        shown = np.concatenate([np.asarray(line.get_ydata(), float) for line in ax.get_lines()])
        shown = shown[np.isfinite(shown)]
        bars = [
            np.asarray(path.vertices)[:, 1] for bar in ax.collections for path in bar.get_paths()
        ]
        top = min(max(shown.max(), *(bar.max() for bar in bars), 0.0), CUT * shown.max())
        if self.logarithmic:
            ax.set_yscale("log", nonpositive="clip")
            ax.set_ylim(shown[shown > 0].min() / 2, 1.2 * top)
        else:
            ax.set_ylim(min(0.0, shown.min()), 1.05 * top)

    def _mark(self, ax: Axes, points: pd.DataFrame, panel: str) -> None:
        """Mark what is printed: a line if it is said of all places, a star at each place else."""
        names = [str(one) for one in points["x"].unique()]
        numeric = points["x"].dtype.kind in "if"
        texts = list(dict.fromkeys(one.text for one in self.printed))
        named = set[str]()  # marks of one text share a look and an entry in the legend
        for one in self.printed:
            if one.panel not in ("", panel):
                continue
            index = texts.index(one.text)
            label = "_" if one.text in named else MARK + one.text
            named.add(one.text)
            if not one.of and one.at is None:
                look = ("--", ":", "-.")[index % 3]
                ax.axhline(one.value, color="grey", linestyle=look, linewidth=1, label=label)
                continue
            part = points if one.at is None else points[points["x"] == one.at]
            if one.of:
                found = part[part["series"] == one.of].groupby("x", sort=False)["y"].mean()
                places = list(found.index)
                values = [mean + one.value if one.added else mean * one.value for mean in found]
            else:
                places, values = [one.at], [one.value]
            at = places if numeric else [names.index(str(place)) for place in places]
            marker = ("*", "P", "X", "d", "p", "h")[index % 6]
            ax.plot(at, values, marker, color="black", markersize=8, fillstyle="none", label=label)


def _of_panel(label: str | Mapping[str, str], panel: str) -> str:
    return label if isinstance(label, str) else label[panel]


def _legend(body: SubFigure, width: float) -> int:
    """Put one legend of all panels below them, where it hides nothing; return its rows."""
    known: dict[str, Artist] = {}
    for ax in body.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            known.setdefault(label, handle)
    ordered = sorted(known, key=lambda label: label.startswith(MARK))
    for columns in range(len(ordered), 0, -1):
        widest = [max(map(len, part)) for part in np.array_split(ordered, columns)]
        if sum(HANDLE_INCHES + letters / LETTERS_PER_INCH for letters in widest) <= width:
            break
    body.legend(
        [known[label] for label in ordered], ordered, loc="outside lower center", ncols=columns,
        fontsize="small", frameon=False,
    )  # fmt: skip
    return -(-len(ordered) // columns)


def figures(paper: str | None = None) -> dict[str, tuple[PaperFigure, ...]]:
    """Return every figure that packages announce, by paper.

    Args:
        paper: only this one; None: all.

    Raises:
        InputError: no figures under that name, or they cannot be loaded.
    """
    announced = {entry.name: entry for entry in entry_points(group="optsched.figures")}
    if paper is not None:
        announced = {paper: pick(announced, paper, "paper with figures")}
    return {name: _load(entry) for name, entry in sorted(announced.items())}


def _load(entry: EntryPoint) -> tuple[PaperFigure, ...]:
    try:
        return tuple(entry.load())
    except Exception as error:
        group = f"entry point {entry.group}"
        raise InputError.of(group, entry.value, f"cannot be loaded ({error!r})") from error
