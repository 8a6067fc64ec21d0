"""Judged claims as tables: a data frame, Markdown, LaTeX."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

import pandas as pd

from optsched.claims.claim import ClaimVerdict, Judged

VERDICTS: tuple[ClaimVerdict, ...] = ("holds", "partly", "fails", "not measured")

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
                "measured": item.finding.value,
                "low": item.finding.low,
                "high": item.finding.high,
                "instances": item.finding.instances,
                "how": item.claim.how,
                "note": item.finding.note,
                "failed": item.finding.failed,
            }
            for item in judged
        ]
    )


def cells(item: Judged) -> tuple[str, ...]:
    """What a table shows of a claim, under ``HEADER``; the text of the claim comes first."""
    claim, found = item.claim, item.finding
    return (
        claim.text,
        claim.source,
        _with_unit("" if claim.printed is None else number(claim.printed), claim.unit),
        _with_unit(number(found.value), claim.unit),
        interval(found.low, found.high),
        str(found.instances or ""),
        found.verdict,
    )


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
    """How many claims there are of each verdict: "3 claims: 2 hold, 1 fails"."""
    counts = {v: sum(item.finding.verdict == v for item in judged) for v in VERDICTS}
    shown = ", ".join(f"{count} {_verb(v, count)}" for v, count in counts.items() if count)
    return f"{len(judged)} claim{'s' * (len(judged) != 1)}: {shown}" if judged else "no claims"


def _verb(of: ClaimVerdict, count: int) -> str:
    plural = {"holds": "hold", "fails": "fail"}
    return plural.get(of, of) if count != 1 else of


def by_problem(judged: Sequence[Judged]) -> list[tuple[str, list[Judged]]]:
    """The claims of each problem, in their order."""
    return [(name, list(of)) for name, of in groupby(judged, key=lambda item: item.problem)]


def markdown(judged: Sequence[Judged]) -> str:
    """A table per problem, with how each claim was measured and what must be known below it."""
    blocks = []
    for problem, items in by_problem(judged):
        lines = [" | ".join(map(_markdown, ("name", *HEADER)))]
        lines.append(" | ".join(["---"] * (len(HEADER) + 1)))
        lines += [
            " | ".join(map(_markdown, (f"`{item.claim.name}`", *cells(item)))) for item in items
        ]
        rows = "\n".join(f"| {line} |" for line in lines)
        notes = "\n".join(f"- `{item.claim.name}`: {_markdown(_explained(item))}" for item in items)
        blocks.append(f"## {problem}\n\n{tally(items)}.\n\n{rows}\n\n{notes}\n")
    return "\n".join(blocks)


def _explained(item: Judged) -> str:
    return ". ".join(text.rstrip(".") for text in (item.claim.how, item.finding.note) if text)


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
