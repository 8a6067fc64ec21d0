"""One back end's answer, judged by the model."""

import time

import numpy as np
import pytest

from optsched import Model, solve
from optsched.solvers.backend import MIXED_INTEGER, Backend, Feature, SolverResult
from optsched.solvers.direct import solve_directly
from optsched.solvers.options import Options
from optsched.solvers.repairs.cost_scaling import cost_scale
from optsched.solvers.solution import Limit, Status

SIGNS = {"minimise": 1.0, "maximise": -1.0}


class Scripted(Backend):
    """A back end that says what it is told to."""

    name = "scripted"
    features = MIXED_INTEGER
    native = frozenset[str]()

    def __init__(self, answer: SolverResult) -> None:
        self.answer = answer
        self.asked: list[tuple] = []

    def version(self) -> str:
        return "0.1"

    def solve(self, compiled, options, start) -> SolverResult:
        self.asked.append((compiled, options, start))
        return self.answer


class Raising(Scripted):
    """A back end that fails."""

    def __init__(self, failure: Exception) -> None:
        self.failure = failure

    def solve(self, compiled, options, start) -> SolverResult:
        raise self.failure


@pytest.mark.parametrize(
    ("failure", "limit"),
    [
        (ImportError("_core.so: failed to map segment from shared object"), Limit.MEMORY),
        (MemoryError(), Limit.MEMORY),
        (ImportError("no module of that name"), None),
    ],
)
def test_a_failure_for_want_of_memory_is_the_memory_limit(failure, limit):
    solution = solve_directly(nine("minimise"), Raising(failure), Options())
    assert (solution.status, solution.limit) == (Status.ERROR, limit)
    assert str(failure) in solution.message


def nine(sense: str) -> Model:
    """One variable, whose cost is 9 times itself."""
    m = Model()
    x = m.continuous("x", upper=1)
    (m.minimize if sense == "minimise" else m.maximize)(9 * x)
    return m


def answered(sense, below):
    """The solution whose point costs 9 and whose bound lies that share on its better side."""
    bound = 9 - SIGNS[sense] * 9 * below
    raw = SolverResult(Status.OPTIMAL, np.array([1.0]), bound)
    return solve_directly(nine(sense), Scripted(raw), Options())


@pytest.mark.parametrize("sense", SIGNS)
def test_an_optimum_whose_bound_lies_a_millionth_apart_is_none(sense):
    inside, outside = answered(sense, 0.9e-6), answered(sense, 1.1e-6)
    assert (inside.status, inside.limit) == (Status.OPTIMAL, None)
    assert (outside.status, outside.limit) == (Status.FEASIBLE, Limit.GAP)


@pytest.mark.parametrize("sense", SIGNS)
def test_a_bound_a_millionth_beyond_a_point_refutes_the_answer(sense):
    inside, outside = answered(sense, -0.9e-6), answered(sense, -1.1e-6)
    assert (inside.status, inside.bound) == (Status.OPTIMAL, 9.0)
    assert outside.status is Status.ERROR
    assert "beyond the value" in outside.message


def test_what_a_bound_misses_by_the_tolerance_itself_is_forgiven():
    for bound, status in ((1e-6, Status.OPTIMAL), (-1e-6, Status.OPTIMAL),
                          (1.5e-6, Status.ERROR), (-1.5e-6, Status.FEASIBLE)):  # fmt: skip
        raw = SolverResult(Status.OPTIMAL, np.array([0.0]), bound)
        assert solve_directly(nine("minimise"), Scripted(raw), Options()).status is status


@pytest.mark.parametrize("sense", SIGNS)
def test_the_bound_reported_is_the_one_given_or_the_value_in_hand(sense):
    inside, beyond = answered(sense, 0.5e-6), answered(sense, -0.5e-6)
    assert inside.bound == 9 - SIGNS[sense] * 9 * 0.5e-6
    assert beyond.bound == 9.0


# what the duals that come with an optimum say of it


def covering(sense: str, offset: float) -> Model:
    """A row at its side in the optimum, which costs ``1 + offset``; its dual is 1."""
    m = Model()
    x = m.continuous("x", upper=2)
    sign = SIGNS[sense]
    (m.minimize if sign > 0 else m.maximize)(x + offset)
    m.add("row", sign * x >= sign)
    return m


@pytest.mark.parametrize("sense", SIGNS)
@pytest.mark.parametrize("offset", [-1.0, 0.0, 4.0])
def test_duals_that_prove_a_millionth_less_than_the_value_prove_no_optimum(sense, offset):
    sign = SIGNS[sense]
    allowed = 1e-6 * max(1.0, 1 + offset)
    for short, status in ((0.99 * allowed, Status.OPTIMAL), (1.01 * allowed, Status.FEASIBLE)):
        dual = np.array([sign * (1 - short)])
        raw = SolverResult(Status.OPTIMAL, np.array([1.0]), 1 + offset, row_duals=dual)
        solution = solve_directly(covering(sense, offset), Scripted(raw), Options())
        assert solution.status is status
        assert solution.limit is (Limit.GAP if status is Status.FEASIBLE else None)
        assert solution.objective == 1 + offset


def test_duals_that_miss_the_value_by_the_tolerance_itself_are_forgiven():
    m = Model()
    x = m.continuous("x", lower=-1e-6)
    m.minimize(x)
    m.add("row", x >= 0)
    raw = SolverResult(Status.OPTIMAL, np.zeros(1), 0.0, row_duals=np.zeros(1))
    assert solve_directly(m, Scripted(raw), Options()).status is Status.OPTIMAL


def with_a_dual(dual: float):
    """What is made of the optimum 1 of ``x - y >= 1`` and a multiplier, which should be 1."""
    m = Model()
    x = m.continuous("x", 2, lower=-np.inf)
    m.minimize(x[0] - x[1])
    m.add("apart", x[0] - x[1] >= 1)
    point, duals = np.array([1.0, 0.0]), np.array([dual])
    raw = SolverResult(Status.OPTIMAL, point, 1.0, row_duals=duals)
    return solve_directly(m, Scripted(raw), Options())


@pytest.mark.parametrize("dual", [0.0, 0.5, 2.0])
def test_duals_that_leave_a_free_column_a_reduced_cost_prove_no_optimum(dual):
    solution = with_a_dual(dual)
    assert (solution.status, solution.limit) == (Status.FEASIBLE, Limit.GAP)
    assert (solution.objective, solution.bound) == (1.0, None)


@pytest.mark.parametrize(("off", "status"), [(1.9e-6, Status.OPTIMAL), (2.1e-6, Status.FEASIBLE)])
def test_a_reduced_cost_of_a_free_column_within_a_millionth_is_rounding(off, status):
    assert with_a_dual(1 + off).status is status


def test_a_row_may_bound_the_column_that_its_own_bounds_do_not():
    m = Model()
    x = m.continuous("x", lower=-np.inf)
    m.minimize(x)
    m.add("row", x >= 1)
    raw = SolverResult(Status.OPTIMAL, np.array([1.0]), 1.0, row_duals=np.array([0.0]))
    assert solve_directly(m, Scripted(raw), Options()).status is Status.OPTIMAL


def test_an_answer_that_is_no_optimum_keeps_its_bound_whatever_its_duals():
    raw = SolverResult(Status.FEASIBLE, np.array([1.0]), 0.75, row_duals=np.array([0.0]))
    solution = solve_directly(covering("minimise", 0.0), Scripted(raw), Options())
    assert (solution.status, solution.bound) == (Status.FEASIBLE, 0.75)


# the point


@pytest.mark.parametrize(
    ("off", "value"), [(0.0, 0.0), (-1e-6, 0.0), (-1e-7, 0.0), (0.5, 0.5), (1 + 1e-7, 1.0)]
)
def test_a_point_that_is_out_of_its_bounds_by_the_tolerance_is_taken_back(off, value):
    raw = SolverResult(Status.FEASIBLE, np.array([off]), -1.0, Limit.TIME)
    solution = solve_directly(nine("minimise"), Scripted(raw), Options())
    assert solution.checked
    assert (solution["x"], solution.objective) == (value, 9 * value)


def test_a_failed_check_leaves_no_point_and_a_refuted_bound_leaves_it():
    raw = SolverResult(Status.OPTIMAL, np.array([1.1]), 9.9)
    failed = solve_directly(nine("maximise"), Scripted(raw), Options())
    assert (failed.status, failed.checked, failed.has_point) == (Status.ERROR, False, False)
    assert failed.objective is None
    refuted = answered("maximise", -1e-3)
    assert (refuted.status, refuted.checked, refuted.objective) == (Status.ERROR, True, 9.0)
    nothing = solve_directly(
        nine("minimise"), Scripted(SolverResult(Status.NO_SOLUTION, limit=Limit.TIME)), Options()
    )
    assert (nothing.checked, nothing.objective) == (False, None)
    no_bound = SolverResult(Status.FEASIBLE, np.array([1.0]), None, Limit.TIME)
    assert solve_directly(nine("minimise"), Scripted(no_bound), Options()).checked


def test_a_point_is_judged_by_the_model_as_written_not_by_what_it_was_lowered_to():
    m = Model()
    b, x = m.binary("b"), m.continuous("x", lower=1, upper=3)
    m.product(b, x, name="z")
    m.minimize(b)
    raw = SolverResult(Status.OPTIMAL, np.array([1.0, 2.0, 1.0]), 1.0)
    solution = solve_directly(m, Scripted(raw), Options())
    assert "breaks product 'z' by 0.5" in solution.message

    class Native(Scripted):
        native = frozenset({"product", "table"})

    assert "breaks product 'z'" in solve_directly(m, Native(raw), Options()).message


def test_columns_that_lowering_adds_are_no_values_and_a_start_says_nothing_of_them():
    m = Model()
    x = m.integer("x", (1, 2), upper=3)
    m.last_active(m.binary("on", 2), name="last")
    m.table([5.0, 3.0, 4.0, 4.0], x, name="f")
    m.minimize(m["f"].sum())
    point = np.array([1, 1, 0, 0, -1, 3, 3.0])
    engine = Scripted(SolverResult(Status.OPTIMAL, point, 6.0))
    columns = len(m.compile().cost)
    assert columns > m.columns
    engine.answer = SolverResult(
        Status.OPTIMAL, np.append(point, np.zeros(columns - m.columns)), 6.0
    )
    solution = solve_directly(m, engine, Options(warm_start={"last": 1, "x": [[2, np.inf]]}))
    assert (solution.status, solution.objective) == (Status.OPTIMAL, 6.0)
    np.testing.assert_array_equal(solution["x"], [[1, 1]])
    ((_, _, start),) = engine.asked
    told = np.full(columns, np.nan)
    told[[0, 4]] = 2, 1
    np.testing.assert_array_equal(start, told)


def test_an_engine_is_asked_once_unless_rounding_leaves_something_to_follow():
    right = Scripted(SolverResult(Status.OPTIMAL, np.array([1.0]), 9.0))
    solve_directly(nine("minimise"), right, Options())
    assert len(right.asked) == 1
    for kind in ("integer", "continuous"):
        m = Model()
        getattr(m, kind)("x", upper=1)
        wrong = Scripted(SolverResult(Status.OPTIMAL, np.array([3.0]), 0.0))
        assert solve_directly(m, wrong, Options()).status is Status.ERROR
        assert len(wrong.asked) == 1


def test_the_seconds_are_those_that_solving_took():
    began = time.perf_counter()
    solution = answered("minimise", 0.0)
    assert 0 < solution.seconds < time.perf_counter() - began


def test_what_has_nothing_to_decide_is_settled_without_asking():
    for least, status, value in ((0, Status.OPTIMAL, 7.0), (1, Status.INFEASIBLE, None)):
        m = Model()
        x = m.continuous("x", 0)
        m.add("row", x.sum() >= least)
        m.minimize(x.sum() + 7)
        engine = Scripted(SolverResult(Status.ERROR))
        solution = solve_directly(m, engine, Options())
        assert (solution.status, solution.objective, engine.asked) == (status, value, [])


# small costs


@pytest.mark.parametrize(
    ("cost", "scale"),
    [
        ([], 1), ([0.0], 1), ([0.0, 1e-3], 1), ([-2.0, 1e-3], 1),
        ([np.nextafter(1e-3, 0)], 512), ([-np.nextafter(1e-3, 0)], 512), ([5e-4], 1024),
        ([0.0, 2.0**-12], 4096), ([2.0**-12, 2.44], 4096), ([2.0**-12, 2.45], 2048),
        ([1e-6, 2500.0], 4), ([1e-6, -2500.1], 2), ([1e-6, 4000.0], 2), ([1e-6, 6000.0], 1),
        ([1e-6, 1e5], 1),
    ],
)  # fmt: skip
def test_small_costs_are_raised_to_one_by_a_power_of_two_as_far_as_the_large_ones_allow(
    cost, scale
):
    assert cost_scale(np.array(cost)) == scale


@pytest.mark.parametrize(
    ("cost", "scale"),
    [
        ([1.0, 1 + 2.0**-20], 2**20), ([1.0, -1 - 2.0**-20], 2**20),  # raised to differ by one
        ([1.0, 1 + 2.0**-30], 2**23),  # to ten million at most
        ([1.0, 1.0011], 1), ([1.0, 1.0009], 1024), ([1.0, 1 + 1e-13], 1),  # no tie, a tie, the same
        ([*range(1, 50), 1 + 2.0**-20], 2**17), ([*range(1, 51), 1 + 2.0**-20], 1),  # of few costs
    ],
)  # fmt: skip
def test_costs_that_nearly_tie_are_raised_to_differ_by_one_if_they_are_few(cost, scale):
    assert cost_scale(np.array(cost)) == scale


@pytest.mark.parametrize("solver", ["highs", "scip", "cbc", "scipy"])
def test_of_fleets_that_nearly_tie_the_cheapest_is_found(solver):
    """Five tasks fit on any two of three nodes, whose costs differ in the sixth decimal."""
    size, room = [482315, 482315, 482314, 964625, 964628], [2893883, 2893881, 2893882]
    m = Model()
    place, opened = m.binary("place", (5, 3)), m.binary("opened", 3)
    m.add("each", place.sum(axis=1) == 1)
    m.add("room", (place * np.array(size)[:, None]).sum(axis=0) - opened * np.array(room) <= 0)
    m.minimize(opened @ (np.array(room) * 1e-6))
    assert solve(m, solver).objective == pytest.approx(5.787763, abs=1e-9)


def test_an_engine_sees_costs_raised_and_its_answer_is_brought_back():
    m = Model()
    x = m.continuous("x", 2, upper=9)
    m.minimize(2.0**-12 * x[0] + 2.0**-11 * x[1] + 2.0**-10)
    m.add("row", x.sum() >= 3)
    raw = SolverResult(
        Status.OPTIMAL, np.array([3.0, 0.0]), 7.0, row_duals=np.array([1.0]),
        reduced_costs=np.array([0.0, 1.0]), scaling_error=0.5,
    )  # fmt: skip
    engine = Scripted(raw)
    solution = solve_directly(m, engine, Options(absolute_gap=2.0**-14))
    ((form, options, _),) = engine.asked
    np.testing.assert_array_equal(form.cost, [1, 2])
    assert (form.offset, options.absolute_gap) == (4.0, 0.25)
    assert (solution.status, solution.bound) == (Status.OPTIMAL, 7 / 4096)
    assert solution.objective == 7 / 4096
    assert solution.dual("row") == 1 / 4096
    np.testing.assert_array_equal(solution.reduced_costs["x"], [0, 1 / 4096])
    assert solution.scaling_error == 0.5 / 4096
    for short in (
        SolverResult(Status.FEASIBLE, np.array([3.0, 0.0])),
        SolverResult(Status.NO_SOLUTION, bound=2.0),
    ):
        answer = solve_directly(m, Scripted(short), Options())
        assert (answer.status, answer.bound) == (
            short.status,
            None if short.bound is None else 2 / 4096,
        )


def test_costs_that_are_only_doubled_are_doubled():
    m = Model()
    x = m.continuous("x", 2, upper=9)
    m.minimize(1e-6 * x[0] + 2500.1 * x[1])
    engine = Scripted(SolverResult(Status.OPTIMAL, np.zeros(2), 0.0))
    solve_directly(m, engine, Options())
    np.testing.assert_array_equal(engine.asked[0][0].cost, [2e-6, 5000.2])


def test_an_engine_with_exact_costs_sees_them_as_they_are():
    class Exact(Scripted):
        features = MIXED_INTEGER | {Feature.EXACT_COSTS}

    m = Model()
    m.minimize(2.0**-12 * m.continuous("x", upper=9))
    engine = Exact(SolverResult(Status.OPTIMAL, np.zeros(1), 0.0))
    assert solve_directly(m, engine, Options()).status is Status.OPTIMAL
    assert engine.asked[0][0].cost == [2.0**-12]
