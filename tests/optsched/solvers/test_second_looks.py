"""What is made of an answer that may be had better: starts, further questions, limits."""

import threading
import time

import numpy as np
import pytest

from optsched import Model, solve
from optsched.solvers.backend import MIXED_INTEGER, Feature, SolverResult
from optsched.solvers.direct import solve_directly
from optsched.solvers.options import Options
from optsched.solvers.repairs.attempt import left
from optsched.solvers.solution import Limit, Progress, Status

SIGNS = {"minimise": 1.0, "maximise": -1.0}


class Series:
    """A back end that says one thing after the other, the last again and again."""

    name = "series"
    features = MIXED_INTEGER
    native = frozenset[str]()

    def __init__(self, *answers: SolverResult) -> None:
        self.answers = list(answers)
        self.forms: list = []
        self.threads: list[int] = []

    def version(self) -> str:
        return "0.1"

    def solve(self, compiled, options, start) -> SolverResult:
        self.forms.append(compiled)
        self.threads.append(threading.get_ident())
        return self.answers[min(len(self.forms), len(self.answers)) - 1]


# what a limit left without a point: the start


def stopped(start, *, limit=Limit.TIME, status=Status.NO_SOLUTION, x=None):
    m = Model()
    x_ = m.continuous("x", 2, upper=9)
    m.add("enough", x_.sum() >= 4)
    m.minimize(x_.sum())
    engine = Series(SolverResult(status, x, limit=limit))
    return solve_directly(m, engine, Options(warm_start={"x": start}))


def test_a_start_is_the_answer_where_a_limit_left_none():
    solution = stopped([3.0, 2.0])
    assert (solution.status, solution.objective, solution.limit) == (
        Status.FEASIBLE, 5.0, Limit.TIME)  # fmt: skip


@pytest.mark.parametrize("start", [[1.0, 2.0], [np.nan, 5.0]])
def test_a_start_that_breaks_a_row_or_is_not_whole_is_no_answer(start):
    solution = stopped(start)
    assert (solution.status, solution.objective) == (Status.NO_SOLUTION, None)


def test_a_start_is_no_answer_where_nothing_ended_the_solve():
    assert stopped([3.0, 2.0], limit=None).status is Status.NO_SOLUTION


def test_a_point_that_a_limit_left_is_kept_beside_a_start():
    solution = stopped([3.0, 1.0], status=Status.FEASIBLE, x=np.array([4.0, 4.0]))
    assert solution.objective == 8.0


# claims of infeasibility, and points that are known


def called_infeasible(least: float, off: float = 0.0, **options):
    m = Model()
    x = m.continuous("x", 2, lower=[0.0, -9.0], upper=9)
    m.add("enough", x.sum() >= least + off)
    m.minimize(x.sum())
    return solve_directly(m, Series(SolverResult(Status.INFEASIBLE)), Options(**options))


def test_a_known_point_refutes_that_there_is_none():
    assert called_infeasible(2.0).status is Status.INFEASIBLE
    refuted = called_infeasible(0.0)
    assert refuted.status is Status.ERROR
    assert "called infeasible, but the point nearest to zero satisfies the model" in refuted.message
    refuted = called_infeasible(2.0, warm_start={"x": [1.0, 1.0]})
    assert refuted.status is Status.ERROR
    assert "the start satisfies the model" in refuted.message


@pytest.mark.parametrize("start", [[1.0, 0.5], [np.nan, 3.0], [10.0, 0.0]])
def test_a_start_that_is_no_point_refutes_nothing(start):
    assert called_infeasible(2.0, warm_start={"x": start}).status is Status.INFEASIBLE


@pytest.mark.parametrize(("off", "status"), [(0.9e-9, Status.ERROR), (1.1e-9, Status.INFEASIBLE)])
def test_a_point_refutes_only_what_it_keeps_to_a_billionth(off, status):
    assert called_infeasible(0.0, off).status is status


# no end, or no point


@pytest.mark.parametrize("kind", ["continuous", "integer"])
def test_what_the_bounds_of_the_columns_hold_is_not_unbounded(kind):
    """CBC called a job in sequence behind a constant of 1e8 unbounded, whose cost is 0 at least."""
    m = Model()
    late = m.continuous("late")
    first = getattr(m, kind)("first", upper=1)
    m.add("after", late + 1e8 * first >= 1.5)
    m.minimize(late)
    said = SolverResult(Status.UNBOUNDED)
    solution = solve_directly(m, Series(said), Options())
    assert solution.status is Status.NO_SOLUTION
    assert "contradict" in solution.message
    m.minimize(-1 * late)
    assert solve_directly(m, Series(said), Options()).status is Status.UNBOUNDED


# large constants: a second look around the optimum


def opened(amount: float, *, status=Status.OPTIMAL, nodes: int, sense="minimise") -> SolverResult:
    """So much of ``x``, which costs 3 to open and 1 a unit; the rest of 5 costs 4 a unit."""
    value = SIGNS[sense] * (23 - 3 * amount)
    point = np.array([amount, 1.0, 5.0 - amount])
    return SolverResult(status, point, value, nodes=nodes)


def looked_at(engine, sense="minimise", constant=1e6, **options):
    m = Model()
    x = m.continuous("x", upper=1e7)
    y = m.binary("y")
    z = m.continuous("z", upper=5)
    m.add("open", x <= constant * y)
    m.add("enough", x + z >= 5)
    cost = x + 3 * y + 4 * z
    m.minimize(cost) if sense == "minimise" else m.maximize(-1 * cost)
    return solve_directly(m, engine, Options(**options))


@pytest.mark.parametrize("sense", SIGNS)
@pytest.mark.parametrize(("second", "taken"), [(7 / 6, 2), (1.0, 1), (5 / 6, 1)])
def test_behind_a_large_constant_the_better_of_two_looks_counts(sense, second, taken):
    engine = Series(opened(1.0, nodes=1, sense=sense), opened(second, nodes=2, sense=sense))
    solution = looked_at(engine, sense)
    assert len(engine.forms) == 2
    assert np.abs(engine.forms[1].rows.matrix.data).max() < 100
    assert (solution.status, solution.nodes) == (Status.OPTIMAL, taken)
    assert solution.objective == pytest.approx(SIGNS[sense] * (19.5 if taken == 2 else 20.0))


def test_a_second_look_that_is_no_optimum_counts_nothing():
    better = opened(7 / 6, nodes=2, status=Status.FEASIBLE)
    solution = looked_at(Series(opened(1.0, nodes=1), better))
    assert (solution.status, solution.nodes) == (Status.OPTIMAL, 1)


@pytest.mark.parametrize(("constant", "looks"), [(99_999.5, 1), (1e5, 2)])
def test_a_constant_is_large_from_a_hundred_thousand_on(constant, looks):
    engine = Series(opened(1.0, nodes=1))
    looked_at(engine, constant=constant)
    assert len(engine.forms) == looks


def test_a_second_look_is_warned_of_its_own_point_and_not_of_the_first():
    """Half a unit above a side of a million is within the tolerance of the row, and said."""
    m = Model()
    x, wide = m.continuous("x", upper=1e7), m.continuous("wide", upper=2e6)
    y, z = m.binary("y"), m.continuous("z", upper=5)
    m.add("open", x <= 1e6 * y)
    m.add("enough", x + z >= 5)
    m.add("most", wide <= 1e6)
    m.minimize(x + 3 * y + 4 * z)

    def point(amount, wide):
        x = np.array([amount, wide, 1.0, 5 - amount])
        return SolverResult(Status.OPTIMAL, x, 23 - 3 * amount)

    high, low = 1e6 + 0.5, 1e6
    kept = solve_directly(m, Series(point(1.0, high), point(5 / 6, low)), Options())
    assert "'most' is kept to within its tolerance only" in kept.message
    assert solve_directly(m, Series(point(1.0, low), point(5 / 6, high)), Options()).message == ""
    for first, second in ((high, low), (low, high)):
        engine = Series(point(1.0, first), point(7 / 6, second))
        said = solve_directly(m, engine, Options()).message
        assert ("'most' is kept" in said) == (second == high)


def test_only_the_first_look_is_listened_to():
    class Telling(Series):
        features = MIXED_INTEGER | {Feature.PROGRESS}

        def solve(self, compiled, options, start) -> SolverResult:
            options.on_progress(Progress(0.0, None))
            return super().solve(compiled, options, start)

    heard = []
    engine = Telling(opened(1.0, nodes=1))
    looked_at(engine, on_progress=heard.append)
    assert (len(engine.forms), len(heard)) == (2, 1)


# points that are none once their integers are whole


def switched_off(*answers):
    """What is made of answers to: x up to 2 unless y, which is of no cost, switches it off."""
    m = Model()
    x, y = m.continuous("x", upper=2), m.binary("y")
    m.add("off", x + 10 * y <= 10)
    m.minimize(x)
    engine = Series(*answers)
    return solve_directly(m, engine, Options()), engine


def test_the_rest_of_a_point_follows_its_whole_numbers():
    off = SolverResult(Status.FEASIBLE, np.array([1.0, 0.9]), 0.0, Limit.TIME)
    mended, engine = switched_off(off, SolverResult(Status.OPTIMAL, np.array([0.0, 1.0]), 0.0))
    assert (mended.status, mended.objective, mended.limit) == (Status.FEASIBLE, 0.0, Limit.TIME)
    np.testing.assert_array_equal([engine.forms[1].lower[1], engine.forms[1].upper[1]], [1, 1])
    for rest in (SolverResult(Status.INFEASIBLE), off):
        solution, engine = switched_off(off, rest)
        assert (solution.status, len(engine.forms)) == (Status.ERROR, 2)
        assert "breaks row 'off' by 1" in solution.message


def test_an_optimum_without_a_point_is_an_error_whatever_may_be_rounded():
    solution, engine = switched_off(SolverResult(Status.OPTIMAL, None, 0.0))
    assert (solution.status, len(engine.forms)) == (Status.ERROR, 1)


def test_a_point_in_hand_refutes_that_both_halves_are_infeasible():
    none = SolverResult(Status.INFEASIBLE)
    between = SolverResult(Status.OPTIMAL, np.array([1.0, 0.9]), -1.0)
    rest = SolverResult(Status.OPTIMAL, np.array([0.0, 1.0]), 0.0)
    solution, engine = switched_off(between, rest, none)
    assert (solution.status, solution.objective, solution.bound) == (Status.FEASIBLE, 0.0, -1.0)
    assert len(engine.forms) == 4
    assert switched_off(between, none)[0].status is Status.INFEASIBLE


class Between(Series):
    """Says 0.4 of what is to be whole, and the truth where it is settled."""

    def solve(self, compiled, options, start) -> SolverResult:
        self.forms.append(compiled)
        low, high = compiled.lower[1], compiled.upper[1]
        if low < high:
            return SolverResult(Status.OPTIMAL, np.array([4.0, 0.4]), -5.0)
        return SolverResult(Status.OPTIMAL, np.array([10.0 * low, low]), -5.0 * low)


@pytest.mark.parametrize("limit", [None, 1e3])
def test_a_point_between_whole_numbers_is_split_until_the_optimum_is_whole(limit):
    m = Model()
    x, y = m.continuous("x", upper=10), m.binary("y")
    m.add("open", x <= 10 * y)
    m.minimize(5 * y - x)
    engine = Between()
    solution = solve_directly(m, engine, Options(time_limit=limit))
    assert (solution.status, solution.objective, solution.bound) == (Status.OPTIMAL, -5.0, -5.0)
    assert len(engine.forms) == 4  # the model, the rest of its point, and two halves


# limits


@pytest.mark.parametrize(("spent", "there"), [(0.5, None), (4.0, 96.0), (200.0, 1e-3)])
def test_what_is_left_of_a_limit_counts_after_a_hundredth_of_it(spent, there):
    options = Options(time_limit=100.0)
    found = left(options, time.perf_counter() - spent)
    assert found is options if there is None else found.time_limit == pytest.approx(there, abs=0.5)
    assert left(Options(), -spent).time_limit is None


@pytest.mark.parametrize(
    ("here", "options"),
    [(True, {}), (True, {"time_limit": 9.0, "profile": "tiny"}), (False, {"time_limit": 9.0})],
)
def test_a_solve_under_a_limit_is_watched_from_another_thread(here, options):
    m = Model()
    m.minimize(m.continuous("x", upper=1))
    engine = Series(SolverResult(Status.OPTIMAL, np.zeros(1), 0.0))
    assert solve(m, engine, **options).status is Status.OPTIMAL
    assert (engine.threads == [threading.get_ident()]) is here


def test_what_cannot_be_sent_to_the_process_that_was_asked_for_is_an_error():
    m = Model()
    m.minimize(m.continuous("x", upper=1))
    engine = Series(SolverResult(Status.OPTIMAL, np.zeros(1), 0.0))
    engine.lock = threading.Lock()
    assert "pickle" in solve(m, engine, isolate=True).message


def test_what_scips_presolve_calls_infeasible_is_found_without_it():
    m = Model()
    x = m.integer("x", 2, lower=[-1, 0], upper=[0, 4])
    m.rotated_cone(2 * x[0] - x[1] + 4, 2.0, m.stack(x[0] - 2 * x[1] + 4, 0 * x[0]))
    squares = m.sum_of_squares(m.stack(2 * x[0] - x[1] + 3, -x[1]))
    m.maximize(-4 * x[0] + 4 * x[1] - squares + 1)
    solution = solve(m, "scip")
    assert solution.objective == pytest.approx(8.0)  # at x = (-1, 1)
    np.testing.assert_allclose(solution["x"], [-1, 1], atol=1e-6)
