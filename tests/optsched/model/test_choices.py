"""Special ordered sets, semi-continuous variables, routes, precedence, alternatives."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import Model, ModelError, solve
from optsched.analysis.lowering_report import explain_lowering
from optsched.model.blocks import SpecialOrdered
from optsched.model.latex import FormulaWriter
from optsched.solvers.registry import available
from optsched.testing import project

SOLVERS = ["highs", "scip", "cpsat", *(["gurobi"] if "gurobi" in available() else [])]


def one_of(m: Model) -> None:
    m.sos1(m.integer("x", 3, lower=[-1, 0, 0], upper=[1, 2, 1]), name="block")


def neighbours(m: Model) -> None:
    m.sos2(m.integer("x", 4, upper=[1, 2, 1, 1]), name="block")


def lots(m: Model) -> None:
    m.semi_integer("x", 2, lower=[2, -3], upper=[3, -2])


def tours(m: Model) -> None:
    tails, heads = np.nonzero(np.ones((3, 3)) - np.diag([1, 0, 0]))
    m.routes(m.binary("go", 8), tails, heads, name="block")


@pytest.mark.parametrize("state", [one_of, neighbours, lots, tours])
def test_rows_allow_the_points_that_the_block_allows(state):
    m = Model()
    state(m)
    found = project(m)
    assert found.stated == found.lowered
    assert found.stated


costs = st.lists(st.integers(-4, 4), min_size=4, max_size=4)
bounds = st.lists(st.tuples(st.integers(-2, 0), st.integers(0, 2)), min_size=4, max_size=4)


@settings(max_examples=20, deadline=None)
@given(costs, bounds, st.integers(-3, 5), st.sampled_from([1, 2]), st.sampled_from(SOLVERS))
def test_a_set_s_best_point_is_what_listing_all_finds(cost, ranges, most, order, solver):
    m = Model()
    x = m.integer("x", 4, lower=[low for low, _ in ranges], upper=[high for _, high in ranges])
    (m.sos1 if order == 1 else m.sos2)(x)
    m.add("most", x.sum() <= most)
    m.maximize(x @ np.array(cost, dtype=float))
    best = None
    for point in itertools.product(*(range(low, high + 1) for low, high in ranges)):
        on = np.flatnonzero(point)
        if sum(point) <= most and (not len(on) or on[-1] - on[0] < order):
            value = float(np.dot(cost, point))
            best = value if best is None else max(best, value)
    assert solve(m, solver).objective == pytest.approx(best, abs=1e-6)


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 3)), min_size=3, max_size=3),
    costs,
    st.integers(-4, 4),
    st.sampled_from(SOLVERS),
)
def test_semi_integers_are_nought_or_within_their_bounds(ranges, cost, least, solver):
    low = np.array([a for a, _ in ranges])
    high = low + [b for _, b in ranges]
    m = Model()
    x = m.semi_integer("x", 3, lower=low, upper=high)
    m.add("least", x.sum() >= least)
    m.minimize(x @ np.array(cost[:3], dtype=float))
    choices = [{0, *range(a, b + 1)} for a, b in zip(low.tolist(), high.tolist(), strict=True)]
    values = [np.dot(cost[:3], p) for p in itertools.product(*choices) if sum(p) >= least]
    solution = solve(m, solver)
    assert solution.has_point == bool(values)
    if values:
        assert solution.objective == pytest.approx(min(values), abs=1e-6)


def listed_routes(count: int, length: np.ndarray, vans: int) -> float:
    """The shortest routes of so many vans, by every order of customers and every way to cut it."""
    best = np.inf
    for order in itertools.permutations(range(1, count)):
        for cuts in itertools.combinations(range(1, count - 1), vans - 1):
            ends = [0, *cuts, count - 1]
            tours = [(0, *order[a:b], 0) for a, b in itertools.pairwise(ends)]
            best = min(best, sum(length[i, j] for t in tours for i, j in itertools.pairwise(t)))
    return best


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("vans", [1, 2, 3])
def test_the_shortest_routes_are_what_listing_finds(solver, vans):
    length = np.random.default_rng(vans).integers(1, 30, (5, 5)).astype(float)
    m = Model()
    tails, heads = np.nonzero(~np.eye(5, dtype=bool))
    go = m.binary("go", len(tails))
    m.routes(go, tails, heads)
    m.add("vans", go[tails == 0].sum() == vans)
    m.minimize(go @ length[tails, heads])
    assert solve(m, solver).objective == pytest.approx(listed_routes(5, length, vans))


@pytest.mark.parametrize("solver", SOLVERS)
def test_tasks_choose_machines_and_keep_their_order(solver):
    length = np.array([[4, 2], [3, 5], [2, 2]])
    m = Model("flexible shop")
    start, end = m.integer("start", 3, upper=14), m.integer("end", 3, upper=14)
    begin, on = m.integer("begin", (3, 2), upper=14), m.binary("on", (3, 2))
    jobs = m.interval(start, end - start, end)
    ways = m.interval(begin, length, begin + length, presence=on)
    m.alternative(jobs, ways)
    for machine in range(2):
        at, lasts = begin[:, machine], length[:, machine]
        taken = m.interval(at, lasts, at + lasts, presence=on[:, machine])
        m.cumulative(taken, 1, 1)
    one, then = (m.interval(start[k], end[k] - start[k], end[k]) for k in (0, 2))
    m.precedence(one, then, lag=1)
    m.minimize(m.maximum(end))
    best = min(finish(length, ways) for ways in itertools.product(range(2), repeat=3))
    assert solve(m, solver).objective == pytest.approx(best)


def finish(length: np.ndarray, ways: tuple[int, ...]) -> int:
    """The earliest end of all, job 2 at least 1 after job 0, by every order of starting."""
    best = 99
    for order in itertools.permutations(range(3)):
        free, ends = [0, 0], {}
        for job in order:
            machine = ways[job]
            begin = max(free[machine], ends.get(0, 99) + 1 if job == 2 else 0)
            ends[job] = free[machine] = begin + int(length[job, machine])
        best = min(best, max(ends.values()))
    return best


@pytest.mark.parametrize(
    ("state", "words", "latex"),
    [
        (one_of, "at most one of (x[0], x[1], x[2]) not 0", r"\mathrm{SOS}_1"),
        (neighbours, "two neighbours of", r"\mathrm{SOS}_2"),
        (lots, "x[0] = 0 or 2 <= x[0] <= 3", r"\{0\} \cup ["),
        (tours, "8 arcs form routes from node 0 through 3 nodes", r"\text{ are routes from } 0"),
    ],
)
def test_blocks_say_themselves_in_words_and_in_latex(state, words, latex):
    m = Model()
    state(m)
    (block,) = m.blocks.values()
    assert words in repr(m)
    assert latex in block.latex(FormulaWriter(m))
    assert explain_lowering(m, "highs")


def test_what_is_native_goes_over_as_it_is():
    m = Model()
    neighbours(m)
    assert m.kinds == {SpecialOrdered.kind}
    assert "begins" not in str(explain_lowering(m, "scip"))
    assert not m.compile({"special_ordered"}).rows.count


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (lambda m: m.sos1(m.continuous("x")), "needs an axis"),
        (lambda m: m.semicontinuous("x", 2, lower=1, upper=np.inf), "finite bounds"),
        (lambda m: m.semicontinuous("x", 2, lower=[1, 2, 3], upper=4), "do not fit its shape"),
        (lambda m: m.routes(m.binary("go", 1), [0], [0]), "the depot, node 0, has no loop"),
        (
            lambda m: m.alternative(m.interval(0, 2, 2), m.interval([0], [2], [2])),
            "one axis more, and a presence",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_sentence(state, said):
    with pytest.raises(ModelError, match=said):
        state(Model())


@pytest.mark.parametrize("solver", ["highs", "cpsat"])
def test_without_arcs_there_is_the_depot_alone(solver):
    m = Model()
    none = np.zeros(0, dtype=int)
    m.routes(m.binary("go", 0), none, none)
    m.maximize(m.integer("x", upper=2))
    found = solve(m, solver)
    assert (found.status, found.objective) == ("optimal", 2)
    assert not m.violations(found.values)


def test_without_a_bound_rows_name_the_variable_that_lacks_it():
    m = Model()
    m.sos1(m.continuous("x", 2))
    with pytest.raises(ModelError, match=r"x\[0\]"):
        solve(m, "highs")
