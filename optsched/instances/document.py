"""JSON documents: validated when they are read, with errors that name the field.

A class that lives in files names its pydantic twin in ``document_type`` and converts both ways.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, ClassVar, Protocol, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from optsched.errors import FieldProblem, InputError
from optsched.instances.read_only import fixed

LARGEST_INDEX = 1_000_000_000
"""Largest position or slot a file may name."""
Index = Annotated[int, Field(ge=0, le=LARGEST_INDEX)]
Size = Annotated[int, Field(ge=1, le=1_000_000)]
"""How many jobs, servers and the like a generator makes."""


class Document(BaseModel):
    """Base of everything read from or written to a file: closed, frozen, finite numbers only."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)


class Documented(Protocol):
    """What can be kept in a file."""

    document_type: ClassVar[type[Document]]

    @classmethod
    def from_document(cls, document: Any) -> Self: ...

    def to_document(self) -> Document: ...


class PlainDocument(Document):
    """A document that is the thing itself: for plain data, as in a notebook.

    Its lists and dicts refuse to be written, for all methods read the same instance.

    Example:
        >>> class Jobs(PlainDocument):
        ...     times: list[int]
        >>> parse(Jobs, {"times": [3, 1]}).times
        [3, 1]
    """

    document_type: ClassVar[type[Document]]

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        cls.document_type = cls

    @model_validator(mode="after")
    def _cannot_be_written(self) -> Self:
        return self._fixed()

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return super().__deepcopy__(memo)._fixed()

    def _fixed(self) -> Self:
        self.__dict__.update({name: fixed(value) for name, value in self.__dict__.items()})
        return self

    @classmethod
    def from_document(cls, document: Self) -> Self:
        """As it is."""
        return document

    def to_document(self) -> Self:
        """As it is."""
        return self


T = TypeVar("T", bound=Documented)
Options = TypeVar("Options", bound=BaseModel)


def _field(location: tuple[int | str, ...]) -> str:
    name = ""
    for part in location:
        name += f"[{part}]" if isinstance(part, int) else f".{part}" if name else part
    return name or "document"


def allowed(message: str) -> str:
    """What pydantic says of a value, in the middle of a sentence of ours."""
    said = re.sub(r"^(Value error, |Input |List |Tuple |Field )", "", message).strip()
    said = said.replace("a valid tuple", "a valid list")  # what a file has where we keep a tuple
    return re.sub(r" after validation, not \d+$", "", said).rstrip(".")


def refusal(error: ValidationError) -> InputError:
    """The error that names every field pydantic refused, its value and what is allowed."""
    errors = error.errors()
    inside = {e["loc"][:n] for e in errors for n in range(len(e["loc"]))}
    return InputError(
        [
            FieldProblem(
                _field(e["loc"]),
                "(missing)" if e["type"] == "missing" else e["input"],
                allowed(e["msg"]),
            )
            for e in errors
            if e["type"] != "too_short" or e["loc"] not in inside  # of entries refused by then
        ]
    )


def validated(kind: type[Options], options: Any) -> Options:
    """Options as fields of a document.

    Raises:
        InputError: with one entry per field refused.
    """
    try:
        return kind.model_validate(options)
    except ValidationError as error:
        raise refusal(error) from None


def parse(cls: type[T], data: Any) -> T:
    """Build ``cls`` from decoded JSON.

    Raises:
        InputError: with one entry per field refused.
    """
    document = validated(cls.document_type, data)
    mistaken = list(_mistaken(data, document, ()))
    if mistaken:
        raise InputError(mistaken)
    return cls.from_document(document)


def _mistaken(given: Any, read: Any, at: tuple[int | str, ...]) -> Iterator[FieldProblem]:
    """Texts and truth values that pydantic takes for numbers, and others for truth values."""
    if isinstance(read, Document) and isinstance(given, Mapping):
        for name in given:
            yield from _mistaken(given[name], getattr(read, name), (*at, name))
    elif isinstance(read, list | tuple) and isinstance(given, list | tuple):
        if {*map(type, given)} <= {int, float} and bool not in {*map(type, read)}:
            return
        for i, (one, other) in enumerate(zip(given, read, strict=True)):
            yield from _mistaken(one, other, (*at, i))
    elif isinstance(read, bool) and not isinstance(given, bool):
        yield FieldProblem(_field(at), given, "should be true or false")
    elif type(read) in (int, float) and isinstance(given, bool | str):
        yield FieldProblem(_field(at), given, "should be a number")


def load(cls: type[T], path: str | Path) -> T:
    """Read ``cls`` from a JSON file, or one of the endings that ``cls.readers`` knows.

    Raises:
        InputError: the file is missing, is not JSON, does not say what it is, or holds a field
            that is refused.
    """
    readers: Mapping[str, Callable[[str | Path], T]] = getattr(cls, "readers", {})
    if Path(path).suffix in readers:
        return readers[Path(path).suffix](path)
    data = read_json(path)
    known = cls.document_type.model_fields
    if isinstance(data, dict) and "format" in known and "format" in data:
        says, meant = data["format"], known["format"].default
        if says != meant:
            raise InputError.of("format", says, f"must be {meant!r}: {path} holds something else")
    missing = [
        FieldProblem(name, "(missing)", f"must be {known[name].default!r}")
        for name in ("format", "version")
        if isinstance(data, dict) and name in known and name not in data
    ]
    if missing:
        raise InputError(missing)
    return parse(cls, data)


def read_json(path: str | Path) -> Any:
    """What a JSON file holds.

    Raises:
        InputError: the file is missing, is not JSON, or has a key twice in one object.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError.of("file", str(path), f"cannot be read ({error})") from None
    try:
        return json.loads(text, object_pairs_hook=_each_once)
    except InputError:
        raise
    except ValueError as error:
        raise InputError.of("file", str(path), f"is not JSON ({error})") from None
    except RecursionError:
        raise InputError.of("file", str(path), "is nested too deeply to be read") from None


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object whose keys differ."""
    found = dict(pairs)
    if len(found) < len(pairs):
        times = Counter(key for key, _ in pairs)
        twice = next(key for key in found if times[key] > 1)
        raise InputError.of(twice, found[twice], "must stand once in its object, not twice")
    return found


def dumps(thing: Documented) -> str:
    """The JSON text of a document: what it is first, defaults left out."""
    document = thing.to_document()
    what_it_is = {"format", "version"} & set(type(document).model_fields)
    content = document.model_dump(mode="json", include=what_it_is)
    content |= document.model_dump(mode="json", exclude_defaults=True)
    return json.dumps(content, indent=1)


def save(thing: Documented, path: str | Path) -> None:
    """Write the JSON file whole or not at all."""
    write_text(path, dumps(thing) + "\n")


def write_text(path: str | Path, text: str) -> None:
    """Write a file whole or not at all; see ``written_whole``."""
    with written_whole(path) as place:
        place.write_text(text, encoding="utf-8")


@contextmanager
def written_whole(path: str | Path) -> Iterator[Path]:
    """Where to write a file so that a reader, or a crash, never sees half of it.

    A file that is there keeps its mode, and a link stays one: what it names is replaced. What is
    no regular file, such as a pipe, is written to as it stands.
    """
    if is_special(path):
        yield Path(path)
        return
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    # no other may know the name before the file is there: a link of that name would be followed
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    temporary.touch(exist_ok=False)
    try:
        yield temporary
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def is_special(path: str | Path) -> bool:
    """Whether something is there that is neither a file nor a folder: a device, a pipe."""
    there = Path(path)
    return there.exists() and not there.is_file() and not there.is_dir()


def schema(cls: type[Documented]) -> dict[str, Any]:
    """JSON schema of the files of ``cls``."""
    return cls.document_type.model_json_schema()
