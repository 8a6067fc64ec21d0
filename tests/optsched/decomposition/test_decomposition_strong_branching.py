"""Strong branching: of several numbers, that whose children gain most by the columns known."""

import itertools
import math

import numpy as np
import pytest
from decomposition_cases import listed

from optsched.decomposition import Column, ColumnBlock, Condition, branch_and_price
from optsched.decomposition.branching import Branching
from optsched.decomposition.master import MasterPoint
from optsched.decomposition.nodes import Budget
from optsched.decomposition.strong_branching import likely, strongest
from optsched.solvers.solution import Status


class Children:
    """A master problem that knows what each child gains."""

    basis = None

    def __init__(self, gains):
        self.gains = gains

    def enter(self, limits):
        least = [(feature, 1) for own in limits.least.values() for feature in own]
        most = [(feature, 0) for own in limits.most.values() for feature in own]
        (self.child,) = least + most

    def solve(self, seconds):
        feature, side = self.child
        gain = self.gains[feature][side]
        if math.isinf(gain):
            return MasterPoint(Status.INFEASIBLE)
        return MasterPoint(Status.OPTIMAL, 100.0 + gain)


@pytest.mark.parametrize(
    ("gains", "best"),
    [
        ({"a": (8, 0), "b": (3, 3), "c": (1, 7)}, "b"),
        ({"a": (9, 9), "b": (math.inf, 9.5), "c": (8, 8)}, "b"),
        ({"a": (10, 10), "b": (99, 99), "c": (math.inf, 12)}, "a"),  # no more than 10 counts
        ({"a": (0, 5), "b": (0, 6), "c": (0, 4)}, "b"),
        ({"a": (2, 2), "b": (2, 2), "c": (2, 2)}, "a"),
    ],
)
def test_that_branching_is_chosen_whose_children_gain_most_together(gains, best):
    found = [Branching(0, frozenset([Condition(name, 1)]), 0.5) for name in gains]
    chosen = strongest(Children(gains), [ColumnBlock()], (), found, 100.0, 10.0, Budget())
    assert chosen is found["abc".index(best)]


def test_branchings_not_tried_when_the_time_is_over_are_not_chosen():
    found = [Branching(0, frozenset([Condition(name, 1)]), 0.5) for name in "ab"]
    gains = {"a": (1, 1), "b": (9, 9)}
    spent = Budget(iterations=0)
    args = Children(gains), [ColumnBlock()], (), found, 100.0, 10.0
    assert strongest(*args, Budget()) is found[1]
    assert strongest(*args, spent) is found[0]


def test_only_the_first_of_a_kind_are_likely_and_none_where_one_takes_a_row_of_its_own():
    found = [
        Branching(b, frozenset([Condition(name, 1)]), 0.5, rank)
        for b, name, rank in ((0, "a", 1.0), (1, "b", 1.0), (0, "c", 1.0), (0, "d", 0.0))
    ]
    single = [ColumnBlock(), ColumnBlock()]
    assert likely(found, single, 8) == found[:3]
    assert likely(found, single, 2) == found[:2]
    assert likely([], single, 8) == []
    assert likely(found, [ColumnBlock(), ColumnBlock(upper=2)], 8) == []
    assert likely(found, [ColumnBlock(), ColumnBlock(upper=2)], 1) == found[:1]


@pytest.mark.parametrize("tried", [1, 3])
def test_so_many_branchings_are_tried_as_are_asked_for(tried, monkeypatch):
    """On jobs for three machines whose relaxation is fractional."""
    rng = np.random.default_rng(1)
    times, costs = rng.integers(5, 20, (3, 9)), rng.integers(10, 40, (3, 9)).astype(float)
    columns = []
    for i, bits in itertools.product(range(3), range(1 << 9)):
        own = np.flatnonzero([bits >> j & 1 for j in range(9)])
        if 3 * times[i, own].sum() <= times[i].sum():
            done = dict.fromkeys(own.tolist(), 1)
            columns.append(Column(i, float(costs[i, own].sum()), own, np.ones(len(own)), done))
    asked = []

    def counted(master, blocks, node, candidates, *rest):
        asked.append(len(candidates))
        return strongest(master, blocks, node, candidates, *rest)

    monkeypatch.setattr(branch_and_price, "strongest", counted)
    problem = listed(columns, [1] * 9, [1] * 9, [ColumnBlock()] * 3, branching=1)
    found = problem.solve(branchings_tried=tried)
    assert (found.status, found.objective) == ("optimal", 159.0)
    assert max(asked, default=1) == tried
