"""Calls as text, ``name(option=value, ...)``: reading, look-up, and checks of their options."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from optsched.errors import InputError

NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(gt=0, lt=1)]
"""Finite numbers from 0, above 0, and between 0 and 1: ranges that an option states as its type, so
that a value beyond is refused before anything runs. Those of whole numbers are pydantic's."""


def parse_call(text: str) -> tuple[str, dict[str, Any]]:
    """Split ``name(option=value, ...)``; a value that is no Python literal is taken as text.

    Raises:
        InputError: the text has another form.
    """
    form = "must read name or name(option=value, ...)"
    match = re.fullmatch(r"\s*([\w.-]+)\s*(?:\((.*)\))?\s*", text, re.DOTALL)
    if match is None:
        raise InputError.of("name", text, form)
    call = f"f({match[2] or ''})"
    try:
        tree = ast.parse(call, mode="eval").body
    except (SyntaxError, ValueError):
        raise InputError.of("name", text, form) from None
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name) or tree.args:
        raise InputError.of("name", text, form)
    given = [keyword.arg for keyword in tree.keywords]
    if None in given or len(set(given)) < len(given):
        raise InputError.of("name", text, form)
    options: dict[str, Any] = {}
    for keyword in tree.keywords:
        try:
            value = ast.literal_eval(keyword.value)
        except ValueError:
            value = ast.get_source_segment(call, keyword.value)
        options[str(keyword.arg)] = value
    return match[1], options


def pick(known: Mapping[str, Any], name: str, kind: str) -> Any:
    """The entry of that name.

    Raises:
        InputError: naming what there is.
    """
    if name not in known:
        raise InputError.of(kind, name, "must be one of " + ", ".join(sorted(known)))
    return known[name]


def call_options(function: Callable[..., Any], given: int) -> dict[str, Any] | None:
    """The options a function takes after its first ``given`` arguments, with their defaults.

    None if it takes any option. An option without a default maps to ``inspect.Parameter.empty``.
    """
    parameters = list(inspect.signature(function).parameters.values())
    if parameters and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD:
        return None
    return {p.name: p.default for p in parameters[given:] if p.kind is not p.VAR_POSITIONAL}


def accept(known: Mapping[str, Any] | None, options: Mapping[str, Any], text: str) -> None:
    """Refuse options that are not known; None knows any.

    Raises:
        InputError: naming those there are.
    """
    unknown = [name for name in options if known is not None and name not in known]
    if unknown and known is not None:
        allowed = "there are " + ", ".join(known) if known else "it takes none"
        raise InputError.of("name", text, f"option {unknown[0]!r} is not known; {allowed}")


def check_values(function: Callable[..., Any], options: Mapping[str, Any], text: str) -> None:
    """Refuse options whose values are not of the type, or range, that the function states for them.

    Where it states none, a default that is a number asks for a number. A type that cannot be
    looked up here, or that pydantic does not know, allows anything.

    Raises:
        InputError: naming the option and its value.
    """
    written: Any = function
    while inner := getattr(written, "__wrapped__", getattr(written, "func", None)):
        written = inner
    stated = dict(getattr(written, "__annotations__", {}))
    for name, default in (call_options(written, given=0) or {}).items():
        if isinstance(default, int | float) and not isinstance(default, bool):
            stated.setdefault(name, float)
    for name, value in options.items():
        try:
            kind = stated[name]
            known = eval(kind, written.__globals__) if isinstance(kind, str) else kind
            adapter: TypeAdapter[Any] = TypeAdapter(known)
        except (KeyError, NameError, AttributeError, TypeError, PydanticUserError):
            continue
        try:
            adapter.validate_python(value, strict=not isinstance(value, list | tuple | dict))
        except ValidationError as error:
            said = error.errors()[0]["msg"]
            allowed = f"option {name} = {value!r}: {said[:1].lower()}{said[1:]}"
            raise InputError.of("name", text, allowed) from None


def read_list(value: Any) -> Any:
    """A bracketed text as the list it spells; everything else as it is."""
    if not (isinstance(value, str) and value.lstrip().startswith(("[", "("))):
        return value
    try:
        return ast.literal_eval(value.strip())
    except (ValueError, SyntaxError):
        return value  # for the validation to refuse
