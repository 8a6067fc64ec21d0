"""The page: what it says of each problem, in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from optsched.evaluation.comparison import compare, profile_table
from optsched.evaluation.ratios import FIELDS, UNBOUNDED_RATIO
from optsched.evaluation.tables import CONFIDENCE, interval_cell, share, span, summarise
from optsched.problem import Problem
from optsched.problem.calls import parse_call
from optsched.problem.methods import Formulation
from optsched.report.formulas import mathml
from optsched.report.pictures import flow_picture, gap_picture, ratio_pictures, run_pictures
from optsched.solvers.solution import Solution

UNPROVEN_SHOWN = 40
"""Most lines of the table of what was not proven."""

IN_CSV = (*FIELDS, "known_by", "seconds")
"""Columns of the table that the page carries."""


@dataclass(frozen=True)
class Example:
    """A run worth looking at: schedules of one instance, drawn side by side."""

    heuristic: str
    name: str
    """Of the instance, in the table."""
    title: str
    instance: Any
    schedules: Mapping[str, Any]
    """By what made them."""


@dataclass(frozen=True)
class Section:
    """One problem's part of the page."""

    problem: Problem
    table: pd.DataFrame
    """Rows of ratios, from ``optsched.evaluation.tables.frame``."""
    cells: Sequence[str] = ()
    """Columns that make the groups of the summary, beside the heuristic."""
    x: str | None = None
    """Column on the horizontal axis; None: no such picture."""
    runs: Sequence[Example] = ()
    """At most one per heuristic, drawn with the pictures the problem knows; the instance of the
    first also gives the model's size."""
    flow_times: Mapping[str, Sequence[Sequence[float]]] = field(default_factory=dict)
    """By method, of each instance those of its jobs (slots): see ``pictures.flow_picture``."""
    longest: tuple[str, Solution] | None = None
    """A solve that took long, by what it is of; its trajectory is drawn."""
    notes: Sequence[str] = field(default_factory=tuple)


def page(
    title: str,
    sections: Sequence[Section],
    *,
    made_with: str = "",
    made_on: str = "",
    commands: Sequence[str] = (),
    reload: float | None = None,
) -> str:
    """The whole HTML document.

    Args:
        title: of the study.
        sections: one per problem.
        made_with: versions of what made it, for the last line.
        made_on: a date, for the last line.
        commands: which make it again.
        reload: seconds after which it loads itself again, while the study goes on.
    """
    import base64
    from importlib.resources import files

    from jinja2 import Environment, PackageLoader

    environment = Environment(
        loader=PackageLoader("optsched.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["order"] = _order
    rows = pd.concat([section.table for section in sections]) if sections else pd.DataFrame()
    shown = rows.reindex(columns=[name for name in IN_CSV if name in rows])
    vendor = files("optsched.report") / "vendor"
    return environment.get_template("page.html.jinja").render(
        title=title,
        overview=[line for section in sections for line in _overview(section)],
        csv=base64.b64encode(shown.to_csv(index=False, float_format="%.6g").encode()).decode(),
        lines=len(rows),
        made_on=made_on,
        reload=reload,
        commands=commands,
        tables=(vendor / "datatables-3.1.5.min.js").read_text(encoding="utf-8"),
        licence=(vendor / "datatables-license.txt").read_text(encoding="utf-8"),
        sections=[_content(section) for section in sections],
        confidence=f"{CONFIDENCE:.0%}",
        made_with=made_with,
    )


def _overview(section: Section) -> list[dict[str, Any]]:
    """A line per heuristic: what a reader wants to know first."""
    if section.table.empty:
        return []
    best = {
        line["heuristic"]: line["within_1"]
        for line in profile_table(section.table).to_dict("records")
    }
    leads = {name: place for (name, _), place in _leads(section).items()}
    seconds = section.table.groupby("heuristic", sort=False)["seconds"].mean()
    lines = []
    for line in summarise(section.table, ["heuristic"]).to_dict("records"):
        name = line["heuristic"]
        known = section.problem.heuristics.get(parse_call(name)[0])
        rows = section.table[section.table["heuristic"] == name]
        counts = rows["known_by"].replace("", "not proven").value_counts(sort=False)
        lines.append(
            {
                "problem": section.problem.name,
                "heuristic": name,
                "proposed": known is not None and known.proposed,
                "source": "" if known is None else f"{known.summary} ({known.source})",
                "cells": [
                    _span(line["mean_low"], line["mean_high"]),
                    interval_cell(line, " … ", "–"),
                    _span(line["max_low"], line["max_high"]),
                    share(line["infinite"]) or "0%",
                    f"{best.get(name, 0.0):.0%}",
                    f"{seconds[name]:.2g}",
                ],
                "worst_run": leads.get(name, ""),
                "known": ", ".join(f"{count} {word}" for word, count in counts.items()),
            }
        )
    return lines


def _leads(section: Section) -> dict[tuple[str, str], str]:
    """By heuristic and instance, the id of the part that shows the run."""
    return {
        (run.heuristic, run.name): f"{section.problem.name}-run-{number}"
        for number, run in enumerate(section.runs)
    }


def _order(text: str) -> str:
    """By what a cell of numbers is sorted: the first of them, nothing where there is none."""
    first = (text.split() or [""])[0].rstrip("%")
    try:
        return f"{min(float(first.replace('infinite', 'inf')), 1e300):.9g}"
    except ValueError:
        return ""


def _content(section: Section) -> dict[str, Any]:
    problem, table, leads = section.problem, section.table, _leads(section)
    measured = table.dropna(subset=["ratio_low", "ratio_high"])
    open_ = table[~table["status"].isin(("optimal", UNBOUNDED_RATIO))]
    instances = table.drop_duplicates(["instance", "seed", *section.cells])
    proven = int(instances["optimum"].notna().sum())
    return {
        "name": problem.name,
        "summary": problem.summary,
        "source": problem.source,
        "unit": problem.unit,
        "sense": problem.sense,
        "instances": len(instances),
        "proven": proven,
        "known": " and ".join(
            f"{count} {word}"
            for word, count in instances["known_by"].value_counts(sort=False).items()
            if word
        ),
        "runs": len(table),
        "measured": len(measured),
        "head": ["heuristic", *(name.replace("_", " ") for name in section.cells)],
        "lines": [_line(line, section.cells) for line in _summary(section)],
        "paired": [_paired(line) for line in compare(table).to_dict("records")],
        "pictures": [
            *ratio_pictures(table, section.cells, section.x, problem.name, leads),
            *([flow_picture(section.flow_times, problem.name)] if section.flow_times else []),
            *([gap_picture(*section.longest, problem.name)] if section.longest else []),
        ],
        "shown": [
            {
                "place": place,
                "heuristic": run.heuristic,
                "title": run.title,
                "pictures": list(
                    run_pictures(problem, run.instance, run.schedules, place, every=number == 0)
                ),
            }
            for number, (place, run) in enumerate(zip(leads.values(), section.runs, strict=True))
        ],
        "model": _model(section),
        "open": [_open(row) for row in open_.head(UNPROVEN_SHOWN).to_dict("records")],
        "open_more": max(0, len(open_) - UNPROVEN_SHOWN),
        "notes": section.notes,
    }  # fmt: skip


def _summary(section: Section) -> list[dict[Any, Any]]:
    if section.table.empty:
        return []
    lines: list[dict[Any, Any]] = summarise(section.table, ["heuristic", *section.cells]).to_dict(
        "records"
    )
    return lines


def _line(line: dict[Any, Any], cells: Sequence[str]) -> list[str]:
    return [
        *(_text(line[name]) for name in ("heuristic", *cells)),
        f"{line['measured']} of {line['rows']}",
        str(line["proven"]),
        share(line["infinite"]),
        _span(line["mean_low"], line["mean_high"]),
        interval_cell(line, " … ", "–"),
        _span(line["max_low"], line["max_high"]),
    ]


def _paired(line: dict[Any, Any]) -> list[str]:
    return [
        *(str(line[name]) for name in ("first", "second", "instances", "wins", "ties", "losses")),
        _span(line["difference_low"], line["difference_high"]),
        _span(line["ci_low"], line["ci_high"]),
    ]


def _open(row: dict[Any, Any]) -> list[str]:
    return [
        _text(row["instance"]),
        _text(row["heuristic"]),
        _text(row["status"]),
        _span(row["ratio_low"], row["ratio_high"]),
        _text(row.get("message") or ""),
    ]


def _model(section: Section) -> dict[str, str] | None:
    """A model of the problem on the first run's instance, with formulas.

    That of the reference formulation, or the first that is no relaxation where a search of its
    own takes the reference's place.
    """
    listed = section.problem.formulations
    ordered = [listed[section.problem.reference], *listed.values()]
    models = (f for f in ordered if isinstance(f, Formulation) and not f.relaxation)
    formulation = next(models, None)
    if not section.runs or formulation is None:
        return None
    model = formulation.build(section.runs[0].instance)
    return {
        "name": formulation.name,
        "source": formulation.source,
        "summary": formulation.summary,
        "view": mathml(model._repr_html_()),
    }


def _span(low: float | None, high: float | None) -> str:
    return span(low, high, " … ", "–")


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
