"""The errors that the public API raises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_SHOWN = 80  # longest value quoted in a message


@dataclass(frozen=True)
class FieldProblem:
    """One field that cannot be accepted: where, what was given, what is allowed."""

    field: str
    value: Any
    allowed: str

    def __str__(self) -> str:
        try:
            shown = repr(self.value)
        except (ValueError, RecursionError):  # thousands of digits, or of levels
            shown = f"an object of type {type(self.value).__name__}"
        if len(shown) > _SHOWN:
            half = (_SHOWN - 3) // 2  # of a path, both ends matter
            shown = f"{shown[:half]}...{shown[-half:]}"
        return f"{self.field} = {shown}: {self.allowed}"


class InputError(ValueError):
    """Input that is refused before anything runs.

    ``problems`` lists every field refused, so that a file can be corrected in one go.

    Example:
        >>> from optsched import InputError, Options
        >>> try:
        ...     Options(time_limit=-1)
        ... except InputError as error:
        ...     print(error)
        time_limit = -1: seconds > 0, or None
    """

    def __init__(self, problems: Sequence[FieldProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))

    @classmethod
    def of(cls, field: str, value: Any, allowed: str) -> InputError:
        """Return the error of one field: its value, and what is allowed."""
        return cls([FieldProblem(field, value, allowed)])

    def __reduce__(self) -> tuple[type[InputError], tuple[tuple[FieldProblem, ...]]]:
        return type(self), (self.problems,)  # so that it survives a worker process


class ModelError(ValueError):
    """A model with a mistake, such as shapes that do not fit or a name used twice.

    Example:
        >>> from optsched import Model, ModelError
        >>> m = Model()
        >>> x = m.binary("x", 3)
        >>> try:
        ...     m.binary("x", 2)
        ... except ModelError as error:
        ...     print(error)
        variable 'x' exists already
    """


class NoMeaningError(ModelError, TypeError):
    """What numpy does to numbers and no model can say of expressions; says what can be."""


class UnsupportedError(ModelError):
    """Something that the solver does not support; nothing was solved.

    Example:
        >>> from optsched import Model, UnsupportedError, solve
        >>> m = Model()
        >>> m.minimize(m.continuous("x"))
        >>> try:
        ...     solve(m, "cpsat")
        ... except UnsupportedError as error:
        ...     print(str(error)[:29])
        cpsat takes integer variables
    """


def needs_extra(what: str, extra: str) -> str:
    """Return the sentence that says which command installs what an optional part needs."""
    return f'{what} needs an extra: pip install "optsched[{extra}]"'


def words(error: BaseException) -> str:
    """An exception in one line; by its type alone if it cannot say itself."""
    try:
        said = str(error)
    except Exception:
        said = ""
    return f"{type(error).__name__}: {said}".removesuffix(": ")


def clean(text: str) -> str:
    """A text that every file and database takes: "?" for a surrogate that stands alone.

    Such surrogates stand for bytes of a file's name that are no text.
    """
    return text.encode("utf-8", "replace").decode()
