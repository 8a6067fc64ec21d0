"""Files that others wrote, written and read again: is it the same model, number by number?

Each file of ``check_instances.py`` that can be read is compared with what HiGHS's own reader makes
of it, written as MPS and as LP, and each of these read again, here and by HiGHS. Compared are
costs, bounds, integrality, sides, coefficients and squares, under the names of columns and rows.

    python benchmarks/round_trip.py            # fetches 52 MB, once
    python benchmarks/round_trip.py FOLDER     # files you have
"""

from __future__ import annotations

import argparse
import gzip
import re
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import scipy.sparse as sp
from check_instances import fetched, models

from optsched import InputError, Model, read
from optsched.files import write
from optsched.files.beyond_rows import split
from optsched.files.names import NAMED, name_all

ENDINGS = (".mps", ".lp")


@dataclass(frozen=True)
class Said:
    """A minimisation; of a maximisation the negative."""

    columns: dict[str, tuple[Any, ...]]
    """Cost, bounds, whether integer, whether semi-continuous."""
    rows: dict[str, tuple[Any, ...]]
    """Sides, and coefficients by column."""
    offset: float
    squares: dict[frozenset[str], float]
    beside: Counter[Any]
    """Indicators and special ordered sets."""

    def differs(self, other: Said) -> str:
        """In what first; squares, which come from factors, to 1e-12."""
        for part in ("columns", "rows", "offset", "beside"):
            if getattr(self, part) != getattr(other, part):
                return part
        one, two = self.squares, other.squares
        same = one.keys() == two.keys() and all(
            abs(one[pair] - two[pair]) <= 1e-12 * abs(one[pair]) for pair in one
        )
        return "" if same else "squares"


def spelled(blocks: dict[str, Any], labels: Any) -> list[str]:
    """Names as the file had them: the labels of a block, or its name and indices."""
    names: list[str] = []
    for block, (_, shape) in blocks.items():
        given = labels.get(block, {}).get(NAMED)
        indices = ["_".join((block, *map(str, index))) for index in np.ndindex(shape)]
        names += indices if given is None else map(str, given)
    return names


def said_by(model: Model, ending: str = "") -> tuple[Said, bool]:
    """With names as they were read, or as they are written; and whether these are the same."""
    matrix, beyond = split(model, native=True)
    columns = spelled(matrix.column_blocks, matrix.labels)
    rows = spelled(matrix.row_blocks, matrix.row_labels)
    written = name_all(matrix, beyond.set_blocks, mps=ending == ".mps") if ending else None
    kept = written is None or (columns, rows) == (written.columns, written.rows)
    if written is not None:
        columns, rows = written.columns, written.rows
    sign = -1.0 if matrix.maximise else 1.0
    semi = [column in beyond.semi for column in range(len(columns))]
    kinds = zip(matrix.integer.tolist(), semi, strict=True)
    squares = {
        frozenset((columns[i], columns[j])): sign * v for (i, j), v in beyond.products.items()
    }
    beside = Counter((rows[row], columns[c], on) for row, (c, on) in beyond.guards.items())
    beside.update((order, *(columns[c] for c in members)) for order, members in beyond.sets)
    bounds, sides = (matrix.lower, matrix.upper), (matrix.rows.lower, matrix.rows.upper)
    found = _said(columns, rows, sign, matrix.cost, bounds, kinds, sides, matrix.rows.matrix)
    return Said(*found, sign * matrix.offset, squares, beside), kept


def _said(
    columns: list[str], rows: list[str], sign: float, cost: Any, bounds: Any, kinds: Any,
    sides: Any, matrix: Any,
) -> tuple[dict[str, tuple[Any, ...]], dict[str, tuple[Any, ...]]]:  # fmt: skip
    each = zip((sign * np.array(cost)).tolist(), *map(list, bounds), kinds, strict=True)
    cuts, data = matrix.indptr, matrix.data.tolist()
    names = [columns[i] for i in matrix.indices.tolist()]
    spans = [slice(a, b) for a, b in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)]
    entries = ({n: v for n, v in zip(names[s], data[s], strict=True) if v} for s in spans)
    return (
        dict(zip(columns, each, strict=True)),
        dict(zip(rows, zip(*map(list, sides), entries, strict=True), strict=True)),
    )


def said_to_highs(file: Path) -> Said | None:
    """What HiGHS's reader makes of a file; None where it refuses it."""
    engine = highspy.Highs()
    engine.setOptionValue("output_flag", False)
    engine.setOptionValue("small_matrix_value", 1e-12)  # drops smaller coefficients
    if engine.readModel(str(file)) == highspy.HighsStatus.kError:
        return None
    model = engine.getModel()
    lp, q, columns = model.lp_, model.hessian_, list(model.lp_.col_names_)
    rows = [re.sub(r"^HiGHS_R(\d+)$", r"row_\1", name) for name in lp.row_names_]
    sign = -1.0 if lp.sense_ == highspy.ObjSense.kMaximize else 1.0
    kinds = [int(kind) for kind in lp.integrality_] or [0] * len(columns)
    form = sp.csc_array if lp.a_matrix_.format_ == highspy.MatrixFormat.kColwise else sp.csr_array
    a, shape = lp.a_matrix_, (len(rows), len(columns))
    matrix = sp.csr_array(form((a.value_, a.index_, a.start_), shape=shape))
    squares = {
        frozenset((columns[i], columns[j])): sign * q.value_[k] * (0.5 if i == j else 1.0)
        for j in range(q.dim_) for k in range(q.start_[j], q.start_[j + 1])
        for i in (q.index_[k],) if q.value_[k]
    }  # fmt: skip
    flags = ((kind in (1, 3), kind in (2, 3)) for kind in kinds)
    bounds, sides = (lp.col_lower_, lp.col_upper_), (lp.row_lower_, lp.row_upper_)
    found = _said(columns, rows, sign, lp.col_cost_, bounds, flags, sides, matrix)
    for name in [name for name in found[1] if name.endswith("__low")]:  # as LP files have ranges
        one = found[1].pop(name)
        first = name.removesuffix("__low")
        found[1][first] = one[0], *found[1][first][1:]
    return Said(*found, sign * lp.offset_, squares, Counter())


def round_trips(file: Path, model: Model) -> dict[str, str]:
    """What each reader and writer did: same, same with names changed, or what differs."""
    words, (own, _) = {}, said_by(model)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bare = file
        if file.suffix == ".gz":
            bare = folder / file.stem
            bare.write_bytes(gzip.decompress(file.read_bytes()))
        theirs = said_to_highs(bare)
        words["HiGHS's reader"] = "refused" if theirs is None else own.differs(theirs) or "same"
        for ending in ENDINGS:
            there = folder / f"written{ending}"
            write(model, there, native=True)
            (sent, kept), (back, _) = said_by(model, ending), said_by(read(there))
            same = "same" if kept else "same, names changed"
            words[ending] = sent.differs(back) or same
            theirs = said_to_highs(there)
            words[f"HiGHS on {ending}"] = (
                "refused" if theirs is None else sent.differs(theirs) or "same"
            )
    return words


def main() -> int:
    """Print what differs, and totals; 1 if a model came back another."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="of files; else they are fetched")
    parser.add_argument("--only", default="*", help="pattern of file names")
    parser.add_argument("--keep", type=Path, default=Path("out/check_instances"), help="archives")
    given = parser.parse_args()
    totals, slowest, count = Counter[tuple[str, str]](), (0.0, ""), 0
    for file in models(given.folder or fetched(given.keep), given.only):
        began = time.process_time()
        try:
            model = read(file)
        except InputError as error:
            print(f"{file.name}: refused, {error}")
            continue
        slowest = max(slowest, (time.process_time() - began, file.name))
        words = round_trips(file, model)
        count += 1
        totals.update(words.items())
        if odd := {who: said for who, said in words.items() if said != "same"}:
            print(f"{file.name}: " + ", ".join(f"{who}: {said}" for who, said in odd.items()))
    print(f"{count} files; reading took {slowest[0]:.2f} s of a processor at most ({slowest[1]})")
    for (who, said), number in sorted(totals.items()):
        print(f"{who}: {number} {said}")
    return int(any(who in ENDINGS and "same" not in said for who, said in totals))


if __name__ == "__main__":
    sys.exit(main())
