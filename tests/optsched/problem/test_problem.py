"""Problems are found by entry points, named with options, and trusted only as far as checked."""

import sys
from dataclasses import replace

import covering
import numpy as np
import pytest

from optsched.errors import InputError
from optsched.problem import problem, problems
from optsched.problem.methods import ExactMethod
from optsched.solvers.answer import Answer
from optsched.solvers.solution import Solution, Status

INSTANCE = covering.Cover(price=[3, 4, 10], size=[2, 3, 5], demand=5)  # optimum 7


def test_a_third_partys_problem_is_found_with_its_heuristics():
    assert "covering" in problems()
    found = problem("covering")
    assert found.name == "covering"
    assert set(covering.PROBLEM.heuristics) | set(covering.MORE) == set(found.heuristics)


def test_an_unknown_problem_is_refused_with_what_there_is():
    with pytest.raises(InputError, match=r"'uncovering'.*covering"):
        problem("uncovering")


def test_a_package_that_cannot_be_loaded_is_named_and_hides_no_other(tmp_path, monkeypatch):
    (tmp_path / "rotten-1.0.dist-info").mkdir()
    (tmp_path / "rotten-1.0.dist-info" / "METADATA").write_text("Name: rotten\nVersion: 1.0\n")
    (tmp_path / "rotten-1.0.dist-info" / "entry_points.txt").write_text(
        "[optsched.problems]\nrotten = rotten:PROBLEM\n"
    )
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    with pytest.raises(InputError, match="rotten:PROBLEM"):
        problem("rotten")
    with pytest.warns(UserWarning, match="rotten:PROBLEM"):
        found = problems()
    assert "covering" in found
    assert "rotten" not in found


def test_a_heuristics_option_that_does_not_exist_is_refused_with_what_there_is():
    with pytest.raises(InputError, match=r"'epsilom' is not known; there are epsilon"):
        covering.PROBLEM.heuristic("greedy(epsilom=1)")
    with pytest.raises(InputError, match="it takes none"):
        covering.PROBLEM.heuristic("everything(epsilon=1)")


def test_generator_options_are_read_and_validated():
    read = covering.PROBLEM.generator_call({"items": "7", "tightness": 0.25})
    assert read == {"items": 7, "tightness": 0.25}
    assert covering.PROBLEM.generator_call({"prices": "[2, 9]"}) == {"prices": (2, 9)}
    assert covering.PROBLEM.generator_call({}) == {}


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"items": "0"}, "items"),
        ({"items": "many"}, "items"),
        ({"itens": 3}, "itens"),
        ({"prices": "[2,"}, "prices"),
    ],
)
def test_a_generator_option_that_is_not_allowed_is_named(options, field):
    with pytest.raises(InputError) as caught:
        covering.PROBLEM.generator_call(options)
    (refused,) = caught.value.problems
    assert refused.field == field
    assert refused.value == options[field]


def test_all_unknown_generator_options_are_named_at_once():
    with pytest.raises(InputError) as caught:
        covering.PROBLEM.generator_call({"a": 1, "b": 2})
    assert [refused.field for refused in caught.value.problems] == ["a", "b"]


def test_a_formulation_takes_build_options_from_its_name():
    plain = covering.PROBLEM.solve("knapsack", INSTANCE)
    more = covering.PROBLEM.solve("knapsack(spare=3)", INSTANCE)
    assert (plain.solution.objective, more.solution.objective) == (7, 14)
    with pytest.raises(InputError, match="spare"):
        covering.PROBLEM.solve("knapsack(spair=3)", INSTANCE)


def test_an_optimum_whose_schedule_breaks_the_problem_is_an_error_that_keeps_its_bound():
    lax = replace(
        covering.PROBLEM.formulations["knapsack"],
        decode=lambda instance, solution: covering.Choice(taken=[0]),
    )
    answer = replace(covering.PROBLEM, formulations={"knapsack": lax}).solve("knapsack", INSTANCE)
    assert answer.solution.status is Status.ERROR
    assert answer.schedule is answer.solution.objective is None
    assert answer.solution.bound == 7
    assert "(1)" in answer.solution.message


def test_an_optimum_whose_schedule_costs_something_else_is_an_error():
    answer = covering.PROBLEM.solve("knapsack", INSTANCE)
    cheaper = replace(answer, solution=replace(answer.solution, objective=6.5))
    verified = covering.PROBLEM.verify(INSTANCE, cheaper)
    assert verified.solution.status is Status.ERROR
    assert "costs 7, not 6.5" in verified.solution.message


def test_an_answer_without_a_schedule_passes_through():
    relaxed = covering.PROBLEM.solve("relaxed", INSTANCE)
    assert relaxed.solution.status is Status.OPTIMAL
    assert covering.PROBLEM.verify(INSTANCE, relaxed) is relaxed
    assert isinstance(relaxed, Answer)
    assert relaxed.schedule is None


def test_a_heuristic_runs_by_name():
    schedule = covering.PROBLEM.run("greedy(epsilon=1.0)", INSTANCE, np.random.default_rng(0))
    assert (schedule.taken, schedule.speed) == ([1], 2.0)


@pytest.mark.parametrize(("off", "status"), [(0.9e-6, Status.OPTIMAL), (1.1e-6, Status.ERROR)])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_schedule_may_cost_a_millionth_more_or_less_than_the_solver_says(off, status, sign):
    instance = covering.Cover(price=[3, 4, 10], size=[2, 3, 5], demand=5)
    schedule = covering.Choice(taken=[0, 1])  # costs 7
    said = Solution(Status.OPTIMAL, objective=7.0 * (1 + sign * off), bound=7.0)
    judged = problem("covering").verify(instance, Answer(said, schedule))
    assert judged.solution.status is status


@pytest.mark.parametrize("status", [Status.FEASIBLE, Status.INTERRUPTED])
@pytest.mark.parametrize(
    ("said", "bound", "counts"),
    [
        (9.0, 6.0, True),
        (9.0, None, True),
        (9.0, 7.0 * (1 + 0.9e-6), True),
        (9.0, 7.0 * (1 + 1.1e-6), False),  # one of the two is wrong
        (6.5, 6.0, False),
    ],
)
def test_a_point_at_which_a_search_was_ended_may_cost_more_than_its_schedule(
    status, said, bound, counts
):
    instance = covering.Cover(price=[3, 4, 10], size=[2, 3, 5], demand=5)
    schedule = covering.Choice(taken=[0, 1])  # costs 7
    answer = Answer(Solution(status, objective=said, bound=bound), schedule)
    judged = problem("covering").verify(instance, answer)
    if counts:
        assert (judged.solution.status, judged.solution.objective) == (status, 7.0)
        assert judged.schedule == schedule
        assert judged.solution.bound == (bound and min(bound, 7.0))
    else:
        assert (judged.solution.status, judged.schedule) == (Status.ERROR, None)


def ended(status, objective=None, bound=None, taken=None, **fields):
    """The covering problem with a method whose answer is that."""
    schedule = None if taken is None else covering.Choice(taken=taken)
    solution = Solution(status, objective=objective, bound=bound)
    method = ExactMethod(
        "told", lambda instance, options, start=None: Answer(solution, schedule), "a test", "told",
        frozenset({"start"}),
    )  # fmt: skip
    method = replace(method, **fields)
    return replace(problem("covering"), formulations={"told": method})


SEVEN, TEN = covering.Choice(taken=[0, 1]), covering.Choice(taken=[2])


@pytest.mark.parametrize("status", [Status.FEASIBLE, Status.INTERRUPTED])
def test_a_start_that_is_better_than_what_was_found_is_the_answer(status):
    answer = ended(status, 10.0, 6.0, [2]).solve("told", INSTANCE, start=SEVEN)
    assert (answer.schedule, answer.solution.objective, answer.solution.bound) == (SEVEN, 7.0, 6.0)
    assert (answer.solution.status, answer.solution.checked) == (status, True)


def test_a_start_is_the_answer_of_a_solve_that_found_nothing():
    answer = ended(Status.NO_SOLUTION).solve("told", INSTANCE, start=TEN)
    assert (answer.solution.status, answer.schedule) == (Status.FEASIBLE, TEN)


def test_a_start_does_not_count_that_is_no_schedule_or_no_better_or_not_admitted():
    none = ended(Status.NO_SOLUTION)
    assert none.solve("told", INSTANCE, start=covering.Choice(taken=[0])).schedule is None
    better = ended(Status.FEASIBLE, 7.0, 6.0, [0, 1])
    assert better.solve("told", INSTANCE, start=TEN).schedule == SEVEN
    refuses = ended(Status.NO_SOLUTION, admits=lambda instance, schedule: False)
    assert refuses.solve("told", INSTANCE, start=TEN).schedule is None
    unknown = ended(Status.NO_SOLUTION, admits=None)
    assert unknown.solve("told", INSTANCE, start=TEN).schedule is None


@pytest.mark.parametrize(("over", "counts"), [(0.9e-6, True), (1.1e-6, False)])
def test_a_start_that_a_bound_excludes_by_more_than_a_millionth_does_not_count(over, counts):
    bounded = ended(Status.NO_SOLUTION, bound=7.0 * (1 + over))
    answer = bounded.solve("told", INSTANCE, start=SEVEN)
    assert (answer.schedule == SEVEN) is counts


def test_a_start_that_meets_a_proven_bound_is_optimal():
    for status in (Status.NO_SOLUTION, Status.INTERRUPTED):
        found = ended(status, bound=7.0).solve("told", INSTANCE, start=SEVEN).solution
        assert (found.status, found.objective, found.bound) == (Status.OPTIMAL, 7.0, 7.0)


def test_what_is_made_at_once_is_the_answer_where_neither_solve_nor_start_is_better():
    quick = replace(ended(Status.NO_SOLUTION), construct=lambda instance: TEN)
    assert quick.solve("told", INSTANCE).schedule == TEN
    assert quick.solve("told", INSTANCE, start=SEVEN).schedule == SEVEN
    assert quick.solve("told", INSTANCE, start=covering.Choice(taken=[0])).schedule == TEN


def test_an_objective_within_rounding_becomes_the_cost_of_its_schedule():
    answer = ended(Status.OPTIMAL, 7.0 - 5e-6, 7.0 - 5e-6, [0, 1]).solve("told", INSTANCE)
    assert (answer.solution.objective, answer.solution.bound) == (7.0, 7.0 - 5e-6)
    above = ended(Status.OPTIMAL, 7.0 + 5e-6, 7.0 + 5e-6, [0, 1]).solve("told", INSTANCE)
    assert (above.solution.objective, above.solution.bound) == (7.0, 7.0)


def test_what_is_left_answers_the_whole_at_its_own_cost_and_with_a_bound_as_far_below():
    left = Answer(Solution(Status.FEASIBLE, objective=5.0, bound=4.0), [1], {"slotted": False})
    whole = left.completed(lambda made: [0, *made], lambda made: 10.0 * len(made), unit=2.0)
    assert whole.schedule == [0, 1]
    assert (whole.solution.status, whole.solution.objective) == (Status.FEASIBLE, 20.0)
    assert whole.solution.bound == 18.0
    assert whole.check == {"slotted": False}


def test_what_is_left_unsolved_says_nothing_of_the_whole():
    left = Answer(Solution(Status.NO_SOLUTION, bound=4.0))
    whole = left.completed(lambda made: made, lambda made: 0.0)
    assert whole.schedule is None
    assert whole.solution.status is Status.NO_SOLUTION
    assert whole.solution.objective is None
    assert whole.solution.bound is None
