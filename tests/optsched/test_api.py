"""``import optsched as osd`` is the whole interface: its names, and what loads with it."""

import subprocess
import sys
import warnings

import pytest

import optsched as osd

NAMES = {
    *("Model", "solve", "Solution", "Status", "Options", "explain", "report", "read"),
    *("problem", "problems", "solvers", "Problem", "Formulation", "ExactMethod", "Heuristic"),
    *("Bound", "Guarantee", "Violation", "ratios", "Ratios", "adversarial"),
    *("InputError", "ModelError", "UnsupportedError"),
}

HEAVY = {"numpy", "scipy", "pandas", "matplotlib", "pydantic", "highspy", "ortools", "numba"}


def in_a_process(code):
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_the_names_are_those_of_the_interface_and_no_others():
    assert set(dir(osd)) == NAMES | {"__version__"}
    assert all(getattr(osd, name) is not None for name in NAMES)
    with pytest.raises(AttributeError, match="no attribute 'frame'"):
        osd.frame  # noqa: B018


def test_importing_it_loads_nothing_heavy():
    in_a_process(f"""
import sys, optsched
assert not {HEAVY} & set(sys.modules), {HEAVY} & set(sys.modules)
assert [name for name in sys.modules if name.startswith("optsched")] == ["optsched"]
""")


def test_a_model_and_its_solve_load_no_search_and_no_tables():
    in_a_process("""
import sys
from optsched import Model, solve
m = Model()
m.maximize(m.integer("x", upper=3))
assert solve(m).value == 3
heavy = {"optsched.decomposition", "optsched.problem", "optsched.study", "optsched.analysis",
         "scipy.sparse.csgraph", "scipy.sparse.linalg", "scipy.optimize", "pandas", "ortools"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
""")


@pytest.mark.parametrize("name", ["problem", "report", "solve", "solvers"])
def test_a_module_of_the_name_of_a_function_does_not_take_its_place(name):
    in_a_process(f"""
import importlib, optsched
module = importlib.import_module("optsched.{name}")
assert callable(optsched.{name}) and optsched.{name} is not module
from optsched.problem import Problem
from optsched import {name}
assert callable({name})
""")


def test_nothing_of_the_interface_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        for name in NAMES:
            getattr(osd, name)


def test_a_model_writes_solves_and_exports_itself_without_the_rest_of_the_interface():
    in_a_process("""
from optsched.model import Model
m = Model("alone")
x = m.integer("x", 2, upper=3)
m.maximize(x.sum())
assert m.solve().objective == 6
assert m.to_scipy().c.tolist() == [-1, -1]
""")


def test_a_report_says_how_blocks_are_taken_and_which_numbers_are_blurred():
    m = osd.Model("one machine")
    load, on = m.continuous("load", upper=2e6), m.binary("on")
    m.add("off", load <= 2e6 * on)
    said = str(osd.report(m))
    assert "one machine for highs; costs" in said
    assert "tolerances let a tenth or more through: off" in said
    unbounded = osd.Model()
    unbounded.maximum(unbounded.continuous("x", 2, lower=-float("inf")))
    found = osd.report(unbounded)
    assert found.numerics is None
    assert "cannot be lowered" in str(found)
