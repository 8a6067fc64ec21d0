"""CP-SAT as a back end: every status, every refusal, every option."""

import itertools
import math
import subprocess
import sys
import threading
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solver_models import interrupted, knapsack, market_split, with_time_for_a_point

from optsched.errors import InputError, UnsupportedError
from optsched.model import FEASIBILITY, Model
from optsched.model.evaluate import evaluate
from optsched.solvers.backend import SolverResult
from optsched.solvers.cpsat.backend import CpSat
from optsched.solvers.cpsat.integer import integer_model
from optsched.solvers.cpsat.proto import build
from optsched.solvers.options import Options
from optsched.solvers.solution import Limit, Status


def run(model: Model, start: np.ndarray | None = None, **options) -> SolverResult:
    return CpSat().solve(model.compile({"indicator"}), Options(**options), start)


def elastic_start(m: Model) -> np.ndarray:
    """A feasible point of the market split: take nothing."""
    compiled = m.compile()
    x = np.zeros(m.columns)
    first, (rows,) = compiled.column_blocks["under"]
    x[first : first + rows] = compiled.rows.lower
    return x


def feasible(m: Model, raw: SolverResult) -> bool:
    return raw.x is not None and not evaluate(m.compile({"indicator"}), raw.x, FEASIBILITY)


# how a solve ends


def test_a_proven_optimum_comes_with_the_same_bound():
    raw = run(knapsack())
    assert raw.status is Status.OPTIMAL
    assert raw.x is not None
    assert raw.x.tolist() == [0, 1, 1]
    assert (raw.bound, raw.limit, raw.scaling_error) == (9.5, None, 0.0)


def test_a_model_without_objective_is_solved_by_any_point():
    m = Model()
    x = m.integer("x", 2, lower=-3, upper=3)
    m.add("sum", x.sum() == 5)
    raw = run(m)
    assert raw.status is Status.OPTIMAL
    assert feasible(m, raw)
    assert raw.bound == 0.0


def test_a_time_limit_leaves_a_point_and_a_bound():
    m = market_split()
    raw = with_time_for_a_point(lambda t: run(m, time_limit=t), 1.0)
    assert (raw.status, raw.limit) == (Status.FEASIBLE, Limit.TIME)
    assert feasible(m, raw)
    assert raw.x is not None
    assert raw.bound is not None
    assert raw.bound <= m.compile().objective(raw.x)
    assert raw.nodes is not None


def test_a_time_limit_before_any_point_proves_nothing():
    raw = run(market_split(elastic=False), time_limit=0.2)
    assert (raw.status, raw.limit, raw.x) == (Status.NO_SOLUTION, Limit.TIME, None)


def test_a_search_cut_off_at_once_claims_no_bound_beyond_the_box():
    m = Model()
    x = m.binary("x", 3000)
    m.maximize(x @ np.arange(1.0, 3001.0))
    m.add("half", x.sum() <= 1500)
    m.add("pairs", x[:-1] + x[1:] <= 1)
    raw = run(m, time_limit=1e-6)
    assert raw.bound is not None
    assert raw.bound >= sum(range(2, 3001, 2))


def test_infeasibility_is_a_status():
    m = knapsack()
    m.add("all", m["take"].sum() >= 3)
    assert run(m).status is Status.INFEASIBLE


def test_bounds_with_no_integer_between_are_infeasible():
    m = Model()
    m.integer("x", 2, lower=[0, 0.25], upper=[1, 0.75])
    raw = run(m)
    assert raw.status is Status.INFEASIBLE
    assert "x[1]" in raw.message


def test_a_model_the_solver_refuses_is_an_error_with_its_words():
    raw = run(knapsack(), extra={"max_time_in_seconds": -1.0})
    assert raw.status is Status.ERROR
    assert "max_time_in_seconds" in raw.message


def test_setting_the_stop_event_ends_with_the_incumbent():
    m = market_split()
    raw = interrupted(lambda stop: run(m, stop=stop, time_limit=60), 0.7)
    assert (raw.status, raw.limit) == (Status.INTERRUPTED, None)
    assert feasible(m, raw)
    assert raw.bound is not None


def test_a_stop_set_beforehand_still_ends_the_solve():
    stop = threading.Event()
    stop.set()
    assert run(market_split(), stop=stop, time_limit=60).status is Status.INTERRUPTED


def test_ctrl_c_ends_with_the_incumbent():
    m = market_split()
    raw = interrupted(lambda _: run(m, time_limit=60), 0.7, by_signal=True)
    assert raw.status is Status.INTERRUPTED
    assert feasible(m, raw)
    assert raw.bound is not None


def test_a_relative_gap_asked_for_ends_feasible_within_it():
    rng = np.random.default_rng(3)
    m = Model()
    x = m.binary("x", 60)
    worth = rng.integers(50, 150, 60).astype(float)
    m.maximize(x @ worth)
    m.add("room", rng.integers(1, 100, (8, 60)).astype(float) @ x <= 1000)
    raw = run(m, gap=0.2, time_limit=60)
    assert (raw.status, raw.limit) == (Status.FEASIBLE, Limit.GAP)
    assert raw.x is not None
    assert raw.bound is not None
    assert 0 < raw.bound - worth @ raw.x <= 0.2 * (worth @ raw.x)


def test_an_absolute_gap_counts_in_objective_units():
    m = market_split(rows=3, items=30)
    m.minimize((m["over"] + m["under"]).sum() * 0.001)
    raw = run(m, absolute_gap=10.0, time_limit=60)
    assert (raw.status, raw.limit) == (Status.FEASIBLE, Limit.GAP)
    assert raw.x is not None
    assert raw.bound is not None
    assert m.compile().objective(raw.x) - raw.bound <= 10.0


def test_a_search_ended_by_an_expert_limit_says_which_kind():
    raw = run(market_split(), extra={"max_number_of_conflicts": np.int64(10)})
    assert (raw.status, raw.limit) == (Status.FEASIBLE, Limit.NODES)
    assert raw.message


# what it refuses


def test_a_continuous_variable_is_refused_by_name():
    m = knapsack()
    m.continuous("slack", (2, 2), upper=1.0)
    with pytest.raises(UnsupportedError, match=r"slack\[0, 0\] is continuous"):
        run(m)


@pytest.mark.parametrize(("lower", "upper"), [(0, np.inf), (-np.inf, 0), (0, 1e300)])
def test_a_variable_without_finite_bounds_is_refused_by_name(lower, upper):
    m = knapsack()
    m.integer("count", 2, lower=lower, upper=upper)
    with pytest.raises(UnsupportedError, match=r"finite bounds.*count\[0\]"):
        run(m)


@pytest.mark.parametrize("numbers", [[0.1, 1e9, math.pi], [1e200, 1.0, 1.0]])
def test_a_row_64_bits_cannot_hold_is_refused_by_block(numbers):
    m = Model()
    x = m.integer("x", 3, lower=-1e15, upper=1e15)
    m.add("fine", x.sum() <= 1)
    m.add("wide", x @ np.array(numbers) <= 1)
    with pytest.raises(UnsupportedError, match="block 'wide'"):
        run(m)


def test_an_objective_64_bits_cannot_hold_is_refused():
    m = Model()
    x = m.integer("x", 2, upper=9)
    m.minimize(x @ np.array([1e150, 1.0]))
    with pytest.raises(UnsupportedError, match=r"objective.*x\[0\]"):
        run(m)


def test_large_integers_do_not_overflow():
    m = Model()
    x = m.integer("x", 4, lower=-(2.0**20), upper=2.0**20)
    a = np.array([2.0**38, -(2.0**36), 2.0**35, 2.0**34])
    m.add("row", x @ a <= 0)
    m.maximize(x @ a)
    m.add("order", x[:-1] >= x[1:])
    raw = run(m, time_limit=30)
    assert raw.status is Status.OPTIMAL
    assert feasible(m, raw)
    assert raw.bound == 0.0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("no_such_parameter", 1),
        ("clear_num_workers", 1),
        ("num_workers", "four"),
        ("random_seed", 2**40),
        ("search_branching", "NO_SUCH_SEARCH"),
        ("ignore_subsolvers", 3),
    ],
)
def test_a_parameter_cpsat_does_not_know_is_refused_by_name(name, value):
    with pytest.raises(InputError, match=name):
        run(knapsack(), extra={name: value})


# what it supports


def test_parameters_reach_the_solver_whatever_numpy_type_they_have():
    extra = {
        "num_workers": np.int64(2),
        "max_deterministic_time": np.float32(5),
        "cp_model_presolve": np.bool_(False),
        "search_branching": "FIXED_SEARCH",
        "ignore_subsolvers": ["core"],
    }
    assert run(knapsack(), extra=extra).status is Status.OPTIMAL


def test_threads_and_seed_are_taken():
    assert run(knapsack(), threads=2, seed=2**31 - 1).bound == 9.5


def test_the_log_is_shown_when_asked(capsys):
    m = knapsack()
    m.maximize(m["take"] @ np.array([0.6, 0.5, 0.4]))
    run(m)
    assert capsys.readouterr().out == ""
    run(m, log=True)
    shown = capsys.readouterr().out
    assert "CP-SAT" in shown
    assert "units of 0.1" in shown


def test_a_feasible_start_is_never_lost():
    m = market_split()
    start = elastic_start(m)
    worst = m.compile().objective(start)
    for time_limit in (1e-6, 0.05):
        raw = run(m, start, time_limit=time_limit)
        assert (raw.status, raw.limit) == (Status.FEASIBLE, Limit.TIME)
        assert feasible(m, raw)
        assert raw.x is not None
        assert m.compile().objective(raw.x) <= worst


def test_a_wrong_or_partial_start_does_no_harm():
    for start in ([1.0, 1.0, 1.0], [np.nan, 1.0, np.nan], [7.0, -7.0, 0.5], [np.inf, 0.0, 0.0]):
        assert run(knapsack(), np.array(start)).bound == 9.5


def test_only_known_values_of_a_start_become_hints():
    proto = build(integer_model(knapsack().compile(), CpSat()), np.array([np.nan, 1.0, 0.0]))
    assert list(proto.solution_hint.vars) == [1, 2]
    assert list(proto.solution_hint.values) == [1, 0]


def test_rows_without_sides_are_left_out():
    m = knapsack()
    m.add("free", m["take"] <= np.array([np.inf, 1.0, np.inf]))
    assert len(build(integer_model(m.compile(), CpSat())).constraints) == 2


def test_rows_alike_and_rows_each_their_own_give_the_same_model():
    rng = np.random.default_rng(0)
    for matrix in (rng.integers(0, 2, (12, 6)), rng.integers(-9, 10, (12, 6))):
        m = Model()
        x = m.binary("x", 6)
        m.add("rows", matrix.astype(float) @ x <= 4)
        proto = build(integer_model(m.compile(), CpSat()))
        for row, constraint in zip(matrix, proto.constraints, strict=True):
            dense = np.zeros(6, dtype=int)
            dense[list(constraint.linear.vars)] = list(constraint.linear.coeffs)
            assert np.array_equal(dense, row)


# against enumeration

small = settings(deadline=None, max_examples=40)
kinds = st.sampled_from(["integer", "tenths", "sevenths", "real"])


def numbers(rng: np.random.Generator, kind: str, *shape: int) -> np.ndarray:
    if kind == "real":
        return rng.normal(size=shape) * math.pi
    k = rng.integers(-30, 31, shape).astype(float)
    return k / {"integer": 1.0, "tenths": 10.0, "sevenths": 7.0}[kind]


def random_model(seed: int, kind: str) -> Model:
    rng = np.random.default_rng(seed)
    m = Model()
    lower = rng.integers(-3, 1, 3).astype(float)
    x = m.integer("x", 3, lower=lower, upper=lower + rng.integers(0, 4, 3))
    b = m.binary("b", 2)
    m.add("rows", numbers(rng, kind, 2, 3) @ x <= numbers(rng, kind, 2) + 3)
    m.indicator(
        [b[0], b[1]],
        x @ numbers(rng, kind, 3) >= numbers(rng, kind, 1)[0],
        active=[bool(v) for v in rng.random(2) < 0.5],
        name="if",
    )
    objective = x @ numbers(rng, kind, 3) + b @ numbers(rng, kind, 2) + numbers(rng, kind, 1)[0]
    (m.maximize if rng.random() < 0.5 else m.minimize)(objective)
    return m


def optimum(m: Model, tolerance: float) -> Fraction | None:
    """By enumeration, objective in exact arithmetic, rows to a tolerance."""
    compiled = m.compile({"indicator"})
    spans = [
        range(math.ceil(low), math.floor(high) + 1)
        for low, high in zip(compiled.lower, compiled.upper, strict=True)
    ]
    values = [
        exact_value(m, x)
        for x in itertools.product(*spans)
        if not evaluate(compiled, np.array(x, dtype=float), tolerance)
    ]
    return min(values, key=lambda v: -v if compiled.maximise else v, default=None)


def exact_value(m: Model, x) -> Fraction:
    compiled = m.compile({"indicator"})
    terms = zip(compiled.cost, x, strict=True)
    total = sum((Fraction(float(c)) * int(v) for c, v in terms), Fraction(0))
    return total + Fraction(compiled.offset)


@small
@given(st.integers(0, 10**6), kinds)
def test_the_answer_is_that_of_enumeration_and_the_bound_is_true(seed, kind):
    m = random_model(seed, kind)
    sign = -1 if m.maximise else 1
    raw = run(m)
    exact, near = optimum(m, 0.0), optimum(m, 1e-9)
    if raw.status is Status.INFEASIBLE:
        assert exact is None
        return
    assert raw.status is Status.OPTIMAL
    assert feasible(m, raw)
    assert raw.bound is not None
    if exact is not None:
        assert sign * Fraction(raw.bound) <= sign * exact
    value, best = exact_value(m, raw.x), exact if kind == "real" else near
    assert best is not None
    assert sign * value <= sign * best + Fraction(2e-9) * max(abs(value), Fraction(1, 10**6))
    assert sign * (value - Fraction(raw.bound)) <= Fraction(2e-9) * max(1, abs(value))
    if kind == "integer":
        assert value == exact == Fraction(raw.bound)


@small
@given(st.integers(0, 10**6))
def test_many_indicators_at_once_agree_with_enumeration(seed):
    rng = np.random.default_rng(seed)
    m = Model()
    on = m.binary("on", 3)
    x = m.integer("x", 3, lower=-1, upper=1)
    active = bool(rng.random() < 0.5)
    rhs = rng.integers(-3, 4, 3).astype(float)
    m.indicator(on, x * 2.0 <= rhs, active=active, name="each")
    m.indicator(on[:2], x[1:] == x[:2], active=not active, name="equal")
    m.maximize(x.sum() + on @ rng.integers(-3, 4, 3).astype(float))
    raw = run(m)
    best = optimum(m, 0.0)
    if best is None:
        assert raw.status is Status.INFEASIBLE
    else:
        assert raw.status is Status.OPTIMAL
        assert exact_value(m, raw.x) == best == Fraction(raw.bound)


def test_an_objective_rounded_too_coarsely_for_a_proof_is_not_called_optimal():
    m = Model()
    x = m.integer("x", 2, upper=2.0**30)
    m.minimize(x @ np.array([math.pi, -math.pi * (1 + 2.0**-49)]))
    m.add("level", x[0] == x[1])
    raw = run(m, time_limit=20)
    assert (raw.status, raw.limit) == (Status.FEASIBLE, Limit.GAP)
    assert raw.scaling_error > 0
    assert str(f"{raw.scaling_error:g}") in raw.message
    assert raw.bound is not None
    assert Fraction(raw.bound) <= exact_value(m, [2**30, 2**30])


# the package


def test_the_version_is_that_of_ortools():
    import ortools

    assert ortools.__version__.startswith(CpSat().version())


@pytest.mark.parametrize("order", [("highspy", "cp_model"), ("cp_model", "highspy")])
def test_highs_and_cpsat_live_in_one_process_in_either_order(order):
    imports = {"highspy": "import highspy", "cp_model": "from ortools.sat.python import cp_model"}
    code = f"""
{imports[order[0]]}
{imports[order[1]]}
import numpy as np
h = highspy.Highs()
h.setOptionValue("output_flag", False)
x, y = h.addBinary(), h.addBinary()
h.addConstr(x + y <= 1)
h.maximize(2 * x + y)
assert h.getInfo().objective_function_value == 2.0
m = cp_model.CpModel()
a, b = m.new_bool_var("a"), m.new_bool_var("b")
m.add(a + b <= 1)
m.maximize(2 * a + b)
s = cp_model.CpSolver()
s.solve(m)
assert s.objective_value == 2.0
print("both")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.strip() == "both", done.stderr
