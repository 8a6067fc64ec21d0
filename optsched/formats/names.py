"""Names that every file format and every reader accepts."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import product

from optsched.model.expression import Shape
from optsched.model.matrix_form import MatrixForm

_LONGEST = 200  # characters; the LP format allows 255
_RESERVED = re.compile(
    r"free|inf|infinity|st|s|subject|to|such|that|bounds?|bin|binar(y|ies)|gens?|generals?|int|"
    r"integers?|end|max|min|maximi[sz]e|minimi[sz]e|obj|sos[12]?|semis?|sec|rhs|bnd|rng"
)
_EXPONENT = re.compile(r"[eE]\d*$|[eE]\d")  # an LP reader may take these for part of a number


@dataclass(frozen=True)
class Names:
    """Letters, digits and underscores only; unique; in the order of columns and rows."""

    columns: list[str]
    rows: list[str]
    column_sources: list[str]
    """What the model calls them, such as ``y[0, 3]``."""
    row_sources: list[str]

    def original(self) -> dict[str, str]:
        """From each name to the model's own, columns first."""
        pairs = zip(self.columns + self.rows, self.column_sources + self.row_sources, strict=True)
        return dict(pairs)


def name_all(compiled: MatrixForm) -> Names:
    """Names of all columns and rows."""
    taken: set[str] = set()
    columns = _names(compiled.column_blocks, "v_", taken)
    rows = _names(compiled.row_blocks, "r_", taken)  # readers may keep both in one table
    return Names(columns[0], rows[0], columns[1], rows[1])


def _names(
    blocks: dict[str, tuple[int, Shape]], prefix: str, taken: set[str]
) -> tuple[list[str], list[str]]:
    names: list[str] = []
    sources: list[str] = []
    for name, (_, shape) in blocks.items():
        if not math.prod(shape):
            continue
        indices = list(product(*(map(str, range(n)) for n in shape)))
        sources += [f"{name}[{', '.join(i)}]" for i in indices] if shape else [name]
        stem = _stem(name, prefix, len("_".join(indices[-1])) + 1)
        # only whole blocks are renamed, so that a name still tells the block
        attempt, number = stem, 1
        while True:
            spelled = ["_".join((attempt, *i)) for i in indices]
            if taken.isdisjoint(spelled):
                break
            number += 1
            attempt = f"{stem}__{number}"
        taken.update(spelled)
        names += spelled
    return names, sources


def _stem(name: str, prefix: str, room: int) -> str:
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")[: _LONGEST - room - 8]
    if (
        not plain
        or not plain[0].isalpha()
        or _RESERVED.fullmatch(plain.lower())
        or _EXPONENT.match(plain)
    ):
        return prefix + plain
    return plain
