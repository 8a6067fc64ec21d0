"""The variants of A_online, their ties, and what they refuse."""

import inspect
from dataclasses import replace

import numpy as np
import pytest

from formulations.preemptive.instance import CLOUD, Instance
from heuristics.preemptive import HEURISTICS
from heuristics.preemptive.a_online import (
    OnlineScheduler,
    System,
    a_online,
    a_online_e,
    a_online_ns,
)
from heuristics.preemptive.all_cloud import all_cloud
from heuristics.preemptive.dispatch import pour
from heuristics.preemptive.rules import Rules
from optsched.errors import InputError


def one_worker(release, chunks, times, cloud=np.inf, delay=0.0, **rest) -> Instance:
    return Instance.build(
        release_time=release,
        num_chunks=chunks,
        chunk_time_slow=times,
        upload_delay_edge=np.full((len(release), 1), delay),
        upload_delay_cloud=cloud,
        worker_server=[0],
        **rest,
    )


# Priorities


def test_residual_priority_puts_a_nearly_done_chunk_before_a_fresh_shorter_one(rng):
    instance = one_worker([0, 6, 6], 1, [8, 6, 1])
    static = a_online(instance, rng)
    residual = a_online(instance, rng, priority="residual")
    assert static.completion.tolist() == [15, 13, 7]
    assert residual.completion.tolist() == [9, 15, 7]
    assert static.preemptions == residual.preemptions == 1


def test_a_dense_chunk_displaces_a_long_light_one_rather_than_go_to_the_cloud(rng):
    """The long chunk has been looked at, so its end is known when the third job is priced."""
    instance = one_worker([0, 1, 2], [4, 4, 1], [40, 60, 1], cloud=[900, 900, 5])
    run = a_online(instance, rng)
    assert run.dispatch[-1] == 0
    assert run.alpha[-1] == pytest.approx(1 + 8 / 4)
    assert run.completion[-1] == 3


# Ties


@pytest.mark.parametrize("rule", ["arrived", "exact"])
@pytest.mark.parametrize("release", [0.1 * k for k in range(0, 60, 3)])
def test_a_tie_between_edge_and_cloud_goes_to_the_edge_despite_rounding(rng, rule, release):
    instance = one_worker([release], 1, [0.2], cloud=0.1, delay=0.1)
    assert a_online(instance, rng, pending_rule=rule).dispatch.tolist() == [0]


def test_a_tie_between_workers_goes_to_the_lowest_index_despite_rounding():
    third = 1 / 3
    levels = np.array([third + third + third + 1, 2.0, 1 + 1e-14 + 1])
    which, level = pour(levels, 0.1 + 0.2, 7, np.inf)
    assert which.tolist() == [0, 1, 2, 0, 1, 2, 0]
    assert level == pytest.approx([2, 2, 2, 2.3, 2.3, 2.3, 2.6])


def test_chunks_of_equal_density_run_in_order_of_arrival_despite_rounding(rng):
    """D p is 0.3 for both jobs, 0.1 * 3 in floating point being a little more."""
    instance = one_worker([0, 0.05], [3, 1], [0.1, 0.3])
    run = a_online(instance, rng)
    assert run.completion == pytest.approx([0.1, 0.2, 0.3, 0.6])
    mirrored = one_worker([0, 0.05], [1, 3], [0.3, 0.1])
    run = a_online(mirrored, rng)
    assert run.completion == pytest.approx([0.3, 0.4, 0.5, 0.6])
    assert run.preemptions == 0


@pytest.mark.parametrize("ceiling", [np.inf, 7.3, 5.0, 1.0])
def test_pouring_takes_the_smallest_terms_below_the_ceiling(ceiling):
    random = np.random.default_rng(5)
    for count in (1, 2, 17, 300):
        levels, step = random.uniform(2, 9, 12), random.uniform(0.1, 3)
        terms = np.sort((levels + step * np.arange(count)[:, np.newaxis]).ravel())
        which, level = pour(levels, step, count, ceiling)
        assert level == pytest.approx(terms[terms <= ceiling][:count])
        assert np.all(level >= levels[which])


# Parameter servers


def test_random_parameter_servers_come_from_the_generator_passed_in(worked_example):
    def chosen(seed: int) -> list[int]:
        run = a_online(worked_example, np.random.default_rng(seed), ps_policy="random")
        return run.service_ps.tolist()

    assert chosen(1) == chosen(1)
    assert {tuple(chosen(seed)) for seed in range(20)} == {(0, 1, CLOUD), (1, 0, CLOUD)}


def test_only_the_random_policy_draws(worked_example):
    random = np.random.default_rng(1)
    before = random.bit_generator.state
    for heuristic in HEURISTICS.values():
        heuristic.run(worked_example, random)
    assert random.bit_generator.state == before


# Variants


def test_edge_only_sends_a_job_without_eligible_worker_to_the_cloud(rng):
    instance = one_worker([0, 0], [2, 3], [4, 4], cloud=1, job_worker_type=[0, 1])
    run = a_online_e(instance, rng)
    assert run.together.tolist() == [False, True]
    assert run.dispatch.tolist() == [0, 0, CLOUD, CLOUD, CLOUD]
    assert run.alpha[2:] == pytest.approx(5 / 3)


def test_no_spill_keeps_a_job_at_the_edge_only_if_all_of_it_beats_the_fast_cloud(rng):
    instance = one_worker([0], [2], [3], cloud=4, chunk_time_fast=2)
    assert a_online_ns(instance, rng).dispatch.tolist() == [0, 0]  # 3 and 6, against 6
    instance = one_worker([0], [3], [3], cloud=4, chunk_time_fast=2)
    assert a_online(instance, rng).dispatch.tolist() == [0, 0, CLOUD]
    assert a_online_ns(instance, rng).together.tolist() == [True]


def test_with_a_margin_the_edge_is_taken_only_where_it_is_that_much_cheaper(rng):
    instance = one_worker([0], [2], [3], cloud=6, chunk_time_fast=2)  # edge 3 and 6, cloud 8
    for margin, together in ((1.0, False), (0.75, False), (0.74, True)):
        assert a_online_ns(instance, rng, edge_margin=margin).together.tolist() == [together]
    cloud = a_online_ns(instance, rng, edge_margin=0.5)
    assert cloud.alpha.sum() == 8  # the price of the cloud is what it was


def test_the_margin_spares_a_job_the_delay_by_one_that_comes_later(rng):
    instance = one_worker([0, 1], [1, 1], [9, 2], cloud=[8, 20], chunk_time_fast=[2, 2])
    assert a_online_ns(instance, rng).total_jct == 11 + 2
    assert HEURISTICS["a_online_margin"].run(instance, rng).total_jct == 10 + 2


def test_all_cloud_takes_upload_and_fast_chunk_time(rng):
    instance = one_worker([0, 3], [2, 3], [3, 4], cloud=[4, 5], chunk_time_fast=[2, 1])
    run = all_cloud(instance, rng, epsilon=1.0)
    assert run.job_completion.tolist() == [5, 8.5]
    assert run.alpha.sum() == pytest.approx(run.chunk_flow.sum())
    assert run.preemptions == 0


def test_every_heuristic_is_listed_under_its_name_with_keyword_options():
    paper = ["a_online", "a_online_e", "srtf", "tiresias_l", "batch_sche"]
    ours = ["a_online_ns", "a_online_margin", "all_cloud", "reoptimise"]
    assert set(HEURISTICS) == {*paper, *ours}
    for name, heuristic in HEURISTICS.items():
        assert heuristic.name == name
        assert heuristic.online
        _, _, *options = inspect.signature(heuristic.run).parameters.values()
        assert options
        assert all(o.kind is o.KEYWORD_ONLY and o.default is not o.empty for o in options)


# Refusals


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"priority": "fifo"}, "priority"),
        ({"pending_rule": "none"}, "pending_rule"),
        ({"ps_policy": "nearest"}, "ps_policy"),
        ({"epsilon": -0.1}, "epsilon"),
        ({"epsilon": np.inf}, "epsilon"),
        ({"epsilon": np.nan}, "epsilon"),
        ({"edge_only": True, "no_spill": True}, "no_spill"),
    ],
)
def test_an_option_out_of_range_is_refused_by_name(worked_example, rng, options, field):
    with pytest.raises(InputError) as caught:
        a_online(worked_example, rng, **options)
    assert [problem.field for problem in caught.value.problems] == [field]


def test_all_cloud_names_every_job_barred_from_the_cloud(rng):
    instance = one_worker([0, 0, 0], 1, [1, 1, 1], cloud=[np.inf, 2, np.inf])
    with pytest.raises(InputError, match="ALL-CLOUD") as caught:
        all_cloud(instance, rng)
    fields = [problem.field for problem in caught.value.problems]
    assert fields == ["upload_delay_cloud[0]", "upload_delay_cloud[2]"]


def test_a_job_that_may_run_nowhere_is_refused_on_arrival(worked_example, rng):
    scheduler = OnlineScheduler(System.of(worked_example), Rules(), rng)
    nowhere = replace(
        worked_example.job(0),
        upload_delay_cloud=np.inf,
        eligible_workers=np.zeros(0, dtype=np.int64),
    )
    with pytest.raises(InputError, match=r"upload_delay_cloud\[0\]"):
        scheduler.arrive(nowhere)


def test_jobs_must_arrive_in_order_of_release(worked_example, rng):
    scheduler = OnlineScheduler(System.of(worked_example), Rules(), rng)
    scheduler.arrive(worked_example.job(2))
    with pytest.raises(InputError, match=r"release_time\[0\]"):
        scheduler.arrive(worked_example.job(0))


def test_a_run_needs_every_job_exactly_once(worked_example, rng):
    scheduler = OnlineScheduler(System.of(worked_example), Rules(), rng)
    with pytest.raises(InputError, match="numbered"):
        scheduler.finish()
    scheduler.arrive(worked_example.job(1))
    with pytest.raises(InputError, match="numbered"):
        scheduler.finish()


def test_algorithm_4_as_printed_is_right_while_no_chunk_waits_behind_a_denser_one(rng):
    queue = one_worker([0, 1, 2], [1, 2, 3], [2, 3, 3])
    run = a_online(queue, rng, printed=True)
    assert run.completion.tolist() == [2, 5, 8, 11, 14, 17]
    assert run.preemptions == 0


def test_algorithm_4_as_printed_is_right_where_all_chunks_are_equally_long(rng):
    equal = one_worker([0, 1], [2, 1], [2, 2])
    for printed in (False, True):
        run = a_online(equal, rng, printed=printed)
        assert (run.job_completion.tolist(), run.preemptions) == ([6, 3], 1)


def test_the_printed_algorithms_refuse_what_they_do_not_read(rng):
    for option in ({"priority": "residual"}, {"pending_rule": "exact"}, {"no_spill": True}):
        with pytest.raises(InputError, match="printed"):
            a_online(one_worker([0], 1, [1]), rng, printed=True, **option)


def test_beta_of_a_worker_in_the_cloud_is_refused(worked_example, rng):
    with pytest.raises(InputError, match="worker"):
        a_online(worked_example, rng).beta(CLOUD, [0])
