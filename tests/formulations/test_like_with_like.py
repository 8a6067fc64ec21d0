"""One seed compares like with like: the same jobs meet more servers, few jobs are some of many."""

import numpy as np
import pytest

from formulations.aerialedge.generator import hard
from formulations.batch.generator import generate as batch
from formulations.drp.generator import generate as drp
from formulations.okita.generator import generate as okita
from formulations.preemptive.generator import generate as preemptive

JOBS = {
    batch: ("release_slot", "num_chunks", "work_slow", "worker_type", "ps_type", "weight"),
    preemptive: ("release_time", "num_chunks", "chunk_time_slow", "gang_size", "job_worker_type"),
    okita: ("release_slot", "epochs", "chunk_size_mb", "exchange_size_mb", "worker_demand"),
}
"""Generators whose jobs come in order of arrival, and some of what their jobs have."""

SERVERS = {
    batch: ("worker_capacity", "ps_capacity"),
    preemptive: ("worker_server", "worker_type", "ps_type"),
    okita: ("capacity",),
}
PLACES = {batch: "servers", preemptive: "servers", okita: "sites"}
DELAYS = {batch: "upload_delay", preemptive: "upload_delay_edge", okita: "num_chunks"}


def drawn(generate, **options):
    return generate(np.random.default_rng(5), **options)


def rows(instance, names):
    """What each job has, as tuples."""
    columns = [np.asarray(getattr(instance, name)) for name in names]
    return [tuple(map(str, (column[j] for column in columns))) for j in range(len(columns[0]))]


@pytest.mark.parametrize("generate", JOBS)
def test_the_same_jobs_meet_30_60_and_120_servers(generate):
    few, *more = (drawn(generate, jobs=40, **{PLACES[generate]: n}) for n in (30, 60, 120))
    for many in more:
        assert rows(few, JOBS[generate]) == rows(many, JOBS[generate])
        delays = [np.asarray(getattr(one, DELAYS[generate]))[:, :30] for one in (few, many)]
        assert np.array_equal(*delays)


@pytest.mark.parametrize("generate", JOBS)
def test_50_jobs_are_among_100_and_meet_the_same_servers(generate):
    few, many = (drawn(generate, jobs=n, **{PLACES[generate]: 20}) for n in (50, 100))
    assert set(rows(few, JOBS[generate])) < set(rows(many, JOBS[generate]))
    for name in SERVERS[generate]:
        assert np.array_equal(getattr(few, name), getattr(many, name))


@pytest.mark.parametrize("generate", [batch, okita])
def test_the_first_servers_stay_when_more_are_added(generate):
    few, many = (drawn(generate, jobs=10, **{PLACES[generate]: n}) for n in (20, 30))
    for name in SERVERS[generate]:
        assert np.array_equal(getattr(few, name)[:20], getattr(many, name)[:20])


@pytest.mark.parametrize("topology", ["hexagon", "grid"])
def test_the_list_of_20_jobs_of_drp_begins_with_that_of_10_on_the_same_servers(topology):
    few, many = (drawn(drp, jobs=n, topology=topology) for n in (10, 20))
    for name in (
        "node_xy",
        "node_rate_bps",
        "node_data_bytes",
        "job_model_bytes",
        "job_deadline_s",
    ):
        short = getattr(few, name)
        assert np.array_equal(short, getattr(many, name)[: len(short)])
    for name in ("server_xy", "server_inbound_bps", "server_storage_bytes"):
        assert np.array_equal(getattr(few, name), getattr(many, name))


def test_the_list_of_77_tasks_begins_with_that_of_40():
    few, many = (hard(n, np.random.default_rng(5)) for n in (40, 77))
    assert np.array_equal(few.demand, many.demand[:40])
    assert np.array_equal(few.exec_time, many.exec_time[:40])
