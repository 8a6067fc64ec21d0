"""Instances from files of one's own: JSON as ``optsched generate`` writes it, and tables."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from optsched.errors import FieldProblem, InputError
from optsched.instances.document import load
from optsched.instances.text_files import is_table
from optsched.problem import Problem


def instances_from(
    problem: Problem,
    paths: str | Path | Iterable[str | Path],
    mapping: str | Path | None = None,
) -> dict[str, Any]:
    """Read instances from files.

    Args:
        problem: whose instances they are.
        paths: one or more of: files (JSON, or tables with a line per job), patterns such as
            ``data/*.csv``, and folders, of which every instance file and table counts.
        mapping: a file that says which column of the tables is which field, as
            ``optsched import --save-mapping`` writes it; None: columns are named as their fields.

    Returns:
        The instances, by their files' names without the ending.

    Raises:
        InputError: a file cannot be read or holds no instance of the problem, two have one name,
            or there are none.
    """
    problems: list[FieldProblem] = []
    files: dict[str, Path] = {}
    skipped = _tables_of(mapping)
    for given in [paths] if isinstance(paths, str | Path) else paths:
        for file in _files(problem, given, skipped):
            other = files.setdefault(file.stem, file)
            if other != file:
                allowed = f"a file whose name differs from that of {other}"
                problems.append(FieldProblem("instance", str(file), allowed))
    if not files:
        problems.append(FieldProblem("instance", [], "one file or more"))
    found: dict[str, Any] = {}
    for name, file in files.items():
        try:
            found[name] = instance_from_file(problem, file, mapping)
        except InputError as error:
            problems += [_of_file(one, file) for one in error.problems]
    if problems:
        raise InputError(problems)
    return found


def instance_from_file(
    problem: Problem, path: str | Path, mapping: str | Path | None = None
) -> Any:
    """Read an instance from a JSON file or a table; see ``instances_from``.

    Raises:
        InputError: the file cannot be read, or holds no instance of the problem.
    """
    if not is_table(path):
        return load(problem.instance_type, path)
    from optsched.instances.importing import read_table
    from optsched.instances.mapping import TableMapping

    known = TableMapping() if mapping is None else TableMapping.read(mapping)
    return known.instance(problem, read_table(path))


def _tables_of(mapping: str | Path | None) -> set[str]:
    """Return the tables that a mapping names: they are parts of instances."""
    if mapping is None:
        return set()
    from optsched.instances.mapping import TableMapping

    return {os.path.realpath(table) for table in TableMapping.read(mapping).tables()}


def _files(problem: Problem, given: str | Path, skipped: set[str]) -> Iterator[Path]:
    """Yield the files that a path or a pattern stands for."""
    path = Path(given)
    if path.is_dir():
        there = [one for one in sorted(path.iterdir()) if _is_instance(problem, one, skipped)]
        if not there:
            allowed = f"a folder with an instance file of {problem.name}, or a table"
            raise InputError.of("instance", str(given), allowed)
        yield from there
    elif path.exists() or not glob.has_magic(str(given)):
        yield path
    else:
        matching = [Path(one) for one in sorted(glob.glob(str(given), recursive=True))]
        there = [one for one in matching if os.path.realpath(one) not in skipped]
        if not there:
            raise InputError.of("instance", str(given), "a pattern that some file matches")
        yield from there


def _is_instance(problem: Problem, path: Path, skipped: set[str]) -> bool:
    """Whether a file of a folder is a table, or says that it is an instance of the problem."""
    if not path.is_file() or os.path.realpath(path) in skipped:
        return False
    if path.suffix != ".json":
        return is_table(path)
    try:
        data = json.loads(path.read_bytes())
    except ValueError:
        return False
    said = problem.instance_type.document_type.model_fields.get("format")
    return isinstance(data, dict) and (said is None or data.get("format") == said.default)


def _of_file(problem: FieldProblem, file: Path) -> FieldProblem:
    """Return a refusal that names the file."""
    if str(file) in str(problem):
        return problem
    return replace(problem, field=f"{file}, {problem.field}")
