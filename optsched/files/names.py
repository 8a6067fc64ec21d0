"""Names that every file format and every reader accepts."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Set
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
"""Names that every reader of LP files takes as they are."""
_WORD = re.compile(r"[!-#%-)+-~][!-~]*")
"""Names that every reader of free MPS takes as they are; lines with * or $ may be comments."""
_NUMBER = re.compile(r"e(\d|$)|inf|nan", re.IGNORECASE)
"""How names begin that an LP reader may take for part of a number: HiGHS reads ``inflow`` as an
infinite coefficient of ``low``."""


@dataclass(frozen=True)
class Names:
    """Words that readers of the format take, in the order of columns and rows.

    Columns have different names, and rows; those not given in a file are letters, digits and
    underscores.
    """

    columns: list[str]
    rows: list[str]
    column_sources: list[str]
    """What the model calls them, such as ``y[0, 3]``."""
    row_sources: list[str]
    sets: list[str] = field(default_factory=list)
    """Names of special ordered sets."""
    set_sources: list[str] = field(default_factory=list)

    def original(self) -> dict[str, str]:
        """From each name to the model's own, columns first; a shared one is the column's."""
        found = dict(zip(self.columns, self.column_sources, strict=True))
        names = zip(self.rows + self.sets, self.row_sources + self.set_sources, strict=True)
        return found | {name: source for name, source in names if name not in found}


def name_all(
    compiled: MatrixForm,
    sets: Mapping[str, tuple[int, Shape]] | None = None,
    *,
    mps: bool = False,
) -> Names:
    """Names of all columns and rows, and of blocks of sets.

    Those from a file stay if they can: in MPS files more words can be names, and a row's name
    may be a column's, while readers of LP files may keep all in one table.
    """
    safe, taken = _word if mps else _plain, set[str]()
    columns = _names(compiled.column_blocks, "v_", taken, compiled.labels, safe)
    shared = set(columns[0]) if mps else set[str]()
    rows = _names(compiled.row_blocks, "r_", taken, compiled.row_labels, safe, shared)
    ordered = _names(sets or {}, "s_", taken, {}, safe)
    return Names(columns[0], rows[0], columns[1], rows[1], *ordered)


def _names(
    blocks: Mapping[str, tuple[int, Shape]],
    prefix: str,
    taken: set[str],
    labels: Mapping[str, Labels],
    safe: Callable[[str], bool],
    shared: Set[str] = frozenset(),
) -> tuple[list[str], list[str]]:
    names: list[str] = []
    sources: list[str] = []
    for name, (_, shape) in blocks.items():
        if not math.prod(shape):
            continue
        indices = list(product(*(map(str, range(n)) for n in shape)))
        sources += [f"{name}[{', '.join(i)}]" for i in indices] if shape else [name]
        given = _given(labels.get(name, {}))
        if given and all(map(safe, given)) and not taken & set(given) - shared:
            taken.update(given)
            names += given
            continue
        room = _LONGEST - 8 - len("_".join(indices[-1])) - 1
        stem = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")[:room]
        stem = stem if stem[:1].isalpha() and safe(stem) else prefix + stem
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
    """Labels that are names already."""
    return [str(label) for label in labels[NAMED]] if list(labels) == [NAMED] else []


def _plain(name: str) -> bool:
    whole = len(name) <= _LONGEST and _PLAIN.fullmatch(name)
    return bool(whole) and not _NUMBER.match(name) and not _RESERVED.fullmatch(name.lower())


def _word(name: str) -> bool:
    whole = len(name) <= _LONGEST and _WORD.fullmatch(name)
    return bool(whole) and name.upper() not in ("OBJ", "RHS", "RNG", "BND")  # said by the writer
