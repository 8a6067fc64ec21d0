"""The exact server test (P1), its cuts, and the closed-form allocation (P2)."""

import numpy as np
import pytest
from drp_cases import examples, instances, worked_drp, x1
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from formulations.drp.check import check
from formulations.drp.decode import schedule_of
from formulations.drp.instance import NO_SERVER
from formulations.drp.loads import (
    Loads,
    allocate,
    allocate_by_share,
    cut_angle,
    cut_weights,
    job_loads,
    pairs_of,
    server_load_factor,
    server_loads,
)
from formulations.drp.residual_capacity import fits

LOAD = st.floats(0.001, 2.0)


@given(a=LOAD, b=LOAD, share=st.floats(0, 1))
@examples(200)
def test_the_load_factor_is_the_larger_eigenvalue(a, b, share):
    c = share * np.sqrt(a * b)
    expected = np.linalg.eigvalsh([[a, c], [c, b]])[-1]
    factor = server_load_factor(a, b, c)
    assert factor == pytest.approx(expected, rel=1e-12)
    assert max(a, b) - 1e-12 <= factor <= a + b + 1e-12 <= 2 * factor + 1e-11


def test_the_load_factor_of_one_job_alone_is_the_sum_of_its_loads():
    assert server_load_factor(0.3, 0.5, np.sqrt(0.15)) == pytest.approx(0.8)


def test_load_factor_of_the_worked_example():
    assert server_load_factor(0.62, 0.62, 0.2190890) == pytest.approx(0.8390890, abs=1e-7)
    assert np.degrees(cut_angle(0.62, 0.62, 0.2190890)) == pytest.approx(45)


@given(seed=st.integers(0, 10_000), jobs=st.integers(1, 3))
@examples(30)
def test_the_load_factor_is_the_least_growth_of_both_capacities(seed, jobs):
    """Against numerical minimisation over how every job splits its deadline."""
    a, b = np.random.default_rng(seed).uniform(0.01, 0.6, (2, jobs))

    def growth(point: np.ndarray) -> float:
        theta = 1 / (1 + np.exp(-point))
        return max((a / (1 - theta)).sum(), (b / theta).sum())

    starts = [np.full(jobs, v) for v in (-1.0, 0.0, 1.0)]
    found = min(
        minimize(growth, s, method="Nelder-Mead",
                 options={"xatol": 1e-10, "fatol": 1e-12, "maxiter": 4000}).fun
        for s in starts
    )  # fmt: skip
    factor = float(server_load_factor(a.sum(), b.sum(), np.sqrt(a * b).sum()))
    assert found >= factor - 1e-9
    assert found == pytest.approx(factor, rel=1e-3)


@given(seed=st.integers(0, 10_000))
@examples(50)
def test_fraction_cone_and_tangents_agree_on_one_job_and_server(seed):
    """(5f), (C1) and (C2) at random points, none too close to the boundary to call."""
    rng = np.random.default_rng(seed)
    a, b, tau = rng.uniform(0.1, 3, 3)
    d, rc, rb = rng.uniform(0, 4, (3, 400))
    fraction = a * d / rc + b * d / rb <= tau
    p, q = rc - a * d / tau, rb - b * d / tau
    cone = (p >= 0) & (q >= 0) & (p * q >= a * b * d**2 / tau**2)
    theta = np.linspace(0.0005, 0.9995, 2001)[:, None]
    tangents = ((1 - theta) ** 2 * rc / a + theta**2 * rb / b >= d / tau).all(axis=0)
    clear = np.abs(a * d / rc + b * d / rb - tau) > 1e-3 * tau
    assert clear.sum() > 300
    assert (fraction == cone)[clear].all()
    assert (fraction == tangents)[clear].all()


def test_tangent_of_the_worked_point():
    """A = 2, B = 1, tau = 1, D = 1, r = (4, 2): tight, theta* = 1/2, value D / tau."""
    p, q = 4 / 2, 2 / 1
    assert 2 / 4 + 1 / 2 == 1
    theta = p / (p + q)
    assert theta == 0.5
    assert (1 - theta) ** 2 * p + theta**2 * q == pytest.approx(1.0)


def test_multiplied_out_the_deadline_would_accept_no_resources_at_all():
    d, rc, rb = 1.0, 0.0, 0.0
    assert 2 * d * rb + 1 * d * rc <= 1 * rc * rb  # the trap
    instance = x1()
    made = schedule_of(instance, np.array([0]))
    starved = type(made).build(admit=made.admit, assoc=made.assoc, allocations=[(0, 0, 0.0, 0.0)])
    assert [v.constraint for v in check(instance, starved)] == ["5f"]


@given(instance=instances(jobs=4, servers=2, most_nodes=3), seed=st.integers(0, 1000))
@examples(60)
def test_cuts_hold_at_every_association_that_passes_the_exact_test(instance, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 1, instance.num_pairs) * rng.uniform(0, 1)
    loads = server_loads(instance, x)
    for angle in np.linspace(0, np.pi / 2, 7):
        load = np.bincount(
            instance.pair_server, weights=x * cut_weights(instance, angle),
            minlength=instance.num_servers,
        )  # fmt: skip
        assert (load <= loads.factor + 1e-9).all()
    top = np.bincount(
        instance.pair_server,
        weights=x * cut_weights(instance, loads.angle[instance.pair_server]),
        minlength=instance.num_servers,
    )
    assert top == pytest.approx(loads.factor, rel=1e-9, abs=1e-12)


@given(instance=instances(jobs=4, servers=2, most_nodes=3), seed=st.integers(0, 1000))
@examples(80)
def test_the_closed_allocation_meets_every_deadline_exactly(instance, seed):
    rng = np.random.default_rng(seed)
    pick = rng.integers(0, instance.degree)
    assoc = instance.pair_server[instance.first_pair[:-1] + pick]
    assoc[rng.random(len(assoc)) < 0.5] = NO_SERVER
    rows = allocate(instance, assoc)
    asked = job_loads(instance, assoc)
    assert (rows[:, 0] == asked.job).all()
    shares = asked.compute / rows[:, 2] + asked.outbound / rows[:, 3]
    assert shares == pytest.approx(1.0)
    loads = server_loads(instance, pairs_of(instance, assoc))
    server = rows[:, 1].astype(int)
    used_compute = np.bincount(server, weights=rows[:, 2], minlength=instance.num_servers)
    used_outbound = np.bincount(server, weights=rows[:, 3], minlength=instance.num_servers)
    enough = np.maximum(1, loads.factor) * (1 + 1e-9)
    assert (used_compute <= instance.server_compute_flops * enough).all()
    assert (used_outbound <= instance.server_outbound_bps * enough).all()


def test_the_closed_allocation_uses_sc_and_c_over_s_of_the_slack():
    instance = worked_drp()
    rows = allocate(instance, np.array([0, 1, 0, 1]))
    first = rows[rows[:, 1] == 0]
    assert first[first[:, 0] == 0][0, 2:] == pytest.approx([70.9545e9, 0.129545e9], rel=1e-5)
    assert first[first[:, 0] == 2][0, 2:] == pytest.approx([12.9545e9, 0.709545e9], rel=1e-5)
    assert first[:, 2].sum() == pytest.approx(83.9089e9, rel=1e-6)
    assert first[:, 3].sum() == pytest.approx(0.839089e9, rel=1e-6)
    # s = sqrt(38 GFLOP/s / 0.38 Gbit/s) = 10 in units of one GFLOP/s and one Gbit/s
    slack_used = first[:, 2].sum() - 62e9, first[:, 3].sum() - 0.62e9
    cross = 10 * np.sqrt(0.012) * 2  # c_j = sum of sqrt(a_k b_k), GFLOP/s times Gbit/s
    s = 10.0
    assert slack_used[0] / 1e9 == pytest.approx(s * cross)
    assert slack_used[1] / 1e9 == pytest.approx(cross / s)


@given(instance=instances(jobs=3), share=st.floats(0.05, 0.95))
@examples(60)
def test_what_fits_one_share_fits_lin_and_what_fits_lin_fits_exactly(instance, share):
    x = np.ones(instance.num_pairs)
    for scale in (0.1, 0.3, 0.6, 1.0):
        loads = Loads(*(load * scale for load in server_loads(instance, x)))
        nothing = np.zeros(instance.num_servers)
        by_share = fits(nothing, loads, "eps", share)
        linear = loads.compute + loads.comm <= 1 + 1e-12
        exactly = fits(nothing, loads, "exact", share)
        assert (linear | ~by_share).all()
        assert (exactly | ~linear).all()


@given(instance=instances(jobs=3), share=st.floats(0.05, 0.95))
@examples(30)
def test_the_allocation_by_share_spends_the_share_on_communication(instance, share):
    assoc = instance.pair_server[instance.first_pair[:-1]]
    rows, asked = allocate_by_share(instance, assoc, share), job_loads(instance, assoc)
    assert asked.compute / rows[:, 2] == pytest.approx(1 - share)
    assert asked.outbound / rows[:, 3] == pytest.approx(share)


def test_a_grid_of_angles_relaxes_the_capacity_by_no_more_than_its_step():
    for angles, most in ((3, 1.172), (5, 1.040), (9, 1.0097), (17, 1.0024)):
        step = np.pi / (4 * (angles - 1))
        assert 1 / np.cos(step) ** 2 == pytest.approx(most, abs=1e-3)
        worst = 0.0
        for phi in np.linspace(0, np.pi / 2, 400):  # unit load of one job in that direction
            grid = np.linspace(0, np.pi / 2, angles)
            worst = max(worst, 1 / (np.cos(grid - phi) ** 2).max())
        assert worst == pytest.approx(1 / np.cos(step) ** 2, rel=1e-3)
