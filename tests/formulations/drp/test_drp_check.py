"""The checker names what is broken, by the paper's numbers."""

from dataclasses import replace

import numpy as np
import pytest
from drp_cases import examples, instances, worked_drp, worked_dsrp
from hypothesis import given

from formulations.drp.check import bandwidth_cost, check, check_dsrp, cost, utilisation
from formulations.drp.decode import schedule_of
from formulations.drp.instance import NO_SERVER, Instance
from formulations.drp.schedule import Schedule
from optsched.errors import InputError


def broken(violations) -> set[str]:
    return {violation.constraint for violation in violations}


@pytest.fixture
def good() -> tuple[Instance, Schedule]:
    instance = worked_drp()
    return instance, schedule_of(instance, np.array([0, 1, 0, 1]))


def test_the_optimal_decision_of_the_worked_example_breaks_nothing(good):
    assert check(*good) == []
    assert cost(*good) == 4


def test_an_admitted_job_needs_all_its_nodes(good):
    instance, schedule = good
    assert broken(check(instance, replace(schedule, assoc=np.array([NO_SERVER, 1, 0, 1])))) == {
        "5b"
    }


def test_a_node_of_a_job_not_admitted_has_no_server(good):
    instance, schedule = good
    admit = schedule.admit.copy()
    admit[0] = False
    assert broken(check(instance, replace(schedule, admit=admit))) == {"5b"}


def test_a_server_out_of_reach_does_not_count(good):
    instance, schedule = good
    narrow = Instance.build(
        **{
            name: getattr(instance, name)
            for name in (
                "node_job", "node_rate_bps", "node_data_bytes", "server_inbound_bps",
                "server_compute_flops", "server_outbound_bps", "job_deadline_s",
                "job_batch_bytes", "job_flops_per_batch", "job_model_bytes", "job_sync_period",
            )
        },
        node_servers=[[1], [0, 1], [0, 1], [0, 1]],
    )  # fmt: skip
    assert "5b" in broken(check(narrow, schedule))


def test_each_capacity_and_the_deadline_have_their_numbers(good):
    instance, schedule = good
    slow = replace(instance, server_inbound_bps=np.array([5e8, 1e9]))
    assert broken(check(slow, schedule)) == {"5c"}
    weak = replace(instance, server_compute_flops=np.array([80e9, 100e9]))
    assert broken(check(weak, schedule)) == {"5d"}
    thin = replace(instance, server_outbound_bps=np.array([0.8e9, 1e9]))
    assert broken(check(thin, schedule)) == {"5e"}
    hurried = replace(instance, job_deadline_s=np.array([999.0, 1000, 1000, 1000]))
    late = check(hurried, schedule)
    assert broken(late) == {"5f"}
    assert late[0].amount == pytest.approx(1.0)
    assert late[0].index == {"job": 0, "server": 0}


def test_negative_and_misplaced_allocations_break_the_domain(good):
    instance, schedule = good
    compute = schedule.alloc_compute.copy()
    compute[0] *= -1
    assert "5i" in broken(check(instance, replace(schedule, alloc_compute=compute)))
    server = schedule.alloc_server.copy()
    server[0] = 9
    assert {"5i", "5f"} == broken(check(instance, replace(schedule, alloc_server=server)))


def test_services_must_be_placed_and_fit():
    instance = worked_dsrp()
    made = schedule_of(instance, np.array([0, 1, 1, NO_SERVER]), services=True)
    assert check_dsrp(instance, made) == []
    bare = replace(made, placed_service=np.zeros(0, dtype=np.int64),
                   placed_server=np.zeros(0, dtype=np.int64))  # fmt: skip
    assert broken(check_dsrp(instance, bare)) == {"22c"}
    three = schedule_of(instance, np.array([0, 0, 0, 1]), services=True)
    found = check_dsrp(instance, three)
    assert broken(found) == {"22d"}
    assert found[0].amount == pytest.approx(10e9)
    assert utilisation(instance, three)["storage"] == pytest.approx(4 / 3)
    astray = replace(made, placed_server=np.array([7, 1]))
    assert "22k" in broken(check_dsrp(instance, astray))


@given(instance=instances(jobs=3, storage=True))
@examples(30)
def test_dsrp_breaks_whatever_drp_breaks_under_its_own_numbers(instance):
    made = schedule_of(instance, instance.pair_server[instance.first_pair[:-1]], services=True)
    names = {"5b": "22b", "5c": "22e", "5d": "22f", "5e": "22g", "5f": "22h", "5i": "22l"}
    both = broken(check_dsrp(instance, made))
    assert {names[number] for number in broken(check(instance, made))} <= both


def test_bandwidth_cost_counts_rates_of_admitted_jobs_and_outbound_reserved(good):
    parts = bandwidth_cost(*good)
    assert parts.inbound == pytest.approx(300e6)
    assert parts.outbound == pytest.approx(2 * 0.839089e9 / 4, rel=1e-5)
    assert parts.total == pytest.approx(parts.inbound + parts.outbound)
    instance, _ = good
    nothing = Schedule.empty(instance.num_jobs, instance.num_data_nodes)
    assert bandwidth_cost(instance, nothing).total == 0


def test_a_decision_about_another_system_is_refused(good):
    instance, _ = good
    with pytest.raises(InputError, match="assoc"):
        check(instance, Schedule.empty(4, 3))
    with pytest.raises(InputError, match="admit"):
        check(instance, Schedule.empty(3, 4))
