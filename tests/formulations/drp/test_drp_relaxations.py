"""Bounds, their order, and what moves an optimum which way."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from brute_force import optimum
from drp_cases import examples, instances, worked_drp, worked_dsrp, x1, x4
from hypothesis import given
from hypothesis import strategies as st

from formulations.drp import DSRP, PROBLEM
from formulations.drp.exact.packing import Packing
from formulations.drp.generator import generate
from formulations.drp.instance import Instance
from formulations.drp.lp1_lp2 import drp_eps, drp_lin, lin, lin_services, lp1, lp2, lp_literal
from formulations.drp.problem_p3_p5 import soc_bound, soc_relaxation
from optsched.solve import solve
from optsched.solvers.options import Options
from optsched.solvers.solution import Status

soc_services = partial(soc_relaxation, services=True)


@given(instance=instances(jobs=3, storage=True), share=st.floats(0.1, 0.9))
@examples(25)
def test_lp1_is_at_most_lin_is_at_most_soc(instance, share):
    for narrow, middle, wide in ((lp1, lin, soc_relaxation), (lp2, lin_services, soc_services)):
        values = [
            solve(narrow(instance, comm_share=share)).objective,
            solve(middle(instance)).objective,
            wide(instance).objective,
        ]
        assert values == sorted(values) or np.diff(values).min() > -1e-6


@given(instance=instances(jobs=3, storage=True), share=st.floats(0.1, 0.9))
@examples(15)
def test_resources_as_variables_under_the_papers_numbers_leave_lp1_and_lp2_as_they_are(
    instance, share
):
    for services, eliminated in ((False, lp1), (True, lp2)):
        literal = lp_literal(instance, services=services, comm_share=share)
        expected = solve(eliminated(instance, comm_share=share)).objective
        assert solve(literal).objective == pytest.approx(expected, abs=1e-6)


@given(instance=instances(jobs=3), share=st.floats(0.1, 0.9))
@examples(20)
def test_integer_optima_are_ordered_likewise(instance, share):
    values = [
        solve(drp_eps(instance, comm_share=share)).objective,
        solve(drp_lin(instance)).objective,
        optimum(instance),
    ]
    assert np.diff(values).min() >= -1e-6


@given(instance=instances(jobs=3, storage=True))
@examples(25)
def test_no_optimum_exceeds_the_whole_part_of_the_cone_relaxation(instance):
    assert optimum(instance) <= soc_bound(instance)
    assert optimum(instance, services=True) <= soc_bound(instance, services=True)


def test_x1_lp1_is_no_upper_bound():
    instance = x1()
    assert solve(lp1(instance)).objective == pytest.approx(0.625)
    assert PROBLEM.solve("problem_5_projected", instance).solution.objective == 1


def test_x4_prune_costs_half_the_optimum_which_lp1_without_it_does_not_miss():
    instance = x4()
    assert optimum(instance) == 2
    assert PROBLEM.solve("problem_5_projected", instance).solution.objective == 2
    assert solve(lp1(instance)).objective == pytest.approx(2)


@given(instance=instances(jobs=2), factor=st.floats(1.0, 2.0))
@examples(25)
def test_more_of_anything_never_lowers_the_optimum(instance, factor):
    before = optimum(instance)
    for name in ("server_inbound_bps", "server_compute_flops", "server_outbound_bps",
                 "job_deadline_s"):  # fmt: skip
        assert optimum(replace(instance, **{name: getattr(instance, name) * factor})) >= before
    everywhere = [range(instance.num_servers)] * instance.num_data_nodes
    node = np.repeat(np.arange(instance.num_data_nodes), instance.num_servers)
    server = np.concatenate([list(s) for s in everywhere])
    assert optimum(replace(instance, pair_node=node, pair_server=server)) >= before


@given(instance=instances(jobs=3))
@examples(20)
def test_one_job_more_never_lowers_the_optimum(instance):
    fewer = without_last_job(instance)
    assert optimum(fewer) <= optimum(instance) <= optimum(fewer) + 1


def without_last_job(instance: Instance) -> Instance:
    last = instance.num_jobs - 1
    kept = np.flatnonzero(instance.node_job != last)
    reach = instance.node_servers()
    per_job = {
        name: getattr(instance, name)[:last]
        for name in ("job_deadline_s", "job_flops_per_batch", "job_model_bytes", "job_sync_period")
    }
    return Instance.build(
        node_job=instance.node_job[kept],
        node_rate_bps=instance.node_rate_bps[kept],
        node_data_bytes=instance.node_data_bytes[kept],
        node_servers=[reach[i] for i in kept],
        server_inbound_bps=instance.server_inbound_bps,
        server_compute_flops=instance.server_compute_flops,
        server_outbound_bps=instance.server_outbound_bps,
        **per_job,
    )


@given(instance=instances(jobs=3), factor=st.floats(0.2, 5.0))
@examples(25)
def test_units_change_nothing(instance, factor):
    """Rates with inbound capacity; data with batches; deadlines with computing and outbound."""
    before = soc_relaxation(instance).objective
    for change in (
        {"node_rate_bps": factor, "server_inbound_bps": factor},
        {"node_data_bytes": factor, "job_batch_bytes": factor},
        {"job_deadline_s": 1 / factor, "server_compute_flops": factor,
         "server_outbound_bps": factor},
    ):  # fmt: skip
        scaled = replace(
            instance, **{name: getattr(instance, name) * by for name, by in change.items()}
        )
        assert soc_relaxation(scaled).objective == pytest.approx(before, abs=1e-5)


def test_lp1_of_the_worked_example_misses_the_optimum_for_every_epsilon():
    instance = worked_drp()
    assert soc_relaxation(instance).objective == pytest.approx(4, abs=1e-6)
    assert PROBLEM.solve("problem_5_projected", instance).solution.objective == 4
    shares = np.linspace(0.02, 0.98, 49)
    values = [solve(lp1(instance, comm_share=share)).objective for share in shares]
    assert max(values) == pytest.approx(2 / 0.62, abs=1e-6)
    for share, expected in ((0.39, 2 / 0.62), (0.61, 2 / 0.62), (0.3, 2.9333), (0.1, 2.2667)):
        found = solve(lp1(instance, comm_share=share)).objective
        assert found == pytest.approx(expected, abs=5e-5)
    whole = [solve(drp_eps(instance, comm_share=share)).objective for share in shares]
    assert max(whole) == pytest.approx(2)
    assert solve(drp_eps(instance)).objective == 0


def test_the_worked_dsrp_example_has_relaxations_of_3_and_an_optimum_of_2():
    instance = worked_dsrp()
    relaxed = solve(lp2(instance))
    assert relaxed.objective == pytest.approx(3)
    pairs = instance.pair_of([1, 1, 2, 2], [0, 1, 0, 1])
    assert relaxed["x"][pairs] == pytest.approx([0.5] * 4)
    assert soc_services(instance).objective == pytest.approx(3, abs=1e-6)
    assert optimum(instance, services=True) == 2
    answer = DSRP.solve("problem_22_projected", instance)
    assert (answer.solution.status, answer.solution.objective) == (Status.OPTIMAL, 2)


@given(instance=instances(jobs=3, storage=True))
@examples(15)
def test_with_storage_large_dsrp_is_drp(instance):
    """Theorem 4."""
    large = replace(instance, server_storage_bytes=np.full(instance.num_servers, 1e6))
    assert optimum(large, services=True) == optimum(large)
    assert soc_services(large).objective == pytest.approx(soc_relaxation(large).objective, abs=1e-5)


def test_optima_at_the_papers_scale_are_proven():
    """Seeds 0, 1, 2 at 40 jobs, hexagon, balanced: optima, and relaxations as near as they were."""
    for seed, best, relaxed, paper in (
        (0, 36, 36.74, 29.9), (1, 38, 38.55, 32.5), (2, 39, 39.93, 34.0),
    ):  # fmt: skip
        instance = generate(np.random.Generator(np.random.PCG64(seed)), jobs=40)
        answer = PROBLEM.solve("problem_5_projected", instance, options=Options(time_limit=60))
        assert (answer.solution.status, answer.solution.objective) == (Status.OPTIMAL, best)
        rough = solve(lin(instance))
        assert rough.objective <= relaxed + 0.005
        assert solve(lp1(instance)).objective == pytest.approx(paper, abs=0.1)


def test_local_search_packs_what_fits_and_says_so_where_nothing_does():
    instance = generate(np.random.default_rng(0), jobs=20)
    worst = instance.pair_server[instance.first_pair[:-1]]  # everything at its first server
    packing = Packing(instance, worst)
    assert packing.excess.max() > 0
    assert packing.search(np.random.default_rng(0), np.inf, 20_000)
    assert packing.excess.max() <= 1e-12
    assert (instance.pair_of(np.arange(instance.num_data_nodes), packing.assoc) >= 0).all()
    tight = x1()
    hopeless = replace(tight, server_inbound_bps=np.array([0.5]))
    assert not Packing(hopeless, np.array([0])).search(np.random.default_rng(0), np.inf, 10)
