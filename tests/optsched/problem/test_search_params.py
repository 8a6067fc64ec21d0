"""The parameters of a search are options of its method: listed, checked and handed on together."""

import inspect
import textwrap
from dataclasses import replace

import pytest
from pydantic import BaseModel, Field

from optsched.cli.names import method_options
from optsched.errors import InputError
from optsched.problem import later, problem
from optsched.problem.methods import ExactMethod
from optsched.solvers.answer import Answer
from optsched.solvers.solution import Solution, Status


class SearchParams(BaseModel, frozen=True):
    """What the search below can be told."""

    temperature: float = Field(2.0, gt=0, description="the temperature of the first step")
    steps: int = Field(5, ge=1)


SEEN = []


def search(instance, options, *, params, horizon: str = "safe"):
    SEEN.append((params, horizon))
    return Answer(Solution(Status.NO_SOLUTION))


METHOD = ExactMethod("annealed", search, "", "", params=SearchParams)
OKITA = problem("okita")
PROBLEM = replace(OKITA, formulations={**OKITA.formulations, "annealed": METHOD})


def test_a_search_is_given_its_parameters_with_their_defaults():
    METHOD.solve(None)
    assert SEEN.pop() == (SearchParams(temperature=2.0, steps=5), "safe")


def test_a_call_in_text_sets_parameters_and_other_options_alike():
    _, own = PROBLEM.formulation("annealed(temperature=0.5, horizon=short)")
    ExactMethod.solve(METHOD, None, **own)
    assert SEEN.pop() == (SearchParams(temperature=0.5, steps=5), "short")


@pytest.mark.parametrize("value", ["0", "-1", "hot"])
def test_a_parameter_out_of_its_range_is_refused_by_name(value):
    with pytest.raises(InputError, match="option temperature = "):
        PROBLEM.formulation(f"annealed(temperature={value})")


def test_a_parameter_that_there_is_not_is_refused():
    with pytest.raises(InputError, match="temperature, steps"):
        PROBLEM.formulation("annealed(warmth=1)")


def test_parameters_are_listed_with_range_default_and_meaning():
    assert method_options(METHOD) == [
        ("horizon", "str", "'safe'", ""),
        ("temperature", "number >0", "2.0", "the temperature of the first step"),
        ("steps", "integer >=1", "5", ""),
    ]


def test_a_function_that_is_imported_later_has_the_signature_of_what_it_stands_for():
    assert inspect.signature(later("textwrap", "indent")) == inspect.signature(textwrap.indent)
