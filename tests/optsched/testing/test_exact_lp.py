"""Exact linear programs by hand, and a row of random ones proven by their duals."""

from fractions import Fraction

import numpy as np
import pytest
from support.exact_lp import maximise

from optsched.solvers.solution import Status

F = Fraction


def whole(values):
    return [None if v is None else F(v) for v in values]


def best(cost, rows=(), lower=(0, 0), upper=(None, None)):
    """Value and point, or the status where there is none."""
    given = [(whole(a), *whole((low, high))) for a, low, high in rows]
    n = len(cost)
    found = maximise(whole(cost), given, whole(lower)[:n], whole(upper)[:n])
    return (found.value, found.point) if found.status is Status.OPTIMAL else found.status


def test_a_vertex_of_two_rows_is_exact() -> None:
    rows = [([3, 1], None, 1), ([1, 3], None, 1)]
    assert best([1, 1], rows) == (F(1, 2), (F(1, 4), F(1, 4)))
    assert best([2, 1], rows) == (F(3, 4), (F(1, 4), F(1, 4)))
    assert best([4, 1], rows) == (F(4, 3), (F(1, 3), 0))
    assert best([-1, -1], rows) == (0, (0, 0))


@pytest.mark.parametrize(
    ("lower", "upper", "expected"),
    [
        (2, 5, (5, (5,))), (None, 5, (5, (5,))), (5, 5, (5, (5,))), (-5, -2, (-2, (-2,))),
        (2, None, Status.UNBOUNDED), (None, None, Status.UNBOUNDED), (5, 2, Status.INFEASIBLE),
        (None, -3, (-3, (-3,))),
    ],
)  # fmt: skip
def test_bounds_alone_decide_a_single_variable(lower, upper, expected) -> None:
    assert best([1], (), [lower], [upper]) == expected


@pytest.mark.parametrize(
    ("lower", "upper", "expected"),
    [(2, 5, (-2, (2,))), (2, None, (-2, (2,))), (None, 5, Status.UNBOUNDED), (-4, 5, (4, (-4,)))],
)
def test_a_cost_that_falls_takes_the_lower_bound(lower, upper, expected) -> None:
    assert best([-1], (), [lower], [upper]) == expected


def test_rows_have_two_sides() -> None:
    for cost, expected in ((1, (5, (5,))), (-1, (-2, (2,))), (0, (0, (2,)))):
        value = best([cost], [([1], 2, 5)], [None], [None])
        assert value[0] == expected[0]
    assert best([-1], [([1], 2, None)]) == (-2, (2,))
    assert best([1], [([-2], -6, None)]) == (3, (3,))
    assert best([1], [([2], 3, 3)], [None], [None]) == (F(3, 2), (F(3, 2),))


def test_no_point_and_no_end_are_told_apart() -> None:
    assert best([1], [([1], 3, None), ([1], None, 2)]) is Status.INFEASIBLE
    assert best([1], [([1], 3, 2)]) is Status.INFEASIBLE
    assert best([1, 0], [([0, 1], 1, 1)]) is Status.UNBOUNDED
    assert best([1, 1], [([1, -1], 0, 0)]) is Status.UNBOUNDED
    assert best([1, -1], [([1, -1], 0, 0)])[0] == 0
    assert best([0], [([0], 1, None)]) is Status.INFEASIBLE
    assert best([0], [([0], 0, None)]) == (0, (0,))


def test_a_first_point_is_found_where_nothing_is_not_one() -> None:
    """Both rows are broken at 0; equalities that say the same leave nothing to pivot on."""
    rows = [([1, 1], 2, None), ([1, -1], 1, None)]
    assert best([-1, -1], rows) == (-2, (2, 0))
    assert best([-1, -2], rows) == (-2, (2, 0))
    assert best([-2, -1], [([1, 1], 2, None), ([1, 0], F(1, 2), None)])[0] == F(-5, 2)
    # the row that is broken most is not the one with the largest coefficient
    assert best([-1, -1], [([1, 3], 1, None), ([1, 1], 4, None)])[0] == -4
    assert best([-1, -1], [([1, 3], 1, None), ([1, 0], 4, None)]) == (-4, (4, 0))
    twice = [([1, 1], 2, 2), ([2, 2], 4, 4)]
    assert best([1, 0], twice) == (2, (2, 0))
    assert best([1, 0], [*twice, ([1, 1], 3, None)]) is Status.INFEASIBLE
    assert best([0, 1], [([1, 1], 2, 2), ([1, 0], 2, 2)]) == (0, (2, 0))


def test_shifted_and_mirrored_variables_add_up() -> None:
    rows = [([1, 2], None, 10)]
    assert best([1, 1], rows, [1, None], [4, 3]) == (7, (4, 3))
    assert best([1, 1], rows, [-3, None], [None, 2]) is Status.UNBOUNDED
    assert best([1, 3], rows, [-3, None], [None, 2]) == (6 + 6, (6, 2))
    assert best([-1, -1], [([1, 1], -4, None)], [None, None]) == (4, best(
        [-1, -1], [([1, 1], -4, None)], [None, None])[1])  # fmt: skip


def test_a_program_on_which_dantzigs_rule_cycles_comes_to_an_end() -> None:
    """Beale's example: its first three pivots gain nothing."""
    cost = [F(3, 4), -150, F(1, 50), -6]
    rows = [
        ([F(1, 4), -60, F(-1, 25), 9], None, 0),
        ([F(1, 2), -90, F(-1, 50), 3], None, 0),
        ([0, 0, 1, 0], None, 1),
    ]
    value, point = best(cost, rows, [0] * 4, [None] * 4)
    assert (value, point) == (F(1, 20), (F(1, 25), 0, 1, 0))


@pytest.mark.parametrize("seed", range(40))
def test_no_corner_of_a_box_with_a_row_is_better(seed) -> None:
    """All corners, and where the row cuts the edges of the box, listed."""
    rng = np.random.default_rng(seed)
    n = 3
    cost, row = rng.integers(-4, 5, n).tolist(), rng.integers(-4, 5, n).tolist()
    low = rng.integers(-3, 2, n).tolist()
    high = [a + int(d) for a, d in zip(low, rng.integers(0, 4, n), strict=True)]
    side = int(rng.integers(-6, 7))
    points = []
    for free in range(n):
        for code in range(2**n):
            point = [F(high[i] if code >> i & 1 else low[i]) for i in range(n)]
            points.append(point)
            if row[free]:
                rest = sum(row[i] * point[i] for i in range(n) if i != free)
                cut = list(point)
                cut[free] = (side - rest) / row[free]
                points.append(cut)
    values = [
        sum(c * x for c, x in zip(cost, p, strict=True))
        for p in points
        if sum(a * x for a, x in zip(row, p, strict=True)) <= side
        and all(a <= x <= b for a, x, b in zip(low, p, high, strict=True))
    ]
    found = best(cost, [(row, None, side)], low, high)
    assert found == Status.INFEASIBLE if not values else found[0] == max(values)
