"""(5) and (7'): the exact methods, their models and their worked numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.okita.instance import workers_within
from formulations.okita.problem_5 import decode_problem_5, exact_placement, problem_5
from formulations.okita.problem_7 import exact_transport, problem_7
from optsched.errors import InputError
from optsched.solve import solve
from optsched.solvers.solution import Status


def test_exact_transport_of_the_worked_case_costs_3():
    price = np.full((4, 4), 100.0)
    np.fill_diagonal(price, 0.0)
    price[2, 0], price[3, 0], price[2, 1], price[3, 1] = 1, 2, 1, 10
    cost, flow = exact_transport([0, 0, 1, 1], [1, 1, 0, 0], price)
    assert cost == pytest.approx(3.0)
    assert flow[3, 0] == flow[2, 1] == 1
    assert solve(problem_7([0, 0, 1, 1], [1, 1, 0, 0], price)).objective == pytest.approx(3.0)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 100_000))
def test_the_linear_program_of_transport_has_the_whole_optimum_of_the_exact_method(seed):
    rng = np.random.default_rng(seed)
    sites = int(rng.integers(1, 5))
    supply = rng.integers(0, 6, sites)
    demand = rng.multinomial(rng.integers(0, supply.sum() + 1), np.full(sites, 1 / sites))
    price = rng.integers(0, 9, (sites, sites)) * (1.0 - np.eye(sites))
    cost, flow = exact_transport(supply, demand, price)
    solution = solve(problem_7(supply, demand, price))
    assert solution.objective == pytest.approx(cost)
    assert (flow.sum(axis=1) <= supply).all()
    assert (flow.sum(axis=0) == demand).all()
    assert (flow * price).sum() == pytest.approx(cost)


def test_the_printed_transport_lets_a_site_send_what_it_does_not_have():
    supply, demand, price = [0, 0, 1], [1, 1, 0], np.array([[0, 9, 9], [9, 0, 9], [1, 1, 0.0]])
    with pytest.raises(InputError, match="demand"):
        exact_transport(supply, demand, price)
    solution = solve(problem_7([0, 0, 1, 1], [1, 1, 0, 0],
                               np.array([[0, 9, 9, 9], [9, 0, 9, 9], [1, 1, 0, 9], [5, 5, 9, 0.0]]),
                               printed=True))  # fmt: skip
    assert solution.objective == pytest.approx(2.0)
    assert solution["g"][2].sum() == pytest.approx(2.0)  # site 2 has one chunk


def test_exact_placement_of_the_worked_case_leaves_the_site_with_the_data_alone():
    q = np.array([[0, 0.01, 0.04], [0.01, 0, 0.04], [0.04, 0.04, 0]])
    room, one, none = np.ones((3, 1), dtype=int), np.array([1]), np.array([0])
    placed = exact_placement(room, one, none, q, 2)
    assert placed.cost == pytest.approx(0.01)
    assert placed.workers.tolist() == [1, 1, 0]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 100_000))
def test_the_polynomial_method_of_placement_agrees_with_the_integer_program(seed):
    rng = np.random.default_rng(seed)
    sites, kinds = int(rng.integers(1, 5)), int(rng.integers(1, 3))
    room = rng.integers(0, 6, (sites, kinds))
    worker, server = rng.integers(0, 3, kinds), rng.integers(0, 3, kinds)
    worker[0] = max(worker[0], 1)
    price = rng.integers(0, 9, (sites, sites)) * (1.0 - np.eye(sites))
    number = int(rng.integers(1, 6))
    placed = exact_placement(room, worker, server, price, number)
    solution = solve(problem_5(room, worker, server, price, number))
    if placed.server < 0:
        assert solution.status is Status.INFEASIBLE
        return
    assert solution.objective == pytest.approx(placed.cost)
    for one in (placed, decode_problem_5(solution)):
        held = one.workers[:, None] * worker
        held[one.server] += server
        assert (held <= room).all()
        assert one.workers.sum() >= number
        assert one.workers @ price[:, one.server] == pytest.approx(placed.cost)


def test_resources_not_asked_for_do_not_limit_workers():
    assert workers_within(np.array([[4, 0], [1, 9], [-1, 3]]), np.array([2, 0])).tolist() == [
        2,
        0,
        0,
    ]
