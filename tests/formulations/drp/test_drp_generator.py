"""Workloads of the paper: topologies, distributions, models, profiles."""

import numpy as np
import pytest

from formulations.drp.generator import FLOPS_FACTOR, MODELS, generate, tiny
from formulations.drp.loss import flops_for_loss
from formulations.drp.topology import draw_layout, hexagon_centres, hexagon_neighbours
from optsched.errors import InputError


def test_nineteen_hexagons_have_4_5_or_7_servers_in_reach():
    reach = hexagon_neighbours().sum(axis=1)
    assert sorted(np.unique(reach, return_counts=True)[0]) == [4, 5, 7]
    assert np.unique(reach, return_counts=True)[1].tolist() == [6, 6, 7]
    assert reach.mean() == pytest.approx(103 / 19)
    centres = hexagon_centres()
    apart = np.hypot(*(centres[:, None] - centres).transpose(2, 0, 1))
    assert ((apart < np.sqrt(3) + 1e-9) == hexagon_neighbours()).all()


def test_hexagon_nodes_lie_in_their_cell_whose_server_they_reach():
    layout = draw_layout("hexagon", np.random.default_rng(0), 500)
    apart = np.hypot(*(layout.node_xy[:, None] - layout.server_xy).transpose(2, 0, 1))
    assert apart.min(axis=1).max() <= 1.0
    own = apart.argmin(axis=1)
    assert (layout.reach == hexagon_neighbours()[own]).all()


def test_grid_nodes_reach_servers_within_one_and_always_some():
    layout = draw_layout("grid", np.random.default_rng(0), 2000)
    assert layout.server_xy.shape == (19, 2)
    apart = np.hypot(*(layout.node_xy[:, None] - layout.server_xy).transpose(2, 0, 1))
    assert (layout.reach == (apart <= 1.0)).all()
    assert layout.reach.any(axis=1).all()
    assert layout.reach.sum(axis=1).mean() == pytest.approx(2.5, abs=0.2)


@pytest.mark.parametrize(("distribution", "mean", "least"), [
    ("uniform", 5.0, 2.0), ("normal", 5.0, 0.1), ("pareto", 4.0, 2.0),
])  # fmt: skip
def test_data_follow_their_distribution(distribution, mean, least):
    instance = generate(np.random.default_rng(0), jobs=400, distribution=distribution)
    assert instance.node_data_bytes.min() >= least * 1e9
    assert instance.node_data_bytes.mean() == pytest.approx(mean * 1e9, rel=0.15)


def test_parameters_lie_in_the_papers_ranges():
    instance = generate(np.random.default_rng(0), jobs=60)
    for name, low, high in (
        ("node_rate_bps", 300e6, 360e6), ("server_inbound_bps", 8e9, 12e9),
        ("server_compute_flops", 150e9, 150e9), ("server_outbound_bps", 10e9, 10e9),
        ("server_storage_bytes", 100e9, 200e9), ("service_size_bytes", 20e9, 40e9),
        ("job_model_bytes", 31.9e6, 574.7e6), ("job_sync_period", 3, 8),
        ("job_deadline_s", 3600, 7200), ("job_batch_bytes", 6e6, 6e6),
    ):  # fmt: skip
        value = getattr(instance, name)
        assert low <= value.min() <= value.max() <= high
    assert (np.bincount(instance.node_job) == 15).all()
    assert instance.job_service.tolist() == list(range(60))
    assert len(MODELS) == 9


def test_a_profile_changes_the_work_per_batch_and_nothing_else():
    systems = {
        profile: generate(np.random.default_rng(3), jobs=5, profile=profile)
        for profile in FLOPS_FACTOR
    }
    base = systems["bandwidth_bound"]
    for profile, other in systems.items():
        factor = FLOPS_FACTOR[profile]
        assert other.job_flops_per_batch == pytest.approx(base.job_flops_per_batch * factor)
        for name in ("node_xy", "node_data_bytes", "server_inbound_bps", "job_deadline_s"):
            assert np.array_equal(getattr(other, name), getattr(base, name))


def test_jobs_ask_for_what_the_sheet_says_of_a_mean_job():
    """7.4: 4.95 Gbit/s inbound, 0.77 outbound, 17.4 GFLOP/s at factor 1, at the mean E and tau.

    Averages over E and tau are larger, as both stand in a denominator.
    """
    instance = generate(np.random.default_rng(0), jobs=2000, profile="bandwidth_bound")
    jobs = instance.num_jobs
    slower = 5400 * np.mean(1 / instance.job_deadline_s)
    rarer = 5.5 * np.mean(1 / instance.job_sync_period)
    assert instance.node_rate_bps.sum() / jobs == pytest.approx(4.95e9, rel=0.02)
    assert instance.node_compute.sum() / jobs == pytest.approx(17.4e9 * slower, rel=0.05)
    assert instance.node_outbound.sum() / jobs == pytest.approx(0.77e9 * slower * rarer, rel=0.05)


def test_one_seed_gives_one_instance():
    first, second = (generate(np.random.default_rng(7), jobs=4) for _ in range(2))
    assert np.array_equal(first.compute_load, second.compute_load)
    assert np.array_equal(first.service_load, second.service_load)


@pytest.mark.parametrize(
    "options", [{"topology": "ring"}, {"jobs": 0}, {"profile": "none"}, {"colour": 1}]
)
def test_options_out_of_range_are_refused(options):
    with pytest.raises(InputError, match=next(iter(options))):
        generate(np.random.default_rng(0), **options)
    with pytest.raises(InputError, match="servers"):
        tiny(np.random.default_rng(0), servers=0)
    with pytest.raises(InputError, match="topology"):
        draw_layout("ring", np.random.default_rng(0), 3)


def test_a_sensor_that_serves_three_jobs_is_three_data_nodes_in_one_place():
    made = generate(np.random.default_rng(0), jobs=7, jobs_per_node=3)
    assert made.num_data_nodes == 7 * 15
    for values in (made.node_xy, made.node_rate_bps, made.node_data_bytes):
        first = values[made.job_nodes[0]]
        assert (values[made.job_nodes[2]] == first).all()
        assert (values[made.job_nodes[3]] != first).any()
    reach = made.node_servers()
    assert [reach[i] for i in made.job_nodes[1]] == [reach[i] for i in made.job_nodes[0]]


def test_work_by_the_loss_does_not_grow_with_the_data():
    by_data, by_loss = (
        generate(np.random.default_rng(0), jobs=300, profile="balanced", work=work)
        for work in ("data", "loss")
    )
    assert (by_data.node_data_bytes == by_loss.node_data_bytes).all()
    data = np.bincount(by_data.node_job, weights=by_data.node_data_bytes)
    total = data * by_loss.flop_per_byte
    planned = by_data.job_flops_per_batch * 15 * 5e9 / by_data.job_batch_bytes
    loss = np.exp(planned / total)
    assert loss.min() >= 2 - 1e-9
    assert loss.max() <= 4 + 1e-9


def test_a_lower_loss_takes_more_work():
    flops = flops_for_loss(8e12, 2.0, [2.0, 4.0, 16.0], [1000, 1000, 500])
    assert flops.tolist() == [8e9, 4e9, 4e9]


@pytest.mark.parametrize(("base", "loss"), [(0.5, 0.5), (2.0, 0.9), (1.0, 2.0)])
def test_formula_21_makes_no_sense_up_to_one(base, loss):
    with pytest.raises(InputError, match="numbers > 1"):
        flops_for_loss(1e12, base, [loss], 10)
