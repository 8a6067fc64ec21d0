"""The examples in docstrings run as printed, and every public name has one."""

import doctest
import importlib.util
import inspect
import pkgutil
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import optsched
from optsched import Model, solve


def with_examples():
    """Modules of the toolkit whose text holds an example."""
    for found in pkgutil.walk_packages(optsched.__path__, "optsched."):
        spec = importlib.util.find_spec(found.name)
        if spec and spec.origin and ">>>" in Path(spec.origin).read_text(encoding="utf-8"):
            yield found.name


@pytest.mark.parametrize("name", sorted(with_examples()))
def test_the_examples_of_a_module_run_as_printed(name):
    outcome = doctest.testmod(
        import_module(name),
        extraglobs={"Model": Model, "solve": solve, "np": np},
        optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS,
    )
    assert outcome.attempted > 0
    assert outcome.failed == 0


FOR_AUTHORS_OF_BLOCKS = {
    "alike", "as_expression", "check_own", "column_blocks", "column_name", "common_ground",
    "domains", "free_name", "result",
}  # fmt: skip


def public():
    """What ``from optsched import ...`` offers, and what one calls of a model."""
    names = {name: getattr(optsched, name) for name in optsched.__all__}
    methods = {f"Model.{name}": getattr(Model, name) for name in dir(Model) if name[0] != "_"}
    callables = {name: one for name, one in methods.items() if inspect.isroutine(one)}
    return {
        name: one
        for name, one in (names | callables).items()
        if name.removeprefix("Model.") not in FOR_AUTHORS_OF_BLOCKS
    }


@pytest.mark.parametrize("name", sorted(public()))
def test_every_public_name_has_an_example(name):
    assert ">>>" in (public()[name].__doc__ or "")
