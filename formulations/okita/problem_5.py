"""Problem (5): placing the workers and the parameter server of one job in one slot.

The paper calls it hard. For a fixed site of the server it is a greedy fill, so trying every site
is exact and fast. ``one_slot`` has it, and (7), as formulations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations.okita.instance import Floats, Integers, workers_beside_server, workers_within
from optsched.model import Model
from optsched.solvers.solution import Solution


class Placement(NamedTuple):
    """Workers per site and the site of the server; infinite cost where nothing fits."""

    cost: float
    """pi_i sum q^{rr~} y^r, money per slot."""
    workers: Integers
    """y^r, shape (sites,)."""
    server: int
    """r~; -1 where nothing fits."""


def exact_placement(
    room: Integers,
    worker: Integers,
    server: Integers,
    exchange_price: Floats,
    workers: int,
) -> Placement:
    """(5) by filling, for every site of the server, the sites that talk to it cheapest.

    Args:
        room: U_r^k, shape (sites, resources).
        worker: m_i^k.
        server: n_i^k.
        exchange_price: pi_i q^{rr'}, shape (sites, sites), money per worker and slot.
        workers: N.
    """
    sites = len(room)
    fit = workers_beside_server(room, worker, server)
    order = np.argsort(exchange_price, axis=0, kind="stable").T  # of sites, by server's site
    offered = np.take_along_axis(np.maximum(fit, 0), order, axis=1)
    before = np.cumsum(offered, axis=1) - offered
    taken = np.clip(workers - before, 0, offered)
    price = np.take_along_axis(exchange_price.T, order, axis=1)
    possible = (fit[:, 0] >= 0) & (taken.sum(axis=1) >= workers)
    value = np.where(possible, (taken * price).sum(axis=1), np.inf)
    best = int(np.argmin(value))
    y = np.zeros(sites, dtype=np.int64)
    if not possible[best]:
        return Placement(np.inf, y, -1)
    y[order[best]] = taken[best]
    return Placement(float(value[best]), y, best)


def problem_5(
    room: Integers,
    worker: Integers,
    server: Integers,
    exchange_price: Floats,
    workers: int,
) -> Model:
    """(5) as the paper states it, the product of workers and server as it is.

    See ``exact_placement`` for the arguments. Variables "y" and "s", each of shape (sites,).
    """
    model = Model("problem (5)")
    sites = len(room)
    y = model.integer("y", sites, upper=workers_within(room, worker), formula="y_i^r(t)")
    s = model.binary("s", sites, formula="s_i^r(t)")
    model.add("5a", y.sum() >= workers, formula=r"\sum_r y_i^r(t) \ge N_i(t)")
    held = y.reshape(sites, 1) * worker + s.reshape(sites, 1) * server
    model.add("5b", held <= room, formula=r"m_i^k y_i^r(t) + n_i^k s_i^r(t) \le u_r^k(t)")
    model.add("5c", s.sum() == 1, formula=r"\sum_r s_i^r(t) = 1")
    product = model.product(y.reshape(sites, 1), s.reshape(1, sites), name="w", formula=
        "y_i^r(t) s_i^{r'}(t)")  # fmt: skip
    model.minimize(
        (product * exchange_price).sum(),
        formula="\\sum_{r,r'} q^{rr'} \\pi_i y_i^r(t) s_i^{r'}(t)",
    )
    return model


def decode_problem_5(solution: Solution) -> Placement:
    """The placement a solved ``problem_5`` stands for."""
    assert solution.objective is not None
    workers = np.round(solution["y"]).astype(np.int64)
    return Placement(solution.objective, workers, int(np.argmax(solution["s"])))
