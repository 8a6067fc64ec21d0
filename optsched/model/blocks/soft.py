"""Soft constraints: a relation that may be violated, and its violation as variables."""

from __future__ import annotations

import numpy as np

from optsched.model.base import ModelBase, checked_relation
from optsched.model.expression import Expression, Relation
from optsched.model.ranges import are_integral, range_of
from optsched.model.variables import Variable


def soft(model: ModelBase, name: str, relation: Relation) -> Variable:
    """Require a relation up to a violation, a new variable block that the objective may charge.

    Args:
        model: that requires it.
        name: of the new variable block (the amount, entry by entry) and of the rows,
            ``name:most`` and ``name:least``.
        relation: what should hold.

    Example:
        >>> m = Model()
        >>> x = m.integer("x", shape=2, upper=5)
        >>> m.add("need", x.sum() >= 7)
        >>> rest = m.soft("rest", x <= 3)
        >>> m.minimize(x[0] + 2 * rest.sum())
        >>> solution = solve(m)
        >>> solution.objective, solution["rest"].tolist()
        (5.0, [0.0, 1.0])
    """
    left = checked_relation(name, relation).expression
    model.check_own(f"block {name!r}", left)
    plain = Expression(left.model, left.shape, left.terms)
    domains = model.domains()
    least, most = range_of(plain, domains)
    with np.errstate(invalid="ignore"):  # infinite less infinite
        above = np.where(np.isfinite(relation.upper), most - relation.upper, 0.0)
        below = np.where(np.isfinite(relation.lower), relation.lower - least, 0.0)
    sides = np.concatenate([np.ravel(side) for side in (relation.lower, relation.upper)])
    whole = are_integral(domains, plain) and bool(np.all(np.rint(sides) == sides))
    bounds = 0.0, np.maximum(0.0, np.maximum(above, below))
    amount = model.result(name, left.shape, bounds, whole=whole)
    if np.isfinite(relation.upper).any():
        model.add(f"{name}:most", Relation(plain - amount, -np.inf, relation.upper))
    if np.isfinite(relation.lower).any():
        model.add(f"{name}:least", Relation(plain + amount, relation.lower, np.inf))
    return amount
