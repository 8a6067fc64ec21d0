"""Every number of the five papers' problems leads to a block, a variable or a sentence."""

import importlib
import inspect
import re

import pytest

from optsched.errors import InputError
from optsched.model.latex import ours
from optsched.problem import problem


def lettered(number: int, last: str) -> list[str]:
    """The objective and its statements: 2, 2a, 2b, ..."""
    return [str(number), *(f"{number}{chr(c)}" for c in range(ord("a"), ord(last) + 1))]


NUMBERS = {
    "batch": [
        *lettered(2, "l"), *lettered(3, "b"), *lettered(4, "d"), *lettered(5, "b"), "6",
        *lettered(9, "c"),
    ],
    "preemptive": [
        "1", *lettered(2, "k"), "3", *lettered(4, "h"), *lettered(6, "b"), *lettered(7, "e"), "8",
        *lettered(9, "b"), *lettered(10, "c"), *lettered(11, "b"),
    ],
    "drp": [
        "1", "2", "3", "4", *lettered(5, "i")[1:], *map(str, range(6, 14)), *lettered(22, "l")[1:],
        "23", "24", "25", "30", "31",
    ],
    "aerialedge": ["6", "7", "11", *map(str, range(13, 27))],
    "okita": ["1", *lettered(2, "h"), *lettered(5, "e"), *lettered(7, "b")],
}  # fmt: skip
"""Objectives, constraints and domains, from the papers."""
SAME = {"preemptive": ("preemptive_storage",), "drp": ("dsrp",)}
"""Other problems of a paper, by name: they share its numbers."""


def found(name):
    """The equations of a paper's problems; a name that a model does not have is an error."""
    return [one for part in (name, *SAME.get(name, ())) for one in problem(part).equations()]


@pytest.mark.parametrize("name", NUMBERS)
def test_every_number_of_the_paper_leads_to_a_part_of_a_model_or_to_a_sentence(name):
    equations = found(name)
    assert set(NUMBERS[name]) <= {one.number for one in equations}
    for one in equations:
        assert bool(one.names) != bool(one.reason), one
        assert bool(one.names) == bool(one.formulas), one


@pytest.mark.parametrize("name", NUMBERS)
def test_a_model_that_has_the_letters_of_a_problem_has_all_of_them(name):
    for part in (name, *SAME.get(name, ())):
        for model in {one.model for one in problem(part).equations()}:
            numbers = {one.number for one in problem(part).equations(model)}
            objectives = [n for n in numbers if n in NUMBERS[name] and n.isdigit()]
            for objective in objectives:
                letters = {n for n in NUMBERS[name] if re.fullmatch(rf"{objective}[a-z]", n)}
                assert letters <= numbers, (model, letters - numbers)


@pytest.mark.parametrize("name", NUMBERS)
def test_a_formula_under_the_papers_number_is_the_papers_or_marked_as_ours(name):
    """The objective of a model that has the number as a name is the paper's, too."""
    for one in found(name):
        for formula in one.formulas:
            root = {n.partition(":")[0] for n in one.names}
            papers = one.number in root or not one.names[0][0].isdigit()
            assert papers or formula.endswith(ours("")), one


@pytest.mark.parametrize("name", NUMBERS)
def test_the_packages_index_has_every_number_alone_or_in_a_range(name):
    index = inspect.getdoc(importlib.import_module(f"formulations.{name}"))
    listed = set(re.findall(r"\((\d+[a-z]?)\)", index))
    for first, last in re.findall(r"\((\d+[a-z]?)\) to \((\d+[a-z]?)\)", index):
        if first.isdigit():
            listed |= {str(n) for n in range(int(first), int(last) + 1)}
        else:
            listed |= {n for n in NUMBERS[name] if n[:-1] == first[:-1] and first <= n <= last}
    assert set(NUMBERS[name]) - {"1"} <= listed


def test_a_number_leads_to_the_model_that_is_closest_to_the_paper():
    batch = problem("batch")
    assert batch.equation("2d").model == "problem_2_literal"
    assert batch.equation("2d").names == ("2d",)
    assert batch.equation("4d").names == ("chi",)
    with pytest.raises(InputError, match="number = '2z': one of"):
        batch.equation("2z")
    with pytest.raises(InputError, match="problem_2_offline"):
        batch.equations("problem_2_offline")
