"""Nonlinear blocks as CP-SAT's own: same optimum as enumeration and as their linear rows."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import Model, solve
from optsched.model import FEASIBILITY
from optsched.model.evaluate import evaluate
from optsched.solvers.backend import SolverResult
from optsched.solvers.cpsat.backend import CpSat
from optsched.solvers.cpsat.integer import integer_model
from optsched.solvers.cpsat.proto import build
from optsched.solvers.options import Options
from optsched.solvers.solution import Status

few = settings(deadline=None, max_examples=12)
seeds = st.integers(0, 10**6)
Rng = np.random.Generator


def whole(rng: Rng, low: int, high: int, *shape: int) -> np.ndarray:
    """Random integers in low..high as floats."""
    return rng.integers(low, high + 1, shape).astype(float)


def variables(rng: Rng, m: Model, count: int, width: int = 2) -> None:
    lower = whole(rng, -2, 1, count)
    m.integer("x", count, lower=lower, upper=lower + rng.integers(0, width + 1, count))


def with_objective(rng: Rng, m: Model) -> Model:
    """A row and an objective over all variables, either sense, some without weight."""
    columns = m.as_expression(0.0)
    row = m.as_expression(0.0)
    for v in m.variables.values():
        flat = v.reshape(v.size)
        columns = columns + flat @ (whole(rng, -3, 3, v.size) * rng.integers(0, 2, v.size))
        row = row + flat @ whole(rng, -1, 1, v.size)
    if rng.random() < 0.5:
        m.add("row", row <= float(rng.integers(0, 5)))
    (m.maximize if rng.random() < 0.5 else m.minimize)(columns)
    return m


# one small random model per kind of block; the factors, arguments and times are sums


def products(rng: Rng) -> Model:
    m = Model("products")
    variables(rng, m, 2, 3)
    b, x = m.binary("b"), m["x"]
    sort = int(rng.integers(0, 4))
    left = [x[0], x[0] * 2 - 1, x[0] - x[1], 1 - b][sort]
    right = [x[1], x[0] + 1, x[0] + x[1], x[0] + b][int(rng.integers(0, 4))]
    first, second = (left, right) if rng.random() < 0.5 else (right, left)
    m.product(first, second, name="z")
    return with_objective(rng, m)


def tables(rng: Rng) -> Model:
    m = Model("tables")
    variables(rng, m, 2, 3)
    x = m["x"]
    index = [x[0], 2 * x[0] - 1, x[0] + x[1]][int(rng.integers(0, 3))]
    m.table(whole(rng, -4, 4, int(rng.integers(1, 5))), index, name="z")
    return with_objective(rng, m)


def maxima(rng: Rng) -> Model:
    m = Model("maxima")
    variables(rng, m, 3, 2)
    arguments = whole(rng, -2, 2, int(rng.integers(1, 4)), 3) @ m["x"] + float(rng.integers(-2, 3))
    if rng.random() < 0.2:
        m.absolute(arguments[0], name="z")
    else:
        (m.maximum if rng.random() < 0.5 else m.minimum)(arguments, name="z")
    return with_objective(rng, m)


def chained(rng: Rng) -> Model:
    """A maximum that is an argument of another block."""
    m = Model("chained")
    variables(rng, m, 2, 2)
    x = m["x"]
    z = m.maximum(x[0], x[1] - 1, name="z")
    if rng.random() < 0.5:
        m.product(z, x[0], name="w")
    else:
        m.minimum(z * 2, x[1], name="w")
    return with_objective(rng, m)


def active_slots(rng: Rng) -> Model:
    m = Model("active slots")
    slots = int(rng.integers(1, 5))
    a = m.binary("a", (2, slots)) if slots < 4 else m.binary("a", (1, slots))
    active = a if rng.random() < 0.5 else 1 - a
    times = np.cumsum(whole(rng, 1, 2, slots)) - 3
    if rng.random() < 0.5:
        m.last_active(active, times, empty=times[0] - rng.integers(0, 3), name="z")
    else:
        m.first_active(active, times, empty=times[-1] + rng.integers(0, 3), name="z")
    return with_objective(rng, m)


def tasks(rng: Rng) -> Model:
    """Fixed lengths, some zero; presence, demand or capacity may be decided."""
    m = Model("tasks")
    start = m.integer("start", 3, upper=whole(rng, 1, 3, 3))
    length = whole(rng, 0, 3, 3)
    presence = m.binary("presence", 3) if rng.random() < 0.5 else None
    done = m.interval(start, length, start + length, presence=presence, name="tasks")
    demand = whole(rng, 0, 2, 3)
    capacity = float(rng.integers(1, 4))
    if presence is None and rng.random() < 0.5:
        extra = m.binary("extra", 3)
        m.cumulative(done, demand + extra, capacity, name="machine")
    elif rng.random() < 0.5:
        room = m.integer("room", lower=-1, upper=3)
        m.cumulative(done, demand, room + 0.0, name="machine")
    else:
        m.cumulative(done, demand, capacity, name="machine")
        m.cumulative(done, 1.0, 2.0, name="slots")
    return with_objective(rng, m)


def elastic_tasks(rng: Rng) -> Model:
    """Lengths and ends are variables of their own; lengths may be negative while absent."""
    m = Model("elastic tasks")
    start = m.integer("start", 2, upper=[1, 2])
    least = float(rng.integers(-1, 1))
    length = m.integer("length", 2, lower=least, upper=[least + 2, 1])
    end = m.integer("end", 2, upper=[3, 2])
    presence = m.binary("presence") if rng.random() < 0.5 else None
    done = m.interval(start, length, end, presence=presence, name="tasks")
    m.cumulative(done, whole(rng, 0, 2, 2), float(rng.integers(0, 4)), name="machine")
    m = with_objective(rng, m)
    return m.without("tasks") if rng.random() < 0.4 else m


def optional_demands(rng: Rng) -> Model:
    """Demands that are decided, of tasks that may be absent, alone or together."""
    m = Model("optional demands")
    start = m.integer("start", 2, upper=whole(rng, 0, 2, 2))
    length = whole(rng, 1, 2, 2)
    presence = m.binary("presence", () if rng.random() < 0.5 else 2)
    done = m.interval(start, length, start + length, presence=presence, name="tasks")
    ask = m.integer("ask", 2, upper=[1, 2])
    demand = (ask + whole(rng, 0, 2, 2)) * whole(rng, 0, 2, 2)
    m.cumulative(done, demand, float(rng.integers(0, 3)), name="machine")
    return with_objective(rng, m)


KINDS = [
    products,
    tables,
    maxima,
    chained,
    active_slots,
    tasks,
    elastic_tasks,
    optional_demands,
]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
Maker = Callable[[Rng], Model]


def points(m: Model) -> list[np.ndarray]:
    """Every point of the box that breaks nothing, as the model itself judges."""
    compiled = m.compile(m.kinds)
    spans = [np.arange(a, b + 1) for a, b in zip(compiled.lower, compiled.upper, strict=True)]
    box = (np.array(x) for x in itertools.product(*spans))
    return [x for x in box if not evaluate(compiled, x, FEASIBILITY)]


def best(m: Model, feasible: list[np.ndarray]) -> float:
    values = [m.compile(m.kinds).objective(x) for x in feasible]
    return max(values) if m.maximise else min(values)


@every_kind
@few
@given(seeds)
def test_the_optimum_is_that_of_enumeration_and_of_the_linear_rows(kind: Maker, seed):
    rng = np.random.default_rng(seed)
    m = kind(rng)
    extra = {"cp_model_presolve": False} if rng.random() < 0.3 else {}
    extra |= {"linearization_level": 2} if rng.random() < 0.3 else {}
    found, lowered = solve(m, solver="cpsat", extra=extra), solve(m, solver="highs")
    feasible = points(m)
    if not feasible:
        assert (found.status, lowered.status) == (Status.INFEASIBLE, Status.INFEASIBLE)
        return
    assert (found.status, lowered.status) == (Status.OPTIMAL, Status.OPTIMAL)
    assert found.checked
    assert m.violations(found.values) == []
    assert found.objective == found.bound == best(m, feasible)
    assert lowered.objective == pytest.approx(best(m, feasible), abs=1e-6)


@every_kind
@few
@given(seeds)
def test_a_feasible_start_is_known_to_the_solver_down_to_the_last_added_column(kind: Maker, seed):
    rng = np.random.default_rng(seed)
    m = kind(rng)
    feasible = points(m)
    if not feasible:
        return
    start = feasible[int(rng.integers(len(feasible)))]
    compiled = m.compile(CpSat.native)
    proto = build(integer_model(compiled, CpSat()), start)
    assert len(proto.solution_hint.vars) == len(proto.variables)
    fixed = {"fix_variables_to_their_hinted_value": True}
    raw = CpSat().solve(compiled, Options(extra=fixed), start)
    assert raw.x is not None
    assert np.array_equal(raw.x, start)


@every_kind
@few
@given(seeds)
def test_a_wrong_or_partial_start_does_no_harm(kind: Maker, seed):
    rng = np.random.default_rng(seed)
    m = kind(rng)
    compiled = m.compile(CpSat.native)
    start = np.where(rng.random(m.columns) < 0.5, np.nan, rng.integers(-9, 9, m.columns))
    first, second = (CpSat().solve(compiled, Options(), s) for s in (None, start))
    assert first.status is second.status
    assert first.bound == second.bound


# larger blocks, against their linear rows


def both(m: Model) -> None:
    """Both ways give the same optimum."""
    native, lowered = solve(m, solver="cpsat"), solve(m, solver="highs")
    assert native.status is lowered.status is Status.OPTIMAL
    assert native.objective == pytest.approx(lowered.objective, abs=1e-6)


def test_blocks_of_many_entries_agree_with_their_linear_rows():
    rng = np.random.default_rng(5)
    m = Model()
    x = m.integer("x", (2, 4), lower=-1, upper=2)
    shift = m.integer("shift", (2, 1), upper=1)
    m.product(x - shift.broadcast_to((2, 4)), x[:, ::-1], name="product")
    m.product(shift.broadcast_to((2, 4)), x, name="switched")
    m.table(whole(rng, -9, 9, 4), x + 1, name="table")
    m.maximum(x * whole(rng, -3, 3, 2, 4), name="greatest")
    m.minimum(x.reshape(4, 2), name="least")
    m.add("sum", x.sum(axis=0) <= 3)
    parts = [m[name] for name in ("product", "switched", "table", "greatest", "least")]
    total = x.sum()
    for part in parts:
        total = total + (part * whole(rng, -5, 5, *part.shape)).sum()
    m.maximize(total)
    both(m)


@pytest.mark.parametrize("seed", range(4))
def test_a_schedule_on_two_machines_agrees_with_its_linear_rows(seed):
    rng = np.random.default_rng(seed)
    m = Model()
    length = whole(rng, 1, 3, 5)
    start = m.integer("start", 5, upper=6)
    here = m.binary("here", 5)
    first = m.interval(start, length, start + length, presence=here)
    away = m.binary("away", 5)
    second = m.interval(start, length + 1, start + length + 1, presence=away)
    m.add("one", here + away == 1)
    m.cumulative(first, 1.0, 1.0)
    m.cumulative(second, whole(rng, 1, 2, 5), 2.0)
    m.cumulative(first, whole(rng, 0, 4, 5), 6.0)
    m.minimize(m.maximum(start + length) * 10 + start.sum())
    both(m)


# what the solver is given


def test_added_columns_stay_inside():
    m = Model()
    x = m.integer("x", 3, upper=5)
    z = m.product(x[0] + x[1], x[1] + x[2])
    m.add("least", x.sum() >= 3)
    m.minimize(z)
    compiled = m.compile(CpSat.native)
    assert len(build(integer_model(compiled, CpSat())).variables) > len(compiled.cost)
    raw: SolverResult = CpSat().solve(compiled, Options(), None)
    assert raw.x is not None
    assert raw.x.shape == (m.columns,)


@pytest.mark.parametrize(
    ("sign", "sense", "choice"), [(1, 1, False), (1, -1, True), (-1, 1, True), (-1, -1, False)]
)
def test_an_extremum_gets_a_choice_only_where_something_presses_against_it(sign, sense, choice):
    m = Model()
    x = m.integer("x", (4, 3), upper=9)
    z = m.maximum(x) if sign > 0 else m.minimum(x)
    m.minimize(sense * z.sum())
    proto = build(integer_model(m.compile(CpSat.native), CpSat()))
    assert len(proto.variables) - m.columns == (x.size if choice else 0)


@pytest.mark.parametrize("push", ["row", "indicator", "block"])
def test_rows_indicators_and_blocks_press_too(push):
    m = Model()
    x, b = m.integer("x", 3, upper=9), m.binary("b")
    z = m.maximum(x)
    if push == "row":
        m.add("up", z >= 2)
    elif push == "indicator":
        m.indicator(b, z >= 2)
    else:
        m.table([0.0, 4.0], z)
    m.minimize(z)
    assert len(build(integer_model(m.compile(CpSat.native), CpSat())).variables) > m.columns


def test_empty_blocks_are_no_constraints():
    m = Model()
    x = m.integer("x", 2, upper=3)
    none = x[:0]
    m.product(none, none + 1)
    m.table([1.0, 2.0], none)
    m.maximum(x.reshape(1, 2)[:0])
    m.last_active(m.binary("a", (0, 4)))
    m.interval(none, none, none)
    m.maximize(x.sum())
    assert solve(m, solver="cpsat").objective == 6.0


def test_a_sum_gets_a_column_of_its_own_where_the_solver_takes_single_ones():
    m = Model()
    x = m.integer("x", (2, 2), lower=-4, upper=[2, 3])
    m.all_different((x * [2, -1] + [0, 5]).sum(axis=1))
    proto = build(integer_model(m.compile(CpSat.native), CpSat()))
    assert [list(v.domain) for v in proto.variables][4:] == [[-6, 13], [-6, 13]]
    rows = [c.linear for c in proto.constraints][:2]
    assert [list(r.vars) for r in rows] == [[0, 1, 4], [2, 3, 5]]
    assert [list(r.coeffs) for r in rows] == [[2, -1, -1]] * 2
    assert [list(r.domain) for r in rows] == [[-5, -5]] * 2


def test_an_index_that_never_fits_is_infeasible():
    m = Model()
    m.table([1.0, 2.0], m.integer("x", lower=5, upper=9))
    assert solve(m, solver="cpsat").status is Status.INFEASIBLE
