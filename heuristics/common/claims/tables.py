"""Judged claims as tables: a data frame, Markdown, LaTeX."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import get_args

import pandas as pd

from heuristics.common.claims.claim import (
    DIRECTION,
    Claim,
    ClaimVerdict,
    Judged,
    Under,
)
from heuristics.common.claims.interpretations import best, fits, said

VERDICTS: tuple[ClaimVerdict, ...] = get_args(ClaimVerdict)

HEADER = ("claim", "source", "printed", "measured", "interval", "instances", "verdict")

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"$<$", ">": r"$>$", "≤": r"$\le$", "≥": r"$\ge$", "×": r"$\times$", "–": "--",
    "−": r"$-$", "±": r"$\pm$", "ε": r"$\varepsilon$", "λ": r"$\lambda$",
}  # fmt: skip


def table(judged: Sequence[Judged]) -> pd.DataFrame:
    """One line per claim."""
    return pd.DataFrame(
        [
            {
                "problem": item.problem,
                "claim": item.claim.name,
                "source": item.claim.source,
                "text": item.claim.text,
                "printed": item.claim.printed,
                "unit": item.claim.unit,
                "verdict": item.finding.verdict,
                "provisional": item.scale == "quick",
                "measured": item.finding.value,
                "low": item.finding.low,
                "high": item.finding.high,
                "instances": item.finding.instances,
                "how": item.claim.how,
                "note": item.finding.note,
                "remark": item.claim.remark,
                "failed": item.finding.failed,
                "agreeing": item.agreeing,
                "interpretations": [_record(one) for one in item.under],
                "best_interpretation": said(chosen.combination) if (chosen := best(item)) else "",
            }
            for item in judged
        ]
    )


def _record(one: Under) -> dict[str, object]:
    found = one.finding
    return {
        **one.combination,
        "verdict": found.verdict,
        "measured": found.value,
        "low": found.low,
        "high": found.high,
        "instances": found.instances,
    }


def cells(item: Judged) -> tuple[str, ...]:
    """What a table shows of a claim, under ``HEADER``; the text of the claim comes first."""
    claim, found = item.claim, item.finding
    return (
        claim.text,
        claim.source,
        printed(claim),
        _with_unit(number(found.value), claim.unit),
        interval(found.low, found.high),
        str(found.instances or ""),
        verdict_of(item),
    )


def verdict_of(item: Judged) -> str:
    """The verdict, with what it hangs on.

    How many interpretations give it, if not all; at quick scale that it is provisional, and how
    many instances there are.
    """
    found, said = item.finding, []
    if item.hangs:
        said.append(f"{item.agreeing} of {len(item.measured)} interpretations")
    if item.scale == "quick" and found.instances:
        said.append(f"provisional, n = {found.instances}")
    return f"{found.verdict} ({'; '.join(said)})" if said else found.verdict


def printed(claim: Claim) -> str:
    """The printed number or range with its unit; nothing where there is none."""
    ends: tuple[float, ...] = ()
    if claim.printed is not None:
        ends = claim.printed if isinstance(claim.printed, tuple) else (claim.printed,)
    return _with_unit(" to ".join(map(number, ends)), claim.unit)


INTERPRETATION = ("interpretation", "measured", "interval", "n", "verdict")


def interpretation_cells(item: Judged) -> list[tuple[str, ...]]:
    """A line per interpretation of a claim; the one that fits best is marked."""
    chosen = best(item)
    return [
        (
            said(one.combination) + (" *" if one is chosen else ""),
            _with_unit(number(one.finding.value), item.claim.unit),
            interval(one.finding.low, one.finding.high),
            str(one.finding.instances or ""),
            one.finding.verdict,
        )
        for one in item.under
    ]


FIT = ("interpretation", "hold", "direction only", "fail", "mean distance from what is printed")


def fit_cells(judged: Sequence[Judged], most: int = 5) -> list[tuple[str, ...]]:
    """The interpretations of a problem that fit the printed numbers best, the best first."""
    return [
        (
            said(fit.combination),
            *map(str, (fit.holds, fit.direction, fit.fails)),
            number(fit.distance),
        )
        for fit in fits(judged)[:most]
    ]


def number(value: float) -> str:
    """A number to three digits, whole ones in full; nothing where it is none."""
    if not math.isfinite(value):
        return ""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def interval(low: float, high: float) -> str:
    """Both ends, or nothing."""
    ends = number(low), number(high)
    return f"{ends[0]} to {ends[1]}" if all(ends) else ""


def _with_unit(text: str, unit: str) -> str:
    return f"{text} {unit}" if text and unit else text


def tally(judged: Sequence[Judged]) -> str:
    """How many claims there are of each verdict: "3 claims: 2 hold, 1 fails".

    How many hang on an interpretation is added; claims of another paper are counted apart.
    """
    if not judged:
        return "no claims"
    papers = dict.fromkeys(item.claim.paper for item in judged)
    return "; ".join(
        _counted([item for item in judged if item.claim.paper == paper], paper) for paper in papers
    )


def _counted(items: Sequence[Judged], paper: str) -> str:
    counts = {v: sum(item.finding.verdict == v for item in items) for v in VERDICTS}
    shown = ", ".join(f"{count} {_verb(v, count)}" for v, count in counts.items() if count)
    hanging = sum(item.hangs for item in items)
    of = f" of {paper}" if paper else ""
    hang = f" ({hanging} hang on an interpretation)" if hanging else ""
    return f"{len(items)} claim{'s' * (len(items) != 1)}{of}: {shown}{hang}"


def _verb(of: ClaimVerdict, count: int) -> str:
    if of == DIRECTION:
        return "in direction only"
    plural = {"holds": "hold", "fails": "fail"}
    return plural.get(of, of) if count != 1 else of


def by_problem(judged: Sequence[Judged]) -> list[tuple[str, list[Judged]]]:
    """The claims of each problem, in their order."""
    return [(name, list(of)) for name, of in groupby(judged, key=lambda item: item.problem)]


def markdown(judged: Sequence[Judged], heading: str = "") -> str:
    """A table per problem; below it how each claim was measured, and what its verdict hangs on.

    Args:
        judged: the claims.
        heading: what stands above all: how the page was made.
    """
    blocks = [heading] if heading else []
    for problem, items in by_problem(judged):
        rows = _rows(("name", *HEADER), [(f"`{item.claim.name}`", *cells(item)) for item in items])
        blocks.append(f"## {problem}\n\n{tally(items)}.\n\n{rows}\n")
        blocks.append("\n".join(_explained(item) for item in items))
        if any(item.under for item in items):
            blocks.append(_open_points(items))
    return "\n".join(blocks)


def _open_points(items: Sequence[Judged]) -> str:
    """What a problem's paper leaves open, and the interpretations that fit its claims best."""
    moved = {r.name: r for item in items if item.under for r in item.claim.interpretations}
    points = "\n".join(
        f"- **{r.name}** ({', '.join(map(str, r.values))}): {_markdown(r.open)}"
        for r in moved.values()
    )
    return (
        "### What the paper leaves open\n\nThe default stands first; best fits, by the claims that "
        f"they can move, below.\n\n{points}\n\n{_rows(FIT, fit_cells(items))}\n"
    )


def _rows(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(_markdown, line))} |" for line in lines)


def _explained(item: Judged) -> str:
    """How a claim was measured, what must be known, and a table of what its verdict hangs on."""
    count = len(item.measured)
    same = f"the same under all {count} interpretations" if count and not item.hangs else ""
    parts = (item.claim.remark, item.claim.how, item.finding.note, same)
    notes = ". ".join(text.rstrip(".") for text in parts if text)
    said = f"- `{item.claim.name}`: {_markdown(notes)}"
    if not item.hangs:
        return said
    rows = _rows(INTERPRETATION, interpretation_cells(item)).replace("\n", "\n  ")
    return f"{said}\n\n  {rows}\n\n  \\* fits what is printed best\n"


def _markdown(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|").replace("<", "&lt;")


def latex(judged: Sequence[Judged]) -> str:
    """A long table per problem; it needs the packages booktabs and longtable."""
    blocks = [r"% \usepackage{booktabs,longtable}"]
    for problem, items in by_problem(judged):
        head = " & ".join(map(_latex, HEADER))
        body = "\n".join(" & ".join(map(_latex, cells(item))) + r" \\" for item in items)
        blocks.append(
            "\n".join(
                [
                    r"\begin{longtable}{p{.3\linewidth}p{.13\linewidth}rrrrl}",
                    rf"\caption{{{_latex(f'{problem}: {tally(items)}')}}}\\",
                    rf"\toprule {head} \\ \midrule \endhead",
                    r"\bottomrule \endfoot",
                    body,
                    r"\end{longtable}",
                ]
            )
        )
    return "\n\n".join(blocks) + "\n"


def _latex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in " ".join(text.split()))
