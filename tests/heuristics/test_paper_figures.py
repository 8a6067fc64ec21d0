"""Every figure of the papers' evaluations, built from small instances of its settings."""

import math
import tomllib
from functools import cache
from pathlib import Path

import pytest
from support.pictures import unreadable

from heuristics.aerialedge.evaluation.figures import FIGURES as AERIALEDGE
from heuristics.batch.evaluation.figures import FIGURES as BATCH
from heuristics.drp.evaluation.figures import FIGURES as DRP
from heuristics.okita.evaluation.figures import FIGURES as OKITA
from heuristics.preemptive.evaluation.figures import FIGURES as PREEMPTIVE
from optsched.study.sweep import Sweep

PAPERS = {
    "preemptive": (PREEMPTIVE, range(3, 14)),
    "okita": (OKITA, range(4, 15)),
    "batch": (BATCH, range(3, 15)),
    "drp": (DRP, range(2, 35)),
    "aerialedge": (AERIALEDGE, range(4, 10)),
}
"""Figures of each paper, and the numbers that its evaluation has."""

LEAST = {"jobs": 3, "servers": 2, "sites": 2, "horizon": 20}
"""What a task may be shrunk to; a fiftieth of it is run."""

DRAWN = [
    pytest.param(figure, id=f"{name}_{figure.number}")
    for name, (figures, _) in PAPERS.items()
    for figure in figures
    if figure.sweep
]


@cache
def _observed(observe, task):
    return observe(**dict(task))


def small(sweep: Sweep):
    """What a sweep measures at a fiftieth of its sizes, which keep their names, with one seed."""
    tasks = [task for task in sweep.tasks("full") if task.get("seed", 0) == 0]
    measured = []
    for task in tasks:
        less = {key: max(LEAST[key], value // 50) if key in LEAST else value
                for key, value in task.items()}  # fmt: skip
        measured.append((task, _observed(sweep.observe, tuple(sorted(less.items())))))
    return Sweep.frame(measured)


@pytest.mark.parametrize("figure", DRAWN)
def test_a_figure_has_every_printed_series_on_its_axes_and_is_readable(figure):
    measured = small(figure.sweep)
    points = figure.points(measured)
    assert set(points["series"]) == set(figure.series)
    assert points["y"].map(math.isfinite).all()
    picture = figure.draw(points, figure.caption_of(measured, "small"))
    assert unreadable(picture) == []
    assert all(ax.get_xlabel() and ax.get_ylabel() for ax in picture.axes)
    (legend,) = picture.subfigs[0].legends
    labels = {text.get_text() for text in legend.get_texts()}
    assert labels == {*figure.series, *(f"printed: {one.text}" for one in figure.printed)}


@pytest.mark.parametrize("name", PAPERS)
def test_every_figure_of_an_evaluation_is_drawn_or_says_why_not(name):
    figures, numbers = PAPERS[name]
    assert [figure.number for figure in figures] == list(numbers)
    assert all(bool(figure.sweep) != bool(figure.missing) for figure in figures)
    assert all(figure.caption for figure in figures)


@pytest.mark.parametrize("figure", DRAWN)
def test_the_papers_scale_measures_no_less_than_the_small_one(figure):
    small, full = (figure.sweep.tasks(scale) for scale in ("quick", "full"))
    assert len(full) >= len(small)


def test_every_papers_figures_are_announced():
    about = tomllib.loads(Path(__file__).parents[2].joinpath("pyproject.toml").read_text("utf-8"))
    announced = about["project"]["entry-points"]["optsched.figures"]
    assert announced == {name: f"heuristics.{name}.evaluation.figures:FIGURES" for name in PAPERS}
