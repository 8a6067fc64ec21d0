"""Problem (7'): data transport of one job in one slot, and the printed (7).

(7') adds what (7) lacks, a limit on what each site can send; its linear relaxation has an integer
optimum, so it is not hard.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from formulations.okita.instance import Floats, Integers
from formulations.okita.transport import cheapest_transport
from optsched.errors import InputError
from optsched.model import Model


def problem_7(
    supply: ArrayLike, demand: ArrayLike, price: ArrayLike, *, printed: bool = False
) -> Model:
    """(7') as a linear program, variable "g" of shape (sites, sites).

    Args:
        supply: M^r, chunks left at each site.
        demand: d^r, chunks to be trained at each site.
        price: delta q^{rr'}, money per chunk from row to column.
        printed: (7) as printed: nothing limits what a site sends.

    Raises:
        InputError: more is to be trained than there is.
    """
    left, wanted, cost = _checked(supply, demand, price)
    model = Model("problem (7), printed" if printed else "problem (7')")
    sites = len(left)
    g = model.continuous("g", (sites, sites), upper=float(wanted.sum()), formula="g^{rr'}")
    if printed:
        away = 1.0 - np.eye(sites)
        model.add("7a", (g * away).sum(axis=0) >= wanted - left)
    else:
        model.add("supply", g.sum(axis=1) <= left, formula=r"\sum_{r'} g^{rr'} \le M^r")
        model.add("demand", g.sum(axis=0) == wanted, formula=r"\sum_r g^{rr'} = d^{r'}")
    model.minimize((g * cost).sum())
    return model


def exact_transport(
    supply: ArrayLike, demand: ArrayLike, price: ArrayLike
) -> tuple[float, Integers]:
    """(7') without a solver: cost (money) and chunks from row to column.

    Raises:
        InputError: more is to be trained than there is.
    """
    left, wanted, cost = _checked(supply, demand, price)
    flow = np.zeros(cost.shape, dtype=np.int64)
    return cheapest_transport(left, wanted, cost, flow, int(wanted.sum())), flow


def _checked(
    supply: ArrayLike, demand: ArrayLike, price: ArrayLike
) -> tuple[Integers, Integers, Floats]:
    left: Integers = np.asarray(supply, dtype=np.int64)
    wanted: Integers = np.asarray(demand, dtype=np.int64)
    if wanted.sum() > left.sum():
        raise InputError.of("demand", wanted.tolist(), f"at most the supply, {left.sum()} in all")
    return left, wanted, np.asarray(price, dtype=np.float64)
