"""A bound that rough multipliers prove is never above the optimum, whatever rounding does."""

from fractions import Fraction

import numpy as np
import pytest

from optsched.model import Model
from optsched.solvers.dual_bound import dual_bound


def exact_bound(compiled, duals) -> Fraction:
    """The same bound in fractions: y b + sum of min (c - y A) x over the box."""
    matrix = compiled.rows.matrix.toarray()
    total = Fraction(0)
    for y, low in zip(duals, compiled.rows.lower, strict=True):
        total += Fraction(y) * Fraction(low)
    for j in range(len(compiled.cost)):
        reduced = Fraction(compiled.cost[j])
        reduced -= sum(Fraction(y) * Fraction(a) for y, a in zip(duals, matrix[:, j], strict=True))
        total += min(reduced * Fraction(end) for end in (compiled.lower[j], compiled.upper[j]))
    return total


def at_least(matrix, side, cost, upper):
    """Minimise a cost over a box, some rows being at least ``side``."""
    m = Model()
    x = m.continuous("x", len(cost), lower=0.0, upper=upper)
    m.add("rows", matrix @ x >= side)
    m.minimize(cost @ x)
    return m.compile()


@pytest.mark.parametrize("seed", range(40))
def test_what_rounding_makes_of_reduced_costs_is_paid_for(seed):
    rng = np.random.default_rng(seed)
    matrix, duals = rng.uniform(0.1, 1, (3, 4)), rng.uniform(0.1, 1, 3)
    cost = matrix.T @ duals  # so that reduced costs are nothing but rounding
    compiled = at_least(matrix, np.zeros(3), cost, 1e6)
    true, found = exact_bound(compiled, duals), dual_bound(compiled, duals, 0.0)
    assert Fraction(found) <= true
    assert found == pytest.approx(float(true), abs=1e-7)


@pytest.mark.parametrize("seed", range(40))
def test_what_rounding_makes_of_products_and_their_sum_is_paid_for(seed):
    rng = np.random.default_rng(seed)
    duals, side = rng.uniform(0.1, 1, 3), rng.uniform(1, 1e6, 3)
    compiled = at_least(np.eye(3), side, duals, 0.0)  # reduced costs are zero, and so is x
    true, found = exact_bound(compiled, duals), dual_bound(compiled, duals, 1e9)
    assert Fraction(found) <= true
    assert found == pytest.approx(float(true), rel=1e-14)
