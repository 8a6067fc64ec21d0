"""Ratios are intervals, and the intervals are true."""

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

import covering
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from untimed import untimed

import optsched as osd
from optsched.errors import InputError
from optsched.evaluation.heuristic_run import run_heuristic
from optsched.evaluation.optimum import optimum_interval
from optsched.evaluation.plain import plain
from optsched.evaluation.ratios import FIELDS, ComparisonSpec, ratio, ratio_rows
from optsched.evaluation.runs import MethodRun, instance_rng
from optsched.problem import Bound, Heuristic, granted_check_options, problem
from optsched.problem.methods import Formulation
from optsched.solvers.answer import Answer
from optsched.solvers.solution import Solution, Status

INSTANCE = covering.Cover(price=[3, 4, 10], size=[2, 3, 5], demand=5)  # optimum 7
EVERYTHING, GREEDY, CHEAT = "everything", "greedy", "greedy(epsilon=1.0)"


@dataclass(frozen=True)
class Scripted(Formulation):
    """A formulation whose answer is written down beforehand."""

    answer: Any = None

    def solve(self, instance, **options):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def scripted(answer, **changes):
    """The covering problem with that answer to its reference formulation."""
    formulation = Scripted("knapsack", covering.knapsack, "", "", decode=None, answer=answer)
    return replace(covering.PROBLEM, formulations={"knapsack": formulation}, **changes)


def answered(status, *, taken=None, bound=None, message=""):
    """An answer as a solver gives it; the schedule buys the items taken."""
    schedule = None if taken is None else covering.Choice(taken=taken)
    objective = None if taken is None else covering.cost(INSTANCE, schedule)
    return Answer(Solution(status, objective=objective, bound=bound, message=message), schedule)


def one(problem_, heuristic, **options):
    (row,) = osd.ratios(problem_, [heuristic], instances=INSTANCE, **options).rows
    return row


# the interval


@given(
    optimum=st.floats(1, 100),
    cost=st.floats(1, 300),
    above=st.lists(st.floats(1, 3), max_size=3),
    below=st.lists(st.floats(0, 1), max_size=3),
    maximise=st.booleans(),
)
@settings(deadline=None, max_examples=200)
def test_the_interval_encloses_the_true_ratio(optimum, cost, above, below, maximise):
    sense = "maximise" if maximise else "minimise"
    achieved, proven = (below, above) if maximise else (above, below)
    known = optimum_interval(
        sense,
        Status.FEASIBLE,
        {f"schedule {i}": optimum * factor for i, factor in enumerate(achieved)},
        {f"bound {i}": optimum * factor for i, factor in enumerate(proven)},
    )
    assert known.status is not Status.DISAGREEMENT
    true = optimum / cost if maximise else cost / optimum
    low, high = ratio(sense, cost, known.incumbent), ratio(sense, cost, known.bound)
    assert (low is None) == (not achieved)
    assert low is None or low <= true * (1 + 1e-8)
    assert high is None or high >= true * (1 - 1e-8)
    if known.optimum is not None:
        assert low == high


def test_a_proven_optimum_gives_a_point():
    row = one(covering.PROBLEM, EVERYTHING)
    assert row.status == "optimal"
    assert (row.optimum, row.bound, row.incumbent) == (7, 7, 7)
    assert row.ratio_low == row.ratio_high == pytest.approx(17 / 7)


def test_a_limit_with_an_incumbent_gives_an_interval():
    stopped = scripted(answered(Status.FEASIBLE, taken=[2], bound=6.0))
    row = one(stopped, EVERYTHING)
    assert (row.status, row.optimum, row.incumbent, row.bound) == ("feasible", None, 10, 6)
    assert (row.ratio_low, row.ratio_high) == (1.7, pytest.approx(17 / 6))


def test_a_limit_without_any_schedule_leaves_the_low_end_open():
    row = one(scripted(answered(Status.NO_SOLUTION, bound=6.0)), CHEAT)
    assert (row.status, row.cost, row.incumbent, row.ratio_low) == ("no_solution", 4, None, None)
    assert row.ratio_high == 4 / 6


def test_the_best_heuristic_schedule_serves_as_incumbent():
    stopped = scripted(answered(Status.NO_SOLUTION, bound=6.0))
    wasteful, good = osd.ratios(stopped, [EVERYTHING, GREEDY], instances=INSTANCE).rows
    assert (good.cost, good.ratio_low) == (7, 1.0)
    assert (wasteful.incumbent, wasteful.ratio_low) == (7, pytest.approx(17 / 7))


def test_a_faster_schedule_beats_the_optimum_and_is_no_incumbent():
    row = one(covering.PROBLEM, CHEAT)
    assert (row.cost, row.optimum, row.incumbent) == (4, 7, 7)
    assert row.ratio_low == row.ratio_high == 4 / 7


def test_a_bound_that_meets_a_schedule_proves_it():
    tight = Bound("tight", lambda instance: 7.0, "", "")
    stopped = scripted(answered(Status.NO_SOLUTION), bounds={"tight": tight})
    row = one(stopped, GREEDY, bounds=["tight"])
    assert (row.status, row.optimum, row.ratio_low, row.ratio_high) == ("optimal", 7, 1, 1)


@pytest.mark.parametrize("relaxation", ["relaxed", "cutting"])
def test_the_optimum_of_a_relaxation_is_only_a_bound(relaxation):
    row = one(covering.PROBLEM, EVERYTHING, reference=relaxation)
    assert row.optimum is None
    assert row.bound < row.incumbent == 17
    assert row.status == "feasible"


def test_the_best_bound_asked_for_counts():
    stopped = scripted(answered(Status.FEASIBLE, taken=[2], bound=1.0))
    strong, weak = covering.fractional(INSTANCE), covering.fractional(INSTANCE) / 2
    row = one(stopped, EVERYTHING, bounds=["halved", "fractional"])
    assert row.bound == strong
    assert row.extra["bound_halved"] == weak
    assert row.extra["ratio_halved"] == 17 / weak
    assert row.extra["source_ratio_halved"] == 17 / 2 / weak
    assert "source_ratio_fractional" not in row.extra


# where truth begins and ends: a case just inside, a case just outside


@pytest.mark.parametrize("cost", [0.5, 7.0, 4e5])
@pytest.mark.parametrize(("sense", "sign"), [("minimise", 1), ("maximise", -1)])
@pytest.mark.parametrize(
    ("beyond", "status"),
    [
        (-1.1e-9, Status.FEASIBLE),  # the bound leaves a gap
        (-0.9e-9, Status.OPTIMAL),
        (0.9e-6, Status.OPTIMAL),
        (1.1e-6, Status.DISAGREEMENT),  # the schedule is better than what was proven
    ],
)
def test_a_schedule_is_optimal_within_a_billionth_of_a_bound_and_refutes_it_by_a_millionth(
    cost, sense, sign, beyond, status
):
    bound = cost + sign * beyond * max(1.0, cost)
    known = optimum_interval(sense, Status.FEASIBLE, {"a": cost}, {"b": bound})
    assert known.status is status


TELLING = [
    Status.DISAGREEMENT,
    Status.INFEASIBLE,
    Status.OPTIMAL,
    Status.UNBOUNDED,
    Status.INFEASIBLE_OR_UNBOUNDED,
    Status.FEASIBLE,
    Status.NO_SOLUTION,
    Status.INTERRUPTED,
    Status.ERROR,
]


@pytest.mark.parametrize(("more", "less"), list(itertools.pairwise(TELLING)))
def test_of_several_solves_the_more_telling_end_counts(more, less):
    asked = ComparisonSpec("p", "minimise", "r", ["one", "two"], {"h": {}}, {}, [], [])
    for ends in ((more, less), (less, more)):
        runs = {
            ("exact", name): MethodRun(end.value)
            for name, end in zip(asked.solves, ends, strict=True)
        }
        (row,) = ratio_rows(asked, runs | {("heuristic", "h"): MethodRun("done", 1.0)})
        # without a schedule of its own an optimum is a word
        assert row.status == ("feasible" if more is Status.OPTIMAL else more.value)


# what goes wrong


def test_a_schedule_that_fails_the_checker_has_no_ratio():
    row = one(problem("covering"), "nothing")
    assert (row.status, row.cost, row.optimum) == ("violated", 0, 7)
    assert row.ratio_low is row.ratio_high is None
    assert "breaks (1)" in row.message


def test_a_heuristic_that_crashes_keeps_its_row_and_spares_the_others():
    crashed, fine = osd.ratios(problem("covering"), ["crashing", GREEDY], instances=INSTANCE).rows
    assert (crashed.status, crashed.cost, crashed.ratio_high) == ("error", None, None)
    assert "ZeroDivisionError" in crashed.message
    assert fine.ratio_low == 1


def test_a_violation_is_told_even_where_the_cost_is_infinite():
    endless = replace(problem("covering"), cost=lambda instance, schedule: math.inf)
    row = one(endless, "nothing")
    assert (row.status, row.cost) == ("violated", None)
    assert "breaks (1)" in row.message


@pytest.mark.parametrize("cost", [math.nan, math.inf])
def test_a_cost_that_is_no_number_is_an_error(cost):
    row = one(replace(covering.PROBLEM, cost=lambda instance, schedule: cost), GREEDY)
    assert (row.status, row.cost, row.ratio_low, row.ratio_high) == ("error", None, None, None)


def test_a_solver_that_crashes_leaves_what_the_bounds_prove():
    row = one(scripted(RuntimeError("out of memory")), EVERYTHING, bounds=["fractional"])
    assert row.status == "error"
    assert "out of memory" in row.message
    assert (row.ratio_low, row.ratio_high) == (1, 17 / covering.fractional(INSTANCE))


def test_a_bound_from_a_failed_solve_is_not_built_upon():
    row = one(scripted(answered(Status.ERROR, bound=6.9, message="broken point")), EVERYTHING)
    assert (row.bound, row.ratio_high) == (None, None)
    assert row.message == "broken point"


def test_a_bound_that_crashes_is_named_and_the_rest_stands():
    row = one(covering.PROBLEM, EVERYTHING, bounds=["failing"])
    assert row.ratio_low == row.ratio_high == 17 / 7
    assert row.extra["bound_failing"] is None
    assert "no bound today" in row.message


@pytest.mark.parametrize(
    "answer",
    [
        answered(Status.OPTIMAL, taken=[2], bound=10.0),  # the greedy schedule costs 7
        answered(Status.FEASIBLE, taken=[2], bound=7.5),
        answered(Status.INFEASIBLE),
    ],
)
def test_a_proof_refuted_by_a_checked_schedule_gives_no_ratio(answer):
    row = one(scripted(answer), GREEDY)
    assert row.status == "disagreement"
    assert row.ratio_low is row.ratio_high is row.optimum is None
    assert "passes the checker" in row.message


def test_an_infeasible_instance_without_any_schedule_stays_infeasible():
    unpayable = INSTANCE.model_copy(update={"demand": 100.0})
    (row,) = osd.ratios(covering.PROBLEM, [EVERYTHING], instances=unpayable).rows
    assert row.status == "violated"
    cheat = Heuristic("cheat", lambda i, r: covering.Choice(taken=[0], speed=90.0), "", "")
    (row,) = osd.ratios(
        replace(covering.PROBLEM, heuristics={"cheat": cheat}), ["cheat"], instances=unpayable
    ).rows
    assert (row.status, row.ratio_low, row.ratio_high) == ("infeasible", None, None)


@pytest.mark.parametrize(
    ("cost", "reference", "expected"),
    [(0, 0, 1), (3, 0, math.inf), (0, 3, 0), (-1, 2, None), (2, -1, None), (2, None, None)],
)
def test_a_ratio_of_zeros_or_negative_costs_is_never_made_up(cost, reference, expected):
    assert ratio("minimise", cost, reference) == expected


@pytest.mark.parametrize(
    ("cost", "reference", "expected"),
    [(9e-10, 0, 1), (2e-9, 0, math.inf), (0, -9e-10, 1), (0, -2e-9, None), (0, 9e-10, 1),
     (0, 2e-9, 0), (1, -9e-10, math.inf), (2e-10, 1e-10, 2)],
)  # fmt: skip
def test_what_rounding_leaves_of_a_zero_is_one(cost, reference, expected):
    assert ratio("minimise", cost, reference) == expected


def test_a_maximisation_compares_the_optimum_with_the_value():
    best = scripted(answered(Status.OPTIMAL, taken=[0, 1, 2], bound=17.0), sense="maximise")
    row = one(best, GREEDY)
    assert (row.optimum, row.ratio_low, row.ratio_high) == (17, 17 / 7, 17 / 7)
    stopped = scripted(answered(Status.FEASIBLE, taken=[2], bound=17.0), sense="maximise")
    row = one(stopped, GREEDY)
    assert (row.ratio_low, row.ratio_high) == (10 / 7, 17 / 7)


@pytest.mark.parametrize(
    "names",
    [
        {"heuristics": ["greedee"]},
        {"heuristics": ["greedy(epsilom=1)"]},
        {"heuristics": []},
        {"reference": "knapsac"},
        {"bounds": ["none"]},
        {"solver": "abacus"},
    ],
)
def test_names_that_are_not_known_are_refused_before_anything_runs(names):
    ran = []
    watched = replace(covering.PROBLEM, generate=lambda rng, **options: ran.append(1))
    with pytest.raises(InputError):
        osd.ratios(watched, grid={}, **{"heuristics": [GREEDY], **names})
    assert not ran


# studies


def test_rows_start_with_the_promised_columns():
    (row,) = osd.ratios(
        "covering", ["greedy(epsilon=0.5)"], instances={"here": INSTANCE}, seeds=1, first_seed=4
    ).rows
    record = row.record()
    assert tuple(record)[: len(FIELDS)] == FIELDS
    assert (record["problem"], record["instance"], record["seed"]) == ("covering", "here", 4)
    assert record["epsilon"] == 0.5


def values(rows):
    """Everything but the clock."""
    return [untimed(row) for row in rows]


def test_rows_depend_neither_on_processes_nor_on_the_rest_of_the_grid():
    names = ["shuffled", GREEDY]
    alone = osd.ratios("covering", names, grid={"items": [5]}, seeds=range(3))
    wide = osd.ratios(
        "covering", [GREEDY, "shuffled"], grid={"items": [4, 5]}, seeds=range(3), workers=2
    )
    assert wide.finished == wide.planned == 6
    assert not wide.interrupted
    same = [row for row in wide.rows if row.parameters["items"] == 5]
    assert len(alone.rows) == 6
    assert sorted(values(alone.rows), key=str) == sorted(values(same), key=str)


def test_an_instance_of_a_study_can_be_made_again_from_its_seed():
    (row,) = osd.ratios("covering", ["shuffled"], grid={"items": [5]}, seeds=[7]).rows
    again = covering.generate(instance_rng(7), items=5)
    assert run_heuristic(problem("covering"), again, "shuffled", 7).cost == row.cost


def test_a_process_that_dies_loses_only_its_own_instance():
    def deadly(instance, rng):
        return (
            covering.killing(instance, rng)
            if len(instance.size) == 5
            else covering.Choice(taken=list(range(len(instance.size))))
        )

    lethal = replace(covering.PROBLEM, heuristics={"deadly": Heuristic("deadly", deadly, "", "")})
    result = osd.ratios(lethal, ["deadly"], grid={"items": [3, 4, 5, 6, 7, 8]}, workers=2)
    assert [row.parameters["items"] for row in result.rows] == [3, 4, 5, 6, 7, 8]
    assert [row.status for row in result.rows] == ["optimal"] * 2 + ["error"] + ["optimal"] * 3
    assert "died" in result.rows[2].message


def test_a_generator_that_crashes_leaves_rows_that_say_so():
    def broken(rng, **options):
        raise OverflowError("too many items")

    result = osd.ratios(replace(covering.PROBLEM, generate=broken), [GREEDY, EVERYTHING], grid={})
    assert [row.status for row in result.rows] == ["error", "error"]
    assert "too many items" in result.rows[0].message


def test_an_interrupt_keeps_the_rows_that_are_there():
    def stop(step):
        if step.finished == 4:  # of two runs an instance
            raise KeyboardInterrupt

    result = osd.ratios("covering", [GREEDY], grid={"items": [4]}, seeds=range(5), progress=stop)
    assert result.interrupted
    assert (result.finished, len(result.rows), result.planned) == (2, 2, 5)


def test_a_grid_value_out_of_range_is_refused():
    with pytest.raises(InputError, match="items"):
        osd.ratios("covering", [GREEDY], grid={"items": [4, 0]})


def test_options_of_heuristics_become_columns_with_their_defaults():
    result = osd.ratios("covering", [GREEDY, "greedy(epsilon=0.5)", EVERYTHING], grid={})
    given = [row.parameters.get("epsilon") for row in result.rows]
    assert given == [0.0, 0.5, None]


def test_the_time_limit_reaches_the_solver():
    seen = []

    class Watching(Scripted):
        def solve(self, instance, **options):
            seen.append(options["options"].time_limit)
            return answered(Status.NO_SOLUTION)

    watching = Watching("knapsack", covering.knapsack, "", "")
    watched = replace(covering.PROBLEM, formulations={"knapsack": watching})
    osd.ratios(watched, [GREEDY], instances=INSTANCE, time_limit=3.0)
    assert seen == [3.0]


def test_a_bound_of_nothing_is_no_ratio():
    spec = ComparisonSpec("any", "minimise", "r", ["r"], {"some": {}}, {}, [], [])
    runs = {
        ("heuristic", "some"): MethodRun("done", cost=2.0, offline=True),
        ("exact", "r"): MethodRun("feasible", cost=1.0, bound=0.0, offline=True),
    }
    (row,) = ratio_rows(spec, runs)
    assert (row.status, row.ratio_low, row.ratio_high) == ("feasible", 2.0, None)


def test_a_schedule_is_granted_only_what_differs_from_the_checks_defaults():
    always = replace(covering.PROBLEM, check_options=lambda schedule: {"speed": schedule.speed})
    assert granted_check_options(always, covering.Choice(taken=[])) == {}
    assert granted_check_options(always, covering.Choice(taken=[], speed=2.0)) == {"speed": 2.0}


def test_plain_values_hold_nothing_json_cannot_say():
    given = {"a": np.float64(1.5), "b": [math.inf, np.int64(2)], "c": Status.OPTIMAL}
    assert plain(given) == {"a": 1.5, "b": [None, 2], "c": "optimal"}
