"""Read what is typed on the command line: names, lists, options of a generator."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from optsched.cli.console import argument, option
from optsched.errors import InputError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from optsched.problem import ExactMethod, Formulation, Problem


def complete_problem(incomplete: str) -> list[str]:
    """Problems whose names begin so; none of them is loaded."""
    announced = {entry.name for entry in entry_points(group="optsched.problems")}
    return sorted(name for name in announced if name.startswith(incomplete))


def complete_formulation(incomplete: str) -> list[str]:
    """``problem.formulation`` that begin so."""
    return _complete(incomplete, "formulations")


def complete_heuristic(incomplete: str) -> list[str]:
    """``problem.heuristic`` that begin so."""
    return _complete(incomplete, "heuristics")


def _complete(incomplete: str, kind: str) -> list[str]:
    problem_name, dot, _ = incomplete.partition(".")
    if not dot:
        return [f"{name}." for name in complete_problem(incomplete)]
    from optsched.problem import problem

    try:
        names = getattr(problem(problem_name), kind)
    except InputError:
        return []  # a completion has nowhere to complain
    whole = sorted(f"{problem_name}.{name}" for name in names)
    return [name for name in whole if name.startswith(incomplete)]


ProblemName = Annotated[
    str,
    argument(
        'A problem, as listed by "optsched problems".',
        metavar="PROBLEM",
        autocompletion=complete_problem,
    ),
]


HeuristicName = Annotated[
    str,
    argument(
        'An algorithm; options in brackets: "preemptive.a_online(epsilon=0.5)".',
        metavar="PROBLEM.HEURISTIC",
        autocompletion=complete_heuristic,
    ),
]

OwnHeuristic = Annotated[
    str | None,
    option(
        'The heuristic, if PROBLEM alone is given; may be in a file: "mine.py:worst_fit(k=3)".',
        metavar="FILE.py:NAME",
    ),
]


def target(text: str, heuristic: str | None = None) -> tuple[Problem, str]:
    """The problem and the rest of ``problem.name(option=value)``.

    Args:
        text: as typed.
        heuristic: typed beside a problem's name alone; the problem has it among its own then.

    Raises:
        InputError: another form, no such problem, or a file without such a heuristic.
    """
    from optsched.problem import problem

    if heuristic is not None:
        if "." in text:
            raise InputError.of("--heuristic", heuristic, f"left out: {text} names a heuristic")
        from optsched.evaluation.heuristic_run import with_heuristics

        extended, (call,) = with_heuristics(problem(text), [heuristic])
        return extended, call
    if ".py:" in text:
        raise InputError.of("name", text, "must read PROBLEM --heuristic FILE.py:NAME")
    name, dot, call = text.partition(".")
    if not dot or not call:
        raise InputError.of("name", text, "must read problem.name or problem.name(option=value)")
    return problem(name), call


def problem_of(path: Path) -> str:
    """The problem that an instance file says that it is of.

    Raises:
        InputError: it says none that is there, as a table.
    """
    from optsched.instances.document import read_json
    from optsched.instances.text_files import is_table

    data = None if is_table(path) else read_json(path)
    said = str(data.get("format", "")) if isinstance(data, dict) else ""
    name = said.removesuffix("/instance").rpartition("/")[2]
    if name not in complete_problem(""):
        allowed = "a JSON file that says its problem; or type PROBLEM --heuristic FILE.py:NAME"
        raise InputError.of("INSTANCE", str(path), allowed)
    return name


def split_list(text: str) -> list[str]:
    """The parts of a comma list; commas within brackets or quotes do not separate.

    Raises:
        InputError: brackets that do not match, or an empty part.
    """
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        else:
            depth += (letter in "([{") - (letter in ")]}")
        if depth < 0:
            break
        if letter == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    parts = [part.strip() for part in parts]
    if depth != 0 or quote or not all(parts):
        raise InputError.of("list", text, "values separated by commas, brackets closed")
    return parts


def split_heuristics(text: str) -> list[str]:
    """The heuristics of a comma list; a comma in the name of a file that is there separates none.

    Raises:
        InputError: see ``split_list``.
    """
    parts: list[str] = []
    for part in split_list(text):
        file, found, _ = part.partition(".py:")
        if found and parts and os.path.isfile(f"{parts[-1]},{file}.py"):
            part = f"{parts.pop()},{part}"
        parts.append(part)
    return parts


def extra_options(arguments: Sequence[str]) -> dict[str, str]:
    """Options a command does not know itself: ``--name value``, ``--name=value``, ``--flag``.

    Raises:
        InputError: something that is no option, or one given twice.
    """
    options: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--") or len(word) == 2:
            raise InputError.of("argument", word, "expected an option such as --jobs 10")
        name, equals, value = word[2:].partition("=")
        if not equals:
            value = rest.pop(0) if rest and not rest[0].startswith("--") else "true"
        name = name.replace("-", "_")
        if name in options:
            raise InputError.of(word, value, "may be given once")
        options[name] = value
    return options


def named_files(options: Mapping[str, str]) -> dict[str, Path]:
    """Those of the options of ``extra_options`` whose values are files that are there."""
    return {
        f"--{name.replace('_', '-')}": Path(value)
        for name, value in options.items()
        if os.path.isfile(value)  # unlike Path, of any text
    }


def option_lines(problem: Problem) -> list[tuple[str, str, str, str]]:
    """(option, type, default, meaning) of everything the generator of a problem takes."""
    return [
        (f"--{name.replace('_', '-')}", kind, default, meaning)
        for name, kind, default, meaning in _fields(problem.generator_options)
    ]


def method_options(method: Formulation | ExactMethod) -> list[tuple[str, str, str, str]]:
    """(option, type, default, meaning) of everything a formulation or exact method takes."""
    params = getattr(method, "params", None)
    described = {line[0]: line for line in ([] if params is None else _fields(params))}
    return [
        described.get(name, (name, type(default).__name__, repr(default), ""))
        for name, default in (method.takes() or {}).items()
    ]


def _fields(options: type[BaseModel]) -> list[tuple[str, str, str, str]]:
    """(name, type and range, default, meaning) of the fields of some options."""
    properties = options.model_json_schema().get("properties", {})
    lines = []
    for name, about in properties.items():
        field = options.model_fields[name]
        default = "required" if field.is_required() else str(field.get_default())
        lines.append((name, _kind(about), default, field.description or ""))
    return lines


def _kind(about: dict[str, object]) -> str:
    """Type and range of an option, from its JSON schema."""
    if "enum" in about:
        return " | ".join(map(str, about["enum"]))  # type: ignore[call-overload]
    options = about.get("anyOf")
    kind = str(about.get("type", "value"))
    if isinstance(options, list):
        kinds = [str(option.get("type", "value")) for option in options]
        kind = " or ".join(kind for kind in kinds if kind != "null")
    low, high = about.get("minimum"), about.get("maximum")
    above, below = about.get("exclusiveMinimum"), about.get("exclusiveMaximum")
    limits = [(">=", low), (">", above), ("<=", high), ("<", below)]
    shown = [f"{sign}{limit}" for sign, limit in limits if limit is not None]
    return " ".join([kind, *shown])
