"""Instances and decisions: derived numbers, files, refusals."""

import json

import numpy as np
import pytest
from drp_cases import examples, instances, system, worked_drp
from hypothesis import given
from hypothesis import strategies as st

from formulations.drp.decode import schedule_of
from formulations.drp.generator import generate
from formulations.drp.instance import Instance
from formulations.drp.schedule import Schedule
from optsched.errors import InputError
from optsched.instances.document import dumps, parse


def test_loads_of_the_worked_example():
    instance = worked_drp()
    alpha = instance.compute_load.reshape(4, 2)[:, 0]
    beta = instance.comm_load.reshape(4, 2)[:, 0]
    assert alpha == pytest.approx([0.6, 0.6, 0.02, 0.02])
    assert beta == pytest.approx([0.02, 0.02, 0.6, 0.6])
    assert instance.cross_load == pytest.approx(np.full(8, np.sqrt(0.012)))


@given(instance=instances(jobs=3, storage=True, shared_services=True))
@examples(20)
def test_an_instance_survives_its_file(instance):
    again = parse(Instance, json.loads(dumps(instance)))
    for name in ("pair_node", "pair_server", "compute_load", "comm_load", "service_load",
                 "server_storage_bytes", "job_service"):  # fmt: skip
        assert np.array_equal(getattr(again, name), getattr(instance, name))


def test_a_generated_instance_survives_its_file_with_its_map():
    instance = generate(np.random.default_rng(1), jobs=3, topology="grid")
    again = parse(Instance, json.loads(dumps(instance)))
    assert np.array_equal(again.node_xy, instance.node_xy)
    assert np.array_equal(again.server_xy, instance.server_xy)


def test_a_decision_survives_its_file():
    instance = worked_drp()
    made = schedule_of(instance, np.array([0, 1, 0, 1]), services=True)
    again = parse(Schedule, json.loads(dumps(made)))
    for name in ("admit", "assoc", "alloc_job", "alloc_compute", "alloc_outbound",
                 "placed_service", "placed_server"):  # fmt: skip
        assert np.array_equal(getattr(again, name), getattr(made, name))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"node_servers": [[], [0], [0], [1]]}, r"node_servers\[0\]"),
        ({"node_servers": [[0], [7], [0], [1]]}, r"node_servers\[1\]"),
        ({"server_inbound_bps": [0.0, 1e9]}, "server_inbound_bps"),
        ({"server_compute_flops": [0.0, 1e9]}, "server_compute_flops"),
        ({"server_outbound_bps": [1e9, -1.0]}, "server_outbound_bps"),
        ({"server_storage_bytes": [0.0, None]}, "server_storage_bytes"),
        ({"node_data_bytes": [-1.0, 1, 1, 1]}, "node_data_bytes"),
        ({"node_rate_bps": [1.0, 1, 1]}, "node_rate_bps"),
        ({"node_job": [0, 0, 0, 0]}, "node_job"),
        ({"node_job": [0, 1, 2, 9]}, "node_job"),
        ({"job_flops_per_batch": [-1.0, 0, 0, 0]}, "job_flops_per_batch"),
        ({"job_deadline_s": [0.0, 1, 1, 1]}, "job_deadline_s"),
        ({"job_sync_period": [0, 1, 1, 1]}, "job_sync_period"),
        ({"service_size_bytes": [-1.0, 0, 0, 0]}, "service_size_bytes"),
        ({"job_service": [0, 1, 2, 9]}, "job_service"),
        ({"comm_share": 1.0}, "comm_share"),
        ({"node_xy": [[0.0, 0.0]]}, "node_xy"),
    ],
)
def test_bad_input_is_refused_by_its_name(change, field):
    good = json.loads(dumps(worked_drp()))
    good.setdefault("node_servers", worked_drp().node_servers())
    with pytest.raises(InputError, match=field):
        parse(Instance, {**good, **change})


def test_a_job_without_nodes_is_refused_in_arrays_too():
    with pytest.raises(InputError, match="no node of job 1"):
        system([(0, 1, [0])], [1], job_service=[0]).build(
            node_job=[0, 0],
            node_rate_bps=1,
            node_data_bytes=1,
            node_servers=[[0], [0]],
            server_inbound_bps=[1],
            server_compute_flops=1,
            server_outbound_bps=1,
            job_deadline_s=[1, 1],
        )


def test_a_fractional_index_is_refused():
    with pytest.raises(InputError, match="node_job"):
        Instance.build(
            node_job=[0.5], node_rate_bps=1, node_data_bytes=1, node_servers=[[0]],
            server_inbound_bps=[1], server_compute_flops=1, server_outbound_bps=1,
            job_deadline_s=[1],
        )  # fmt: skip


@given(instance=instances(jobs=3), seed=st.integers(0, 100))
@examples(20)
def test_a_pair_is_found_exactly_where_the_server_is_in_reach(instance, seed):
    reach = instance.node_servers()
    for node in range(instance.num_data_nodes):
        for server in range(-1, instance.num_servers + 1):
            pair = int(instance.pair_of(node, server))
            assert (pair >= 0) == (server in reach[node])
            if pair >= 0:
                assert (instance.pair_node[pair], instance.pair_server[pair]) == (node, server)


def test_decision_columns_of_different_lengths_are_refused():
    with pytest.raises(InputError, match="placed"):
        Schedule(
            admit=np.ones(1, dtype=bool), assoc=np.zeros(1, dtype=np.int64),
            alloc_job=np.zeros(0, dtype=np.int64), alloc_server=np.zeros(0, dtype=np.int64),
            alloc_compute=np.zeros(0), alloc_outbound=np.zeros(0),
            placed_service=np.zeros(1, dtype=np.int64), placed_server=np.zeros(0, dtype=np.int64),
        )  # fmt: skip
