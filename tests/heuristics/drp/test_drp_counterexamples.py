"""Where the paper's claims fail: counterexamples, by their numbers."""

from math import pi, sqrt

import numpy as np
import pytest
from drp_cases import system, x2, x3, x4, x5, x7

from formulations.drp import PROBLEM
from formulations.drp.check import check, utilisation
from formulations.drp.decode import schedule_of
from formulations.drp.lp1_lp2 import fixed_share, lp1
from formulations.drp.priced_relaxation import PricedRelaxation, relax
from formulations.drp.prune import prune
from formulations.drp.r_dsr_filtering import around_centres, filtered
from formulations.drp.residual_capacity import Room
from heuristics.drp.r_dr import r_dr
from heuristics.drp.r_dsr import round_jobs
from optsched.solve import solve


def pruned(instance, variant="paper"):
    every = np.ones(instance.num_pairs, dtype=bool)
    return prune(instance, Room.empty(instance), every, variant=variant, mode="eps", comm_share=0.5)


def theorem_3(nodes: int, eta: int) -> float:
    """The printed bound on R-DR over the optimum."""
    return 0.5 + eta / (2 * nodes) - 1 / sqrt(2 * pi * eta)


def eta(instance) -> int:
    """Most nodes that fit on any server by inbound bandwidth."""
    most = 0
    for server in range(instance.num_servers):
        loads = np.sort(instance.inbound_load[instance.pair_server == server])
        most = max(most, int((np.cumsum(loads) <= 1 + 1e-9).sum()))
    return most


def test_x2_rounding_admits_no_job_with_probability_one_ninth():
    instance = x2()
    relaxed = solve(lp1(instance))
    assert relaxed.objective == pytest.approx(4 / 3)
    assert relaxed["y"] == pytest.approx([2 / 3, 2 / 3])
    assert pruned(instance)[1].all()
    rng = np.random.default_rng(0)
    runs = [r_dr(instance, rng, safeguard=False) for _ in range(1500)]
    idle = np.mean([run.admissions[0] == 0 for run in runs])
    assert idle == pytest.approx(1 / 9, abs=4 * sqrt(8 / 81 / len(runs)))
    long = np.mean([run.rounds > instance.num_jobs for run in runs])
    assert long == pytest.approx(1 / 81, abs=4 * sqrt(1 / 81 / len(runs)))
    assert long > 0  # Proposition 1 as printed fails


def test_x2_with_the_safeguard_no_run_takes_more_rounds_than_jobs():
    instance = x2()
    rng = np.random.default_rng(0)
    for _ in range(300):
        run = r_dr(instance, rng)
        assert run.rounds <= instance.num_jobs
        assert run.admit.sum() == 1


def test_x3_prune_rejects_a_feasible_job():
    instance = x3()
    assert not pruned(instance)[1].any()
    assert r_dr(instance, np.random.default_rng(0)).admit.sum() == 0
    assert check(instance, schedule_of(instance, np.array([0, 1, 0]))) == []
    allowed, alive = pruned(instance, "safe")
    assert alive.all()
    assert allowed.all()
    assert PROBLEM.solve("problem_5_projected", instance).solution.objective == 1


def test_x4_prune_halves_the_optimum_and_theorem_3_fails_against_it():
    instance = x4()
    allowed, alive = pruned(instance)
    assert alive.all()
    left = [instance.pair_server[(instance.pair_node == i) & allowed].tolist() for i in range(5)]
    assert left == [[1], [1], [0], [1], [1]]
    assert solve(fixed_share(instance, allowed=allowed).relax()).objective == pytest.approx(1.8)
    for seed in range(30):
        run = r_dr(instance, np.random.default_rng(seed))
        assert run.lp1_first == pytest.approx(1.8)
        assert run.admit.sum() == 1
    best = PROBLEM.solve("problem_5_projected", instance).solution.objective
    assert best == 2 > 1.8
    assert (instance.num_data_nodes, eta(instance)) == (5, 3)
    assert theorem_3(5, 3) == pytest.approx(0.56967, abs=1e-5)
    assert 1 / best < theorem_3(5, 3)
    safe = [r_dr(instance, np.random.default_rng(s), prune="safe").admit.sum() for s in range(30)]
    assert max(safe) == 2


def test_x5_theorem_3_fails_against_lp1_for_every_algorithm():
    instance = x5()
    relaxed = solve(lp1(instance)).objective
    assert relaxed == pytest.approx(5 / 3)
    assert PROBLEM.solve("problem_5_projected", instance).solution.objective == 1
    assert r_dr(instance, np.random.default_rng(0)).admit.sum() == 1
    assert (instance.num_data_nodes, eta(instance)) == (6, 5)
    assert theorem_3(6, 5) == pytest.approx(0.73825, abs=1e-5)
    assert 1 / relaxed == pytest.approx(0.6)
    assert 1 / relaxed < theorem_3(6, 5)


def test_values_of_the_bound_of_theorem_3():
    assert theorem_3(4, 3) == pytest.approx(0.64467, abs=1e-5)
    assert theorem_3(750, 40) == pytest.approx(0.46359, abs=1e-5)


def test_x6_theorem_6_fails_by_a_node_that_drags_its_neighbours():
    unit = np.array([1.0, 0.1876])
    data = np.array([2.0] + [8.0] * 14)
    x = np.array([[0.6924, 0.3076]] + [[0.0, 1.0]] * 14)
    cost = data[:, None] * unit
    part = filtered(x, cost, 1 / 3)
    assert part.theta[0] == pytest.approx(1.5002, abs=1e-4)
    assert part.theta[1] == pytest.approx(1.5008, abs=1e-4)
    assert part.near.tolist() == [[True, True]] + [[False, True]] * 14
    # storage is cheaper on server 1, the dear one to associate with
    server, _ = around_centres(part.theta, part.near, np.ones_like(part.near), np.array([0.1, 0.2]))
    assert (server == 0).all()
    rounded = cost[np.arange(15), server].sum()
    assert rounded == pytest.approx(114)
    assert (cost * x).sum() == pytest.approx(22.51, abs=0.01)
    claimed = max(3 * (1 + 1 / 3), 1 + 3)
    assert claimed == pytest.approx(4)
    assert rounded / (cost * x).sum() > claimed
    kappa = 8 / 2
    assert rounded <= (1 + 1 / 3) * kappa * (cost * x).sum()  # the corrected lemma


@pytest.mark.parametrize("servers", [6, 10])
def test_x7_capacities_are_exceeded_by_any_factor(servers):
    instance = x7(servers)
    even = PricedRelaxation(
        servers,
        np.full(instance.num_pairs, 1 / servers),
        np.ones(servers),
        np.ones(instance.num_pairs),
        np.ones(servers),
    )
    assoc = round_jobs(instance, even, np.arange(servers), 1 / 3)
    raw = schedule_of(instance, assoc, services=True)
    assert utilisation(instance, raw)["inbound"] == pytest.approx(servers)


def test_x7_a_basic_solution_of_lp2_violates_nothing_there():
    instance = x7(6)
    relaxed = relax(instance, "eps", 0.5)
    assert relaxed.value == pytest.approx(6)
    assoc = round_jobs(instance, relaxed, np.arange(6), 1 / 3)
    raw = schedule_of(instance, assoc, services=True)
    assert utilisation(instance, raw)["inbound"] == pytest.approx(1)


def test_x8_the_printed_rule_sends_a_node_where_it_cannot_go():
    reach = np.array([[True, True, False], [False, True, True]])
    x = np.where(reach, 0.5, 0.0)
    part = filtered(x, np.where(reach, 1.0, 0.0), 1 / 3)
    price = np.array([0.1, 0.2, 0.3])
    printed, _ = around_centres(part.theta, part.near, reach, price, literal=True)
    assert printed.tolist() == [0, 0]
    assert not reach[1, printed[1]]
    mended, _ = around_centres(part.theta, part.near, reach, price)
    assert mended.tolist() == [0, 1]


def test_a_node_alone_heavier_than_a_server_is_pruned_by_both_variants():
    instance = system([(0, 2, [0, 1]), (1, 1, [0])], [1, 2])
    for variant in ("paper", "safe"):
        allowed, alive = pruned(instance, variant)
        assert allowed.tolist() == [False, True, True]
        assert alive.all()
