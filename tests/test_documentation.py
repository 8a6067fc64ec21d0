"""The examples in docstrings run as printed, and the API reference builds."""

import doctest
import importlib.util
import pkgutil
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import optsched
from optsched import Model, solve

ROOT = Path(__file__).resolve().parents[1]


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


def test_the_api_reference_names_every_module(tmp_path):
    spec = importlib.util.spec_from_file_location("build_docs", ROOT / "docs" / "build.py")
    build_docs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build_docs)
    build_docs.build(tmp_path)
    names = list(build_docs.modules())
    assert {"optsched.model", "formulations.preemptive.problem_2"} <= set(names)
    for name in names:
        page = tmp_path.joinpath(*name.split(".")).with_suffix(".html")
        assert page.is_file(), name
