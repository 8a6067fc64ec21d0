"""R-DSR: what rounding promises in the mean, what filtering costs, and that the repair repairs."""

import numpy as np
import pytest
from drp_cases import examples, instances, worked_dsrp
from hypothesis import given
from hypothesis import strategies as st

from formulations.drp import DSRP
from formulations.drp.check import check_dsrp
from formulations.drp.generator import generate
from formulations.drp.priced_relaxation import relax
from formulations.drp.r_dsr_filtering import around_centres, filtered
from heuristics.drp.r_dr_storage import r_dr_storage
from heuristics.drp.r_dsr import place, r_dsr, r_dsr_raw
from optsched.errors import InputError


def random_job(seed: int):
    """x', costs, reach and prices of one job, costs c_ij = sum of b_j u_i and b'_j d_i."""
    rng = np.random.default_rng(seed)
    nodes, servers = rng.integers(1, 8), rng.integers(2, 6)
    reach = rng.random((nodes, servers)) < 0.6
    reach[np.arange(nodes), rng.integers(0, servers, nodes)] = True
    x = np.where(reach, rng.exponential(1, reach.shape) * (rng.random(reach.shape) < 0.8), 0.0)
    empty = x.sum(axis=1) == 0
    x[empty] = reach[empty]
    x /= x.sum(axis=1, keepdims=True)
    rate, data = rng.uniform(300, 360, nodes), rng.uniform(2, 8, nodes)
    unit = rng.uniform(0.01, 1, (2, servers))
    cost = np.outer(rate / 330, unit[0]) + np.outer(data, unit[1])
    kappa = max(rate.max() / rate.min(), data.max() / data.min())
    return x, cost, reach, rng.uniform(0.1, 2, servers), kappa


@given(seed=st.integers(0, 2**32 - 1), lam=st.sampled_from([1 / 3, 0.1, 1.0, 2.0]))
@examples(300)
def test_theorem_5_filtering_costs_at_most_1_plus_lambda_over_lambda(seed, lam):
    x, cost, _, price, _ = random_job(seed)
    part = filtered(x, cost, lam)
    assert part.x.sum(axis=1) == pytest.approx(1.0)
    assert (part.x <= part.z + 1e-9).all()
    before, after = (cost * x).sum(), (cost * part.x).sum()
    assert after <= before * (1 + 1e-9)
    total = before + price @ x.max(axis=0)
    assert after + price @ part.z <= (1 + lam) / lam * total * (1 + 1e-9)


@given(seed=st.integers(0, 2**32 - 1), lam=st.sampled_from([1 / 3, 1.0]))
@examples(300)
def test_corrected_lemma_rounding_costs_at_most_1_plus_lambda_times_kappa(seed, lam):
    x, cost, reach, price, kappa = random_job(seed)
    part = filtered(x, cost, lam)
    for literal in (False, True):
        server, _ = around_centres(part.theta, part.near, reach, price, literal=literal)
        rows = np.arange(len(server))
        assert literal or reach[rows, server].all()
        if reach[rows, server].all():
            rounded = cost[rows, server].sum()
            assert rounded <= (1 + lam) * kappa * (cost * x).sum() * (1 + 1e-9)
        opened = price[np.unique(server)].sum()
        if literal:
            assert opened <= (1 + 1 / lam) * (price @ x.max(axis=0)) * (1 + 1e-9)


@given(seed=st.integers(0, 2**32 - 1))
@examples(100)
def test_proposition_2_the_printed_rule_opens_one_server_of_each_centres_near_set(seed):
    x, cost, reach, price, _ = random_job(seed)
    part = filtered(x, cost, 1 / 3)
    server, _ = around_centres(part.theta, part.near, reach, price, literal=True)
    opened = np.unique(server)
    centres = [i for i in np.lexsort((np.arange(len(x)), part.theta)) if part.near[i, server[i]]]
    first = centres[0]
    assert part.near[first, opened].sum() == 1


def test_the_worked_example_number_for_number():
    """The third example: raw 3 with storage 4/3, repaired 2, which is the optimum; baseline 2."""
    instance = worked_dsrp()
    raw = r_dsr_raw(instance, np.random.default_rng(0))
    assert raw.relaxation == pytest.approx(3)
    assert raw.raw_throughput == 3
    expected = {"inbound": 0.9, "compute": 0.6, "outbound": 0.12, "storage": 4 / 3}
    assert raw.raw_load == pytest.approx(expected)
    assert {v.constraint for v in check_dsrp(instance, raw)} == {"22d"}
    mended = r_dsr(instance, np.random.default_rng(0))
    assert mended.admit.sum() == 2
    assert mended.assoc.tolist() == [0, 1, 1, -1]
    assert check_dsrp(instance, mended) == []
    priced = relax(instance, "eps", 0.5)
    assert priced.service_price == pytest.approx([1.0, 1.0])
    assert priced.cost == pytest.approx(np.full(6, priced.cost[0]))
    x = np.array([[0.5, 0.5], [0.5, 0.5]])
    part = filtered(x, priced.cost[1:5].reshape(2, 2), 1 / 3)
    assert part.z == pytest.approx([1, 1])
    cost, size = priced.cost[0], 20 / 30
    ratio = (2 * cost + size * 2) / (2 * cost + size)
    assert ratio <= 4
    assert {r_dr_storage(instance, np.random.default_rng(s)).admit.sum() for s in range(10)} == {2}


@pytest.mark.parametrize("mode", ["eps", "exact"])
@given(instance=instances(jobs=4, servers=3, storage=True, shared_services=True),
       seed=st.integers(0, 1000))  # fmt: skip
@examples(30)
def test_the_repaired_decision_is_feasible(mode, instance, seed):
    made = r_dsr(instance, np.random.default_rng(seed), mode=mode)
    assert check_dsrp(instance, made) == []
    kept = r_dr_storage(instance, np.random.default_rng(seed), mode=mode)
    assert check_dsrp(instance, kept) == []


def test_the_mean_raw_throughput_is_the_value_of_lp2():
    instance = generate(np.random.default_rng(3), jobs=8, nodes_per_job=6, flops_factor=40.0)
    runs = [r_dsr_raw(instance, np.random.default_rng(seed)) for seed in range(150)]
    counts = np.array([run.raw_throughput for run in runs])
    value = runs[0].relaxation
    assert 0.5 < value < 7.5
    assert counts.mean() == pytest.approx(value, abs=3 * counts.std() / np.sqrt(len(counts)) + 1e-9)


def test_raw_decisions_are_violations_and_repaired_ones_are_not():
    instance = generate(np.random.Generator(np.random.PCG64(0)), jobs=40)
    raw = r_dsr_raw(instance, np.random.default_rng(0))
    assert max(raw.raw_load.values()) > 1.2
    assert check_dsrp(instance, raw)
    mended = r_dsr(instance, np.random.default_rng(0))
    assert DSRP.check(instance, mended) == []
    assert 0.6 <= mended.admit.sum() / mended.relaxation <= 1
    assert abs(raw.raw_throughput / raw.relaxation - 1) < 0.15


@pytest.mark.parametrize("printed", [False, True])
@pytest.mark.parametrize("repair", [False, True])
def test_a_job_that_the_relaxation_takes_within_its_tolerance_only_is_not_rounded(printed, repair):
    instance = worked_dsrp()
    relaxed = relax(instance, "eps", 0.5)
    last = instance.num_jobs - 1
    nothing = np.where(instance.pair_job == last, 0.0, relaxed.x)
    almost = np.where(np.arange(instance.num_jobs) == last, 1e-12, relaxed.admit)
    relaxed = relaxed._replace(x=nothing, admit=almost)
    made = place(
        instance, np.random.default_rng(0), relaxed, "eps", 0.5, repair=repair, printed=printed
    )
    assert made.raw_throughput == (0 if printed else last)
    assert not repair or check_dsrp(instance, made) == []


@pytest.mark.parametrize("lam", [1e-12, 1 / 3])
def test_every_node_is_near_some_server_whatever_it_places_next_to_nothing_on(lam):
    # what costs nothing has a share too small to count, and lowers the mean all the same
    x, cost = np.array([[1 - 5e-10, 5e-10]]), np.array([[1.0, 0.0]])
    part = filtered(x, cost, lam)
    assert part.near.tolist() == [[True, False]]
    server, _ = around_centres(part.theta, part.near, x > 0, np.array([2.0, 1.0]))
    assert server.tolist() == [0]


def test_lambda_must_be_positive():
    with pytest.raises(InputError, match="lam"):
        r_dsr(worked_dsrp(), np.random.default_rng(0), lam=0.0)
