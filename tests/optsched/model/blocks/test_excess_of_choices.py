"""By how much points break blocks of choices and orders, in the unit that each block counts in."""

import numpy as np
import pytest

from optsched import Model


def excess(m: Model, *point: float) -> list[float]:
    """Of the last block, entry by entry."""
    return list(m.blocks.values())[-1].excess(np.array(point, dtype=float)).ravel().tolist()


@pytest.mark.parametrize(
    ("at", "z", "over"),
    [(0, 4, 0), (1, 9, 0), (2, 6, 0), (2.1, 6, 0), (1, 7, 2 / 9), (1, 12, 3 / 9), (2, 7, 1 / 6),
     (-1, 4, np.inf), (-1, 6, np.inf), (3, 6, np.inf), (3, 4, np.inf)],
)  # fmt: skip
def test_an_element_is_off_by_its_share_and_endlessly_where_there_is_none(at, z, over):
    m = Model()
    m.element(m.integer("x", 3, upper=9), m.integer("at", lower=-1, upper=3))
    assert excess(m, 4, 9, 6, at, z) == [over]


@pytest.mark.parametrize(
    ("at", "z", "over"),
    [(1, 2, 0), (2, 4, 0), (3.5, 3, 0), (4, 0, 0), (2, 5, 1 / 4), (2, 3, 1 / 4), (4, 0.5, 0.5),
     (0.5, 2, 0.5), (4.25, 0, 0.25), (0.5, 8, 3)],
)  # fmt: skip
def test_a_piecewise_value_is_off_by_its_share_or_its_argument_by_what_lies_outside(at, z, over):
    m = Model()
    m.piecewise(m.continuous("x", upper=9), [1, 3, 4], [2, 6, 0])
    assert excess(m, at, z) == [over]


@pytest.mark.parametrize(
    ("value", "over"),
    [(0, 0), (0.5, 0.5), (-0.5, 0.5), (1.75, 0.25), (2, 0), (5, 0), (8, 0), (9, 1), (-1, 1)],
)
def test_a_semicontinuous_value_is_as_far_off_as_the_nearest_that_it_may_have(value, over):
    m = Model()
    m.semicontinuous("x", 2, lower=[2, -8], upper=[8, -2])
    assert excess(m, value, -value) == [over, over]


@pytest.mark.parametrize(
    ("point", "one", "two"),
    [([0, 0, 0, 0], 0, 0), ([0, 5, 0, 0], 0, 0), ([0, 0, 0, -5], 0, 0), ([5, 0, 0, 0], 0, 0),
     ([0, 1, 2, 0], 1, 0), ([3, -2, 0, 0], 2, 0), ([0, 0, 1, 2], 1, 0), ([1, 0, 2, 0], 1, 1),
     ([4, 0, 0, 3], 3, 3), ([1, -5, 2, 0], 2, 1), ([3, 3, 3, 2], 3, 3)],
)  # fmt: skip
def test_a_special_ordered_set_is_off_by_the_largest_that_would_have_to_be_0(point, one, two):
    for sos, over in (("sos1", one), ("sos2", two)):
        m = Model()
        getattr(m, sos)(m.continuous("x", 4, lower=-9, upper=9))
        assert excess(m, *point) == [over]
        m = Model()
        getattr(m, sos)(m.continuous("x", (2, 4), lower=-9, upper=9))
        assert excess(m, *point, 0, 0, 7, 0) == [over, 0]


def test_a_set_of_no_more_entries_than_may_differ_from_0_is_never_off():
    for width in (1, 2):
        m = Model()
        m.sos2(m.continuous("x", width, upper=9))
        assert excess(m, *[5.0] * width) == [0]


@pytest.mark.parametrize(
    ("values", "over"), [((0, 2, 1), 0), ((2, 1, 2), 1), ((1, 1, 1), 2), ((1.2, 0.9, 3), 1)]
)
def test_values_that_are_there_twice_are_counted(values, over):
    m = Model()
    m.all_different(m.integer("x", (2, 3), upper=9))
    assert excess(m, *values, 4, 5, 6) == [over, 0]
    m = Model()
    m.all_different(m.integer("x", 3, upper=9))
    assert excess(m, *values) == [over]


def arcs(kind: str, nodes: int, *taken: tuple[int, int]) -> list[float]:
    """The excess of these arcs, among all there may be: loops at all nodes, at none a depot."""
    tails, heads = np.indices((nodes, nodes)).reshape(2, -1)
    if kind == "routes":
        tails, heads = tails[1:], heads[1:]
    m = Model()
    getattr(m, kind)(m.binary("go", len(tails)), tails, heads)
    return excess(m, *[float(arc in taken) for arc in zip(tails, heads, strict=True)])


@pytest.mark.parametrize(
    ("taken", "over"),
    [
        ([(0, 1), (1, 2), (2, 3), (3, 0)], 0),
        ([(0, 1), (1, 2), (2, 0), (3, 3)], 0),
        ([(0, 0), (1, 1), (2, 2), (3, 3)], 0),
        ([(0, 3), (3, 0), (1, 1), (2, 2)], 0),
        ([(0, 1), (1, 0), (2, 3), (3, 2)], 1),
        ([], 8),
        ([(0, 1), (1, 2), (2, 3)], 2),
        ([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)], 2),
        ([(0, 1), (1, 2), (2, 3), (3, 1)], 2),
    ],
)
def test_a_circuit_counts_degrees_that_are_wrong_or_else_tours_beyond_the_first(taken, over):
    assert arcs("circuit", 4, *taken) == [over]


def test_a_circuit_counts_every_tour():
    pairs = [(0, 1), (1, 0), (2, 3), (3, 2), (4, 5), (5, 4)]
    assert arcs("circuit", 6, *pairs) == [2]
    assert arcs("circuit", 6, (0, 2), (2, 4), (4, 0), (1, 3), (3, 5), (5, 1)) == [1]


@pytest.mark.parametrize(
    ("taken", "over"),
    [
        ([(0, 1), (1, 2), (2, 3), (3, 0)], 0),
        ([(0, 1), (1, 0), (0, 2), (2, 3), (3, 0)], 0),
        ([(0, 1), (1, 0), (2, 2), (3, 3)], 0),
        ([(1, 1), (2, 2), (3, 3)], 0),
        ([(0, 1), (1, 0), (2, 3), (3, 2)], 2),
        ([(1, 2), (2, 3), (3, 1)], 3),
        ([], 6),
        ([(0, 1), (2, 2), (3, 3)], 2),
        ([(1, 0), (2, 2), (3, 3)], 2),
        ([(0, 1), (1, 0), (2, 3), (3, 0)], 2),
        ([(0, 1), (1, 0), (1, 2), (2, 0), (3, 3)], 2),
    ],
)
def test_routes_count_degrees_that_are_wrong_or_else_nodes_that_no_route_reaches(taken, over):
    assert arcs("routes", 4, *taken) == [over]


@pytest.mark.parametrize("kind", ["circuit", "routes"])
def test_without_nodes_there_is_nothing_to_visit(kind):
    m = Model()
    none = np.zeros(0, dtype=np.int64)
    getattr(m, kind)(m.binary("go", 0), none, none)
    assert excess(m) == [0]
