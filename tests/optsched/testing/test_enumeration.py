"""The optimum by enumeration, of models whose optimum is plain."""

from dataclasses import replace

import pytest
from support import enumeration
from support.enumeration import enumerate_optimum

from optsched import Model, ModelError
from optsched.solvers.solution import Status


def steps(*, upper=2.5):
    """A whole number up to 3 and a real one, together at most 3.75."""
    m = Model()
    n, x = m.integer("n", upper=3), m.continuous("x", upper=upper)
    m.add("room", n + x <= 3.75)
    return m, n, x


@pytest.mark.parametrize(
    ("n", "x", "best", "value"),
    [(2, 1, (3, 0.75), 6.75), (1, 2, (1, 2.5), 6.0), (1, -1, (3, 0), 3.0), (-1, 2, (0, 2.5), 5.0),
     (0, 1, None, 2.5), (0, 0, None, 0.0), (-1, -1, (0, 0), 0.0), (1, 1, None, 3.75)],
)  # fmt: skip
def test_the_best_whole_number_is_the_one_whose_rest_is_best_with_it(n, x, best, value):
    for sign in (1, -1):
        m, whole, rest = steps()
        cost = sign * (n * whole + x * rest) + 7
        (m.maximize if sign > 0 else m.minimize)(cost)
        truth = enumerate_optimum(m)
        assert (truth.status, truth.value) == (Status.OPTIMAL, 7 + sign * value)
        if best is not None:
            assert (truth.values["n"], truth.values["x"]) == best


def test_what_one_whole_number_leaves_open_makes_all_unbounded():
    m, n, x = steps(upper=float("inf"))
    m.maximize(x - n)
    assert enumerate_optimum(m).value == 3.75
    m = Model()
    on, x = m.binary("on"), m.continuous("x")
    m.indicator(on, x <= 2)
    m.maximize(x)
    assert enumerate_optimum(m).status is Status.UNBOUNDED
    m.minimize(x)
    assert enumerate_optimum(m).value == 0


@pytest.mark.parametrize(("side", "status"), [(0.25, Status.OPTIMAL), (0.5, Status.INFEASIBLE)])
def test_what_no_whole_number_leaves_room_for_is_infeasible(side, status):
    m = Model()
    n, x = m.integer("n", upper=3), m.continuous("x", upper=0.25)
    m.add("meets", 2 * n + x == 2 + side)
    m.minimize(x)
    truth = enumerate_optimum(m)
    assert truth.status is status
    assert (truth.values is None) == (status is Status.INFEASIBLE)


def test_without_real_numbers_the_best_point_is_looked_up():
    m = Model()
    n = m.integer("n", 2, lower=-2, upper=2)
    m.add("row", 3 * n[0] + 2 * n[1] <= 4.5)
    m.maximize(5 * n[0] + 4 * n[1])
    truth = enumerate_optimum(m)
    assert (truth.value, truth.values["n"].tolist()) == (8, [0, 2])
    m.add("never", n.sum() >= 5)
    assert enumerate_optimum(m).status is Status.INFEASIBLE


@pytest.mark.parametrize(
    ("active", "free", "held"),
    [((True, True), 2.5, 1.5), ((True, False), 3.0, 3.0), ((False, False), 3.0, 3.0)],
)
def test_an_indicator_holds_where_all_its_literals_do_and_nowhere_else(active, free, held):
    """Each switch earns a half; where they are as it asks for, x is at most 1/2 and not 2."""
    m = Model()
    on, x = m.binary("on", 2), m.continuous("x", upper=2)
    m.indicator([on[0], on[1]], 2 * x <= 1, active=active)
    m.maximize(x + 0.5 * on.sum())
    assert enumerate_optimum(m).value == free
    m.add("both", on >= 1)
    assert enumerate_optimum(m).value == held


def test_every_indicator_has_its_own_literals():
    m = Model()
    on, n = m.binary("on", 2), m.integer("n", upper=3)
    m.indicator(on[0], n <= 1)
    m.indicator(on[1], n >= 2)
    m.maximize(on[1] - n)
    assert enumerate_optimum(m).value == 0
    m.add("on", on[1] >= 1)
    assert enumerate_optimum(m).value == -1


def test_one_of_the_pieces_of_every_block_holds():
    m = Model()
    n, x = m.integer("n", upper=2), m.continuous("x", 2, upper=3)
    top = m.maximum(n, x[0], name="top")
    z = m.product(n, x[1], name="z")
    m.add("tied", x[0] + x[1] == 3)
    m.minimize(2 * top - z)
    truth = enumerate_optimum(m)  # n = 2: x0 up to 2 costs 4, x1 = 3 earns 6
    assert truth.value == -2
    assert [truth.values[name].tolist() for name in ("n", "x", "top", "z")] == [2, [0, 3], 2, 6]
    m.maximize(top - z)
    assert enumerate_optimum(m).value == 3


@pytest.mark.parametrize("most", [3, 4])
def test_more_ways_than_can_be_tried_are_refused(monkeypatch, most):
    monkeypatch.setattr(enumeration, "MOST_CHOICES", most)
    m = Model()
    x = m.continuous("x", (2, 2), upper=1)
    m.maximize(m.maximum(x[0], x[1], name="top").sum())
    if most < 4:
        with pytest.raises(ModelError, match="too many ways"):
            enumerate_optimum(m)
    else:
        assert enumerate_optimum(m).value == 2


class Narrower(Model):
    """A model that says less of its last column than is true."""

    shift = (0.0, 0.0)

    def compile(self, kinds=frozenset()):
        form = super().compile(kinds)
        lower, upper = form.lower.copy(), form.upper.copy()
        lower[-1] += self.shift[0]
        upper[-1] -= self.shift[1]
        return replace(form, lower=lower, upper=upper)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(("shift", "noticed"), [(0.9e-9, False), (1.1e-9, True), (0.5, True)])
def test_bounds_that_exclude_what_a_result_can_be_are_noticed(side, shift, noticed):
    m = Narrower()
    x, y = m.integer("x", lower=-1, upper=1), m.binary("y")
    m.product(x, y, name="z")
    m.minimize(x + y)
    m.shift = (shift, 0.0) if side == 0 else (0.0, shift)
    if noticed:
        with pytest.raises(AssertionError, match="exclude"):
            enumerate_optimum(m)
    else:
        assert enumerate_optimum(m).value == -1


def test_bounds_that_leave_a_result_something_to_be_are_no_fault():
    m = Narrower()
    x = m.continuous("x", 2, upper=2)
    m.add("one", x == 1)
    m.minimize(m.maximum(x[0], x[1], name="top"))
    m.shift = (0.5, 0.5)
    assert enumerate_optimum(m).value == 1
