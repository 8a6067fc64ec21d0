"""A model at a glance: a table of its blocks, as text for terminals and as HTML for notebooks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from html import escape
from typing import TypeVar

import numpy as np

from optsched.model.base import Block, ModelBase
from optsched.model.expression import Relation, Shape
from optsched.model.latex import FormulaWriter, variable_formula
from optsched.model.matrix_form import assemble
from optsched.model.variables import Variable
from optsched.model.words import Writer, aligned, number

Item = TypeVar("Item")

_WIDTH = 100
"""Columns of the text view."""
_MOST_BLOCKS = 60
"""Blocks shown of each sort before the rest is only counted."""
_NAME, _KIND = 30, 12  # widest name and kind in the text view


def block_formula(model: ModelBase, block: Block) -> str:
    """The block's formula as given, otherwise its generic entry."""
    return block.formula or block.latex(FormulaWriter(model))


def objective_formula(model: ModelBase) -> str:
    """The objective as given, otherwise as it is built, with the word for its sense."""
    word = r"\max" if model.maximise else r"\min"
    if model.objective is None:
        return rf"{word}\; 0"
    written = model.objective_formula or FormulaWriter(model).expression(model.objective)
    return rf"{word}\; {written}"


@dataclass(frozen=True)
class BlockSize:
    """How much of the matrix a block takes."""

    rows: int
    """Constraints: entries of the block, or 1 for a block without axes."""
    columns: int
    """Variables it mentions."""
    nonzeros: int
    """Pairs of a row (of any of its expressions) and a variable."""


def block_size(model: ModelBase, block: Block) -> BlockSize:
    """Rows, columns touched and nonzeros of a block as written, before any lowering."""
    relations = [Relation(e, -np.inf, np.inf) for e in block.expressions() if e.terms]
    matrix = assemble(relations, model.columns).matrix
    touched = np.zeros(model.columns, dtype=bool)
    kept = matrix.data != 0
    touched[matrix.indices[kept]] = True
    nonzeros = int(np.count_nonzero(kept))
    return BlockSize(math.prod(block.shape), int(np.count_nonzero(touched)), nonzeros)


@dataclass(frozen=True)
class _Line:
    cells: tuple[str, ...]
    formula: str


def text_view(model: ModelBase) -> str:
    """Aligned columns, at most 100 characters wide."""
    writer = Writer(model, most_terms=4)
    sizes = {name: block_size(model, block) for name, block in _shown(model.blocks).items()}
    first = np.zeros(1, dtype=np.int64)
    goal = "0" if model.objective is None else writer.sums(model.objective, first)[0]
    sense = "maximise" if model.maximise else "minimise"
    lines = [f"{model.name}: {_totals(model)}"]
    if len(lines[0]) > _WIDTH:
        lines = [_cut(f"{model.name}:"), f"  {_totals(model)}"]
    lines.append(_cut(f"{sense} {goal}"))
    if model.variables:
        lines += ["", *_aligned(("variables", "type", "shape", "count", "bounds"),
                                [_variable_line(v).cells for v in _shown(model.variables).values()],
                                right={3})]  # fmt: skip
        lines += _hidden(model.variables)
    if model.blocks:
        entries = [
            (f"({name})", block.kind, _shape(block.shape), *_counts(sizes[name]),
             _first_entry(writer, block))
            for name, block in _shown(model.blocks).items()
        ]  # fmt: skip
        head = ("blocks", "kind", "shape", "rows", "columns", "nonzeros", "first entry")
        lines += ["", *_aligned(head, entries, right={3, 4, 5})]
        lines += _hidden(model.blocks)
    return "\n".join(lines)


def html_view(model: ModelBase) -> str:
    """A fragment for notebooks: formulas as ``$...$``, colours those of the page."""
    variables = [_variable_line(v) for v in _shown(model.variables).values()]
    blocks = [
        _Line(
            (name, block.kind, _shape(block.shape), *_counts(block_size(model, block))),
            block_formula(model, block),
        )
        for name, block in _shown(model.blocks).items()
    ]
    parts = [
        '<div style="overflow-x:auto;max-width:100%">',
        f'<p style="margin:0 0 .4em"><strong>{escape(model.name)}</strong> '
        f'<span style="opacity:.7">&nbsp;{escape(_totals(model))}</span></p>',
        f'<p style="margin:0 0 .6em">{_mathematics(objective_formula(model))}</p>',
    ]
    if variables:
        titles = ["variables", "", "type", "shape", "count", "bounds"]
        parts.append(_table(titles, variables, _hidden(model.variables), right={4}))
    if blocks:
        titles = ["blocks", "", "kind", "shape", "rows", "columns", "nonzeros"]
        parts.append(_table(titles, blocks, _hidden(model.blocks), right={4, 5, 6}))
    return "\n".join([*parts, "</div>"])


# cells


def _totals(model: ModelBase) -> str:
    types: dict[str, int] = {}
    for v in model.variables.values():
        types[v.type] = types.get(v.type, 0) + v.size
    rows = sum(math.prod(b.shape) for b in model.blocks.values())
    split = ", ".join(f"{_many(count)} {word}" for word, count in types.items() if count)
    return (
        f"{_many(model.columns)} variable{'s' * (model.columns != 1)}"
        + (f" ({split})" if split else "")
        + f", {_many(rows)} constraint{'s' * (rows != 1)}"
        + f" in {_many(len(model.blocks))} block{'s' * (len(model.blocks) != 1)}"
    )


def _variable_line(v: Variable) -> _Line:
    cells = (v.name, str(v.type), _shape(v.shape), _many(v.size), _bounds(v))
    return _Line(cells, variable_formula(v))


def _bounds(v: Variable) -> str:
    low, high = np.ravel(v.lower), np.ravel(v.upper)
    if not (low.size and high.size):
        return ""
    return f"{_side(low)} .. {_side(high)}"


def _side(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    least, most = float(values.min()), float(values.max())
    if least == most:
        return _number(least)
    return f"[{_number(least)}, {_number(most)}]"


def _number(value: float) -> str:
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return number(value)


def _shape(shape: Shape) -> str:
    return " x ".join(map(str, shape)) if shape else "single"


def _counts(size: BlockSize) -> tuple[str, str, str]:
    return _many(size.rows), _many(size.columns), _many(size.nonzeros)


def _many(count: int) -> str:
    return f"{count:,}"


def _first_entry(writer: Writer, block: Block) -> str:
    if not math.prod(block.shape):
        return ""
    return block.words(writer, np.zeros(1, dtype=np.int64))[0]


def _shown(items: Mapping[str, Item]) -> dict[str, Item]:
    return dict(list(items.items())[:_MOST_BLOCKS])


def _hidden(items: Sized) -> list[str]:
    more = len(items) - _MOST_BLOCKS
    return [f"... and {more} more"] if more > 0 else []


# text


def _aligned(head: tuple[str, ...], rows: Sequence[tuple[str, ...]], right: set[int]) -> list[str]:
    limits = {0: _NAME, 1: _KIND, 2: 16}
    cells = [
        tuple(_cut(cell, limits.get(i, _WIDTH)) for i, cell in enumerate(row))
        for row in (head, *rows)
    ]
    return [_cut(line) for line in aligned(cells, right)]


def _cut(text: str, width: int = _WIDTH) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


# HTML

_LINE = "1px solid rgba(128,128,128,.35)"
_CELL = f"padding:.25em .75em;border:0;border-bottom:{_LINE};vertical-align:middle"
_PLAIN = "background:transparent"  # rows the page would stripe


def _table(
    head: Sequence[str], lines: Sequence[_Line], hidden: Sequence[str], right: set[int]
) -> str:
    """Name, formula, then the other cells."""

    def cell(tag: str, content: str, place: int) -> str:
        align = "right" if place in right else "left"
        nowrap = "" if place == 1 else ";white-space:nowrap"
        return f'<{tag} style="{_CELL};text-align:{align}{nowrap}">{content}</{tag}>'

    def row(tag: str, contents: Sequence[str]) -> str:
        cells = "".join(cell(tag, content, i) for i, content in enumerate(contents))
        return f'<tr style="{_PLAIN}">{cells}</tr>'

    body = [
        row("td", [f"<code>{escape(line.cells[0])}</code>", _mathematics(line.formula),
                   *(escape(text) for text in line.cells[1:])])
        for line in lines
    ]  # fmt: skip
    body += [
        f'<tr style="{_PLAIN}"><td colspan="{len(head)}" style="{_CELL}">{note}</td></tr>'
        for note in hidden
    ]
    return (
        '<table style="border-collapse:collapse;margin:0 0 1em;border:0">'
        f"<thead>{row('th', head)}</thead><tbody>{''.join(body)}</tbody></table>"
    )


def _mathematics(formula: str) -> str:
    return f"$\\displaystyle {escape(formula, quote=False)}$"
