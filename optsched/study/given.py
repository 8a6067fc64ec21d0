"""Instances as a caller gives them: objects, tables and files."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from optsched.errors import InputError
from optsched.evaluation.instance_files import instance_from_file, instances_from
from optsched.problem import Problem


def given_instances(problem: Problem, given: Any) -> dict[str, Any]:
    """Name instances, and read those that are files or tables.

    Args:
        problem: whose instances they are.
        given: an instance, a ``DataFrame`` with a line per job, a file (JSON, or a table with a
            line per job), a folder or a pattern of files, a sequence of these, or a mapping from
            name to one of these.

    Raises:
        InputError: something else, or a table or a file that is refused.

    Example:
        >>> import numpy as np
        >>> from optsched import problem
        >>> batch = problem("batch")
        >>> drawn = batch.generate(np.random.default_rng(1), jobs=4, servers=2)
        >>> list(given_instances(batch, drawn)), list(given_instances(batch, [drawn, drawn]))
        (['instance'], ['instance[0]', 'instance[1]'])
    """
    if isinstance(given, (str, PathLike)):
        return instances_from(problem, Path(given))
    if _is_one(problem, given):
        named = {"instance": given}
    elif isinstance(given, Mapping):
        named = {str(name): one for name, one in given.items()}
    elif isinstance(given, Iterable):
        listed = list(given)
        if listed and all(isinstance(one, (str, PathLike)) for one in listed):
            return instances_from(problem, [Path(one) for one in listed])
        names = [_name(one, f"instance[{number}]") for number, one in enumerate(listed)]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise InputError.of("instances", twice, "given once")
        named = dict(zip(names, listed, strict=True))
    else:
        named = {"instances": given}
    if not named:
        raise InputError.of("instances", given, "one instance or more")
    return {name: _instance(problem, name, one) for name, one in named.items()}


def _is_one(problem: Problem, given: Any) -> bool:
    return isinstance(given, problem.instance_type) or _is_table(given)


def _is_table(given: Any) -> bool:
    pandas = sys.modules.get("pandas")  # who has a table has loaded it
    return pandas is not None and isinstance(given, pandas.DataFrame)


def _name(one: Any, otherwise: str) -> str:
    return str(one) if isinstance(one, (str, PathLike)) else otherwise


def _instance(problem: Problem, name: str, one: Any) -> Any:
    if isinstance(one, (str, PathLike)):
        return instance_from_file(problem, Path(one))
    if _is_table(one):
        return problem.instance_from(one)
    if not isinstance(one, problem.instance_type):
        kind = problem.instance_type.__name__
        allowed = f"a {kind}, a DataFrame with a line per job, or the path of an instance file"
        raise InputError.of(name, one, allowed)
    return one
