"""All different, circuits, elements, piecewise functions, orders on a machine, soft rows."""

import itertools

import numpy as np
import pytest

from optsched import Model, ModelError, explain, solve
from optsched.analysis.lowering_report import explain_lowering
from optsched.model.blocks import AllDifferent, Circuit, Element, Piecewise
from optsched.testing import project


def different(m: Model) -> None:
    m.all_different(m.integer("x", 3, lower=-1, upper=[1, 2, 1]), name="block")


def element(m: Model) -> None:
    n = m.integer("n", upper=2)
    m.element(m.integer("x", 2, lower=-1, upper=[1, 2]), n, name="block")


def tour(m: Model) -> None:
    tails, heads = np.nonzero(np.ones((3, 3)))
    m.circuit(m.binary("go", 9), tails, heads, name="block")


@pytest.mark.parametrize("state", [different, element, tour])
def test_rows_allow_the_points_that_the_block_allows(state):
    m = Model()
    state(m)
    found = project(m)
    assert found.stated == found.lowered
    assert found.stated


def tours(count: int) -> set[frozenset[tuple[int, int]]]:
    """Sets of arcs, loops at nodes left out, by listing every order of every set of nodes."""
    found = {frozenset((i, i) for i in range(count))}
    for size in range(2, count + 1):
        for nodes in itertools.permutations(range(count), size):
            arcs = set(zip(nodes, (*nodes[1:], nodes[0]), strict=True))
            found.add(frozenset(arcs | {(i, i) for i in range(count) if i not in nodes}))
    return found


def test_a_circuit_is_a_tour_and_the_loops_of_nodes_left_out():
    m = Model()
    tour(m)
    ends = list(itertools.product(range(3), repeat=2))
    block, allowed = m.blocks["block"], tours(3)
    for chosen in itertools.product((0.0, 1.0), repeat=9):
        arcs = frozenset(end for end, on in zip(ends, chosen, strict=True) if on)
        assert (block.excess(np.array(chosen)) <= 0) == (arcs in allowed)


@pytest.mark.parametrize("solver", ["highs", "cpsat"])
@pytest.mark.parametrize("seed", range(3))
def test_the_shortest_tour_is_what_listing_finds(solver, seed):
    length = np.random.default_rng(seed).integers(1, 30, (6, 6)).astype(float)
    m = Model()
    tails, heads = np.nonzero(~np.eye(6, dtype=bool))
    go = m.binary("go", 30)
    m.circuit(go, tails, heads)
    m.minimize(go @ length[tails, heads])
    orders = (np.array([0, *rest]) for rest in itertools.permutations(range(1, 6)))
    best = min(length[order, np.roll(order, -1)].sum() for order in orders)
    assert solve(m, solver).objective == best


@pytest.mark.parametrize("solver", ["highs", "scip"])
@pytest.mark.parametrize("sense", ["minimize", "maximize"])
def test_a_piecewise_function_is_numpys_interpolation(solver, sense):
    rng = np.random.default_rng(1)
    points, values = np.array([-2.0, 0.0, 1.0, 4.0]), np.array([3.0, -1.0, 2.0, 0.0])
    at = rng.uniform(-2, 4, 5)
    m = Model()
    x = m.continuous("x", 5, lower=-9, upper=9)
    z = m.piecewise(x, points, values)
    m.add("fixed", x == at)
    getattr(m, sense)(z.sum())
    found = solve(m, solver)
    np.testing.assert_allclose(found[z.name], np.interp(at, points, values), atol=1e-6)
    m = m.without("fixed")
    getattr(m, sense)(z[0])
    assert solve(m, solver).objective == pytest.approx(-1 if sense == "minimize" else 3)


def test_a_point_is_checked_against_the_statements():
    m = Model()
    x = m.integer("x", 3, upper=5)
    m.all_different(x, name="apart")
    z, y = (
        m.element(x, m.integer("n", upper=3), name="z"),
        m.piecewise(x[0], [1, 3], [2, 6], name="y"),
    )
    assert (z.shape, y.shape) == ((), ())
    good = {"x": [1, 2, 3], "n": 1, "z": 2, "y": 2}
    assert m.violations(good) == []
    for change, block in (
        ({"x": [1, 2, 2]}, "apart"), ({"z": 3}, "z"), ({"n": 3}, "z"), ({"y": 3}, "y"),
        ({"x": [0, 2, 3]}, "y"),
    ):  # fmt: skip
        assert [v.block for v in m.violations(good | change)] == [block]


STATED = {
    different: (AllDifferent, "all different (x[0], x[1], x[2])", r"\text{ all different}"),
    element: (Element, "block = (x[0], x[1])[n]", r"_{n}"),
    tour: (Circuit, "9 arcs form a circuit of 3 nodes", r"\text{ is a circuit}"),
    lambda m: m.piecewise(m.continuous("x", upper=2), [0, 1, 2], [0, 3, 1], name="block"): (
        Piecewise, "block = (0: 0, 1: 3, 2: 1)[x]", r"f\bigl(x\bigr)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("state", STATED)
def test_a_block_says_itself_in_words_and_in_latex_and_tells_its_lowering(state):
    kind, words, latex = STATED[state]
    m = Model()
    state(m)
    assert isinstance(m.blocks["block"], kind)
    assert words in repr(m)
    assert latex in m._repr_html_()
    (report,) = explain_lowering(m, "highs").blocks
    assert (report.kind, report.native) == (kind.kind, False)
    assert kind.how in report.why


def test_cpsat_takes_orders_as_they_are():
    m = Model()
    different(m)
    assert all(report.native for report in explain_lowering(m, "cpsat").blocks)


def test_a_conflict_names_the_rows_that_cannot_differ():
    m = Model()
    m.all_different(m.integer("x", (2, 3), upper=np.array([[5] * 3, [1] * 3])), name="rows")
    (member,) = explain(m).members
    assert member.text == "rows[1]: all different (x[1, 0], x[1, 1], x[1, 2])"


@pytest.mark.parametrize("solver", ["highs", "cpsat"])
@pytest.mark.parametrize("seed", range(3))
def test_tasks_with_set_ups_end_when_listing_every_order_says(solver, seed):
    rng = np.random.default_rng(seed)
    length, setup = rng.integers(1, 5, 4), rng.integers(0, 4, (4, 4))
    m = Model()
    start = m.integer("start", 4, upper=40)
    first = m.no_overlap(start, length, setup, name="machine")
    m.minimize(m.maximum(start + length))
    best = min(
        length.sum() + sum(setup[i, j] for i, j in itertools.pairwise(order))
        for order in itertools.permutations(range(4))
    )
    solution = solve(m, solver)
    assert solution.objective == best
    i, j = np.triu_indices(4, 1)
    np.testing.assert_array_equal(
        solution[first.name] == 1, solution["start"][i] < solution["start"][j]
    )


@pytest.mark.parametrize("solver", ["highs", "cpsat"])
def test_what_is_given_up_of_soft_rows_is_a_variable(solver):
    m = Model()
    x = m.integer("x", 3, upper=6)
    m.add("need", x.sum() == 12)
    above, within = m.soft("above", x[:2] <= 1), m.soft("within", x[1:].between(3, 5))
    m.minimize(2 * above.sum() + 3 * within.sum())
    solution = solve(m, solver)
    assert solution.objective == 10.0
    x = solution["x"]
    np.testing.assert_array_equal(solution["above"], np.maximum(0, x[:2] - 1))
    np.testing.assert_array_equal(
        solution["within"], np.maximum(0, np.maximum(3 - x[1:], x[1:] - 5))
    )
    assert m["above"].upper.tolist() == [5, 5]


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        (lambda m, x: m.all_different(m.continuous("c", 2)), "must be integer"),
        (lambda m, x: m.all_different(x[0]), "a single value differs from nothing"),
        (lambda m, x: m.element(m.integer("a", (2, 2)), x[0]), r"not shape \(2, 2\)"),
        (lambda m, x: m.element(x, m.continuous("c")), "index of an element must be integer"),
        (lambda m, x: m.piecewise(x, [0], [1]), "at least two"),
        (lambda m, x: m.piecewise(x, [0, 2, 1], [1, 2, 3]), "points must increase"),
        (lambda m, x: m.circuit(m.binary("go", 2), [0, 1], [1, 2]), None),
        (lambda m, x: m.circuit(m.binary("go", 2), [0, 3], [3, 0]), r"nodes must be 0\.\.n-1"),
        (lambda m, x: m.circuit(m.binary("go", 2), [0.5, 1], [1, 0]), "whole numbers for tails"),
        (lambda m, x: m.circuit(x[:2], [0, 1], [1, 0]), "binary variable"),
        (lambda m, x: m.no_overlap(x, 1, np.ones((2, 2))), r"\(2, 2\) for 3 tasks"),
        (lambda m, x: m.no_overlap(x[0], 1), "one axis"),
        (lambda m, x: m.soft("s", x), "expected a relation"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(operation, said):
    m = Model()
    x = m.integer("x", 3, upper=4)
    if said is None:  # a node that is entered and never left: nothing satisfies it
        operation(m, x)
        assert solve(m).status == "infeasible"
        return
    with pytest.raises(ModelError, match=said):
        operation(m, x)
