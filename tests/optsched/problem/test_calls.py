"""Calls in text are read as name and options, and anything else is refused."""

import covering
import pytest

from optsched.errors import InputError
from optsched.problem.calls import call_options, check_values, parse_call


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("greedy", "greedy", {}),
        (" greedy ( ) ", "greedy", {}),
        ("greedy(epsilon=0.5)", "greedy", {"epsilon": 0.5}),
        (
            "las(limits=[1, 2], rule=lowest-index)",
            "las",
            {"limits": [1, 2], "rule": "lowest-index"},
        ),
        ("a(x='b, c', y=None, z=True)", "a", {"x": "b, c", "y": None, "z": True}),
        ("a(x=-3)", "a", {"x": -3}),
    ],
)
def test_a_call_splits_into_name_and_options(text, name, options):
    assert parse_call(text) == (name, options)


@pytest.mark.parametrize(
    "text", ["", "a b", "a(", "a(0.5)", "a(x=)", "a(**y)", "a(x=1)(y=2)", "a(x=1, x=2)", "a)b("]
)
def test_a_text_that_is_no_call_is_refused(text):
    with pytest.raises(InputError, match="must read name"):
        parse_call(text)


def test_options_of_a_call_have_their_defaults():
    assert call_options(covering.greedy, given=2) == {"epsilon": 0.0}
    assert call_options(lambda instance, rng, **anything: None, given=2) is None


def stating(
    instance,
    rng,
    *,
    epsilon: "float" = 0.0,
    rule: "Missing" = None,  # noqa: F821
    limits: "list[int]" = (),
):
    """Options of several types, one of which nobody knows."""


@pytest.mark.parametrize(
    "options",
    [{}, {"epsilon": 0.5}, {"epsilon": 1}, {"rule": "any"}, {"limits": [1, 2]}, {"other": 3}],
)
def test_values_of_the_stated_types_are_taken(options):
    check_values(stating, options, "stating")


@pytest.mark.parametrize(
    ("function", "options", "said"),
    [
        (stating, {"epsilon": "abc"}, "option epsilon = 'abc': input should be a valid number"),
        (stating, {"epsilon": True}, "epsilon = True"),
        (stating, {"limits": ["x"]}, "limits"),
        (covering.greedy, {"epsilon": "abc"}, "epsilon = 'abc'"),  # by its default
    ],
)
def test_values_of_another_type_are_refused(function, options, said):
    with pytest.raises(InputError, match=said):
        check_values(function, options, "f")


def test_a_problem_refuses_values_before_anything_runs():
    with pytest.raises(InputError, match="epsilon = 'abc'"):
        covering.PROBLEM.heuristic("greedy(epsilon=abc)")
