"""Files that others wrote, solved: is any answer of the default solver wrong?

HiGHS's check instances and the files of MIPLIB that the source distributions of scipy and mip on
PyPI carry. The default solver has ``--limit`` seconds for each that can be read. Its answer is held
against the published one (``check_instances.csv`` says whose), or where there is none against
SCIP's; what is not a model must be refused.

    python benchmarks/check_instances.py --limit 5           # fetches 52 MB, once
    python benchmarks/check_instances.py FOLDER              # files you have
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import sys
import tarfile
import urllib.request
from collections import Counter
from pathlib import Path

from optsched import InputError, Model, Solution, read, solve

INDEX = "https://files.pythonhosted.org/packages/source"
SOURCES = {  # below the index: SHA-256, and where the files are inside
    "s/scipy/scipy-1.9.3.tar.gz": (
        "fbc5c05c85c1a02be77b1ff591087c83bc44579c6d2bd9fb798bb64ea5e1a027",
        "/highs/check/instances/",
    ),
    "m/mip/mip-2.0.0.tar.gz": (
        "cf2c0a78edb7f21d0752346abcdb27906a265801c1361883df0eec5b3f0ebb49",
        "/test/data/",
    ),
}
NO_MODELS = (".json", ".bas")
TOLERANCE = 1e-6
"""Relative, beside half a unit of the last digit that is published."""


def fetched(folder: Path) -> Path:
    """Where all files are; archives that the folder holds are not fetched again."""
    folder.mkdir(parents=True, exist_ok=True)
    inside = folder / "instances"
    for path, (digest, part) in SOURCES.items():
        archive = folder / Path(path).name
        if not archive.exists():
            urllib.request.urlretrieve(f"{INDEX}/{path}", archive)
        found = hashlib.sha256(archive.read_bytes()).hexdigest()
        if found != digest:
            sys.exit(f"{archive}: SHA-256 is {found}, not {digest}")
        inside.mkdir(exist_ok=True)
        with tarfile.open(archive) as packed:
            for member in packed:
                content = packed.extractfile(member) if part in f"/{member.name}" else None
                if content is not None:
                    (inside / Path(member.name).name).write_bytes(content.read())
    return inside


def models(folder: Path, pattern: str = "*") -> list[Path]:
    """All files, but those that were never meant as models."""
    return sorted(f for f in folder.glob(pattern) if f.suffix not in NO_MODELS and f.is_file())


def verdict(model: Model, answer: Solution, optimum: str) -> str:
    """Of an answer beside a known optimum: agrees, open, or WRONG and why."""
    status = str(answer.status)
    endless = optimum in ("infeasible", "unbounded")
    if status in ("error", "disagreement", "interrupted") or (endless and status == "no_solution"):
        return f"open ({status})"
    if endless:
        return "agrees" if optimum in status else f"WRONG: {status}"
    if "infeasible" in status or "unbounded" in status:
        return f"WRONG: {status}"
    best, digits = float(optimum), len(optimum.partition(".")[2])
    slack = TOLERANCE * max(1.0, abs(best)) + 0.5 * 10.0**-digits * (best != 0)
    sign = -1.0 if model.maximise else 1.0
    if answer.has_point and sign * (answer.objective - best) < -slack:
        return "WRONG: better than the optimum"
    if answer.bound is not None and sign * (answer.bound - best) > slack:
        return "WRONG: bound beyond the optimum"
    return "agrees" if status == "optimal" else "open"


def examined(file: Path, known: dict[str, tuple[str, str]], limit: float) -> tuple[str, ...]:
    """A line of the table: size, answer, what it is held against, and the verdict."""
    stem = file.name.split(".")[0]
    optimum, source = known.get(file.name) or known.get(stem) or ("", "")
    try:
        model = read(file)
    except InputError as error:
        word = "refused" if optimum == "unreadable" else "WRONG: refused"
        return "", "", "", "", "", optimum, f"{word}, {error}"
    kinds = "+".join(sorted({v.type for v in model.variables.values()} | model.kinds - {"linear"}))
    sizes = str(model.columns), str(model.compile(model.kinds).rows.count), kinds
    answer = solve(model, time_limit=limit)
    if not optimum:
        other = solve(model, "scip", time_limit=4 * limit)
        source, optimum = "SCIP", str(other.status)
        if other.status == "optimal":
            optimum = repr(other.objective)
        elif optimum not in ("infeasible", "unbounded"):
            optimum = ""
    said = f"{answer.objective:.10g}" if answer.has_point else ""
    word = verdict(model, answer, optimum) if optimum else "open, nothing to compare with"
    return *sizes, str(answer.status), said, f"{optimum} ({source})", word


def main() -> int:
    """Print a line for each file, and totals; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="of files; else they are fetched")
    parser.add_argument("--limit", type=float, default=5.0, help="seconds for each solve")
    parser.add_argument("--only", default="*", help="pattern of file names")
    parser.add_argument("--keep", type=Path, default=Path("out/check_instances"), help="archives")
    given = parser.parse_args()
    with Path(__file__).with_suffix(".csv").open() as lines:
        known = {row["file"]: (row["optimum"], row["source"]) for row in csv.DictReader(lines)}
    words = Counter[str]()
    print("file | columns | rows | kinds | status | objective | reference | verdict")
    for file in models(given.folder or fetched(given.keep), given.only):
        line = examined(file, known, given.limit)
        words[line[-1].partition(",")[0].partition(":")[0].partition(" ")[0]] += 1
        print(" | ".join((file.name, *line)), flush=True)
    print(", ".join(f"{count} {word}" for word, count in sorted(words.items())))
    return int("WRONG" in words)


if __name__ == "__main__":
    sys.exit(main())
