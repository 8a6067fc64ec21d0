"""Names that every file format and every reader accepts."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product

from optsched.model.expression import Shape
from optsched.model.labels import Labels
from optsched.model.matrix_form import MatrixForm

_LONGEST = 200  # characters; the LP format allows 255
_RESERVED = re.compile(
    r"free|inf|infinity|st|s|subject|to|such|that|bounds?|bin|binar(y|ies)|gens?|generals?|int|"
    r"integers?|end|max|min|maximi[sz]e|minimi[sz]e|obj|sos[12]?|semis?|sec|rhs|bnd|rng"
)
NAMED = "name"
"""The only axis of a block whose labels are the names in files, as they are."""
_PLAIN = re.compile(r"[A-Za-z_][\w.(),#]*", re.ASCII)
"""Names that every reader takes as they are."""
_EXPONENT = re.compile(r"[eE]\d*$|[eE]\d")  # an LP reader may take these for part of a number


@dataclass(frozen=True)
class Names:
    """Letters, digits and underscores only; unique; in the order of columns and rows."""

    columns: list[str]
    rows: list[str]
    column_sources: list[str]
    """What the model calls them, such as ``y[0, 3]``."""
    row_sources: list[str]
    sets: list[str] = field(default_factory=list)
    """Of special ordered sets."""
    set_sources: list[str] = field(default_factory=list)

    def original(self) -> dict[str, str]:
        """From each name to the model's own, columns first."""
        names = self.columns + self.rows + self.sets
        sources = self.column_sources + self.row_sources + self.set_sources
        return dict(zip(names, sources, strict=True))


def name_all(compiled: MatrixForm, sets: Mapping[str, tuple[int, Shape]] | None = None) -> Names:
    """Names of all columns and rows, and of blocks of sets."""
    taken: set[str] = set()
    columns = _names(compiled.column_blocks, "v_", taken, compiled.labels)
    # readers may keep all in one table
    rows = _names(compiled.row_blocks, "r_", taken, compiled.row_labels)
    ordered = _names(sets or {}, "s_", taken, {})
    return Names(columns[0], rows[0], columns[1], rows[1], *ordered)


def _names(
    blocks: Mapping[str, tuple[int, Shape]],
    prefix: str,
    taken: set[str],
    labels: Mapping[str, Labels],
) -> tuple[list[str], list[str]]:
    names: list[str] = []
    sources: list[str] = []
    for name, (_, shape) in blocks.items():
        if not math.prod(shape):
            continue
        indices = list(product(*(map(str, range(n)) for n in shape)))
        sources += [f"{name}[{', '.join(i)}]" for i in indices] if shape else [name]
        given = _given(labels.get(name, {}))
        if given and taken.isdisjoint(given):
            taken.update(given)
            names += given
            continue
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


def _given(labels: Labels) -> list[str]:
    """Labels that are names already, where all of them can stay as they are."""
    if list(labels) != [NAMED]:
        return []
    names = [str(label) for label in labels[NAMED]]
    return names if all(map(_is_safe, names)) else []


def _is_safe(name: str) -> bool:
    return bool(
        _PLAIN.fullmatch(name)
        and len(name) <= _LONGEST
        and not _RESERVED.fullmatch(name.lower())
        and not _EXPONENT.match(name)
    )


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
