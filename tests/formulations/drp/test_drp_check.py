"""The checker names what is broken, by the paper's numbers."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from drp_cases import examples, instances, system, worked_drp, worked_dsrp
from hypothesis import given

from formulations.drp.check import (
    MEASURES,
    TOLERANCE,
    bandwidth_cost,
    check,
    check_dsrp,
    cost,
    utilisation,
)
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


Found = list[tuple[str, dict[str, int], float]]


def violations(instance: Instance, *, dsrp: bool = False, **rows: Any) -> Found:
    """Every violation with its index and amount, of a decision that admits every job."""
    made = Schedule.build(**{"admit": np.ones(instance.num_jobs, dtype=bool), **rows})
    found = (check_dsrp if dsrp else check)(instance, made)
    return [(v.constraint, dict(v.index), v.amount) for v in found]


def pair(**changes: Any) -> Instance:
    """Two jobs of one node each, which take half of a server of one in every respect."""
    fields: dict[str, Any] = {
        "nodes": [(0, 0.5, [0, 1]), (1, 0.5, [1])], "inbound": [1.0, 1.0],
        "alpha": 0.25, "beta": 0.25,
    }  # fmt: skip
    return system(**{**fields, **changes})


ENOUGH = [(0, 0, 0.5, 0.5), (1, 1, 0.5, 0.5)]
FORGIVEN = pytest.mark.parametrize(
    ("excess", "forgiven"), [(0.9e-9, True), (1e-9, True), (1.1e-9, False), (0.5, False)]
)


def test_the_tolerance_is_a_billionth():
    assert TOLERANCE == 1e-9
    assert violations(pair(), assoc=[0, 1], allocations=ENOUGH) == []


def only(found: Found, label: str, index: dict[str, int], amount: float, forgiven: bool) -> None:
    expected = [] if forgiven else [(label, index, pytest.approx(amount, rel=1e-6))]
    assert found == expected


@FORGIVEN
def test_5c_forgives_inbound_bandwidth_a_billionth(excess: float, forgiven: bool):
    instance = pair(nodes=[(0, 1 + excess, [0, 1]), (1, 0.5, [1])])
    found = violations(instance, assoc=[0, 1], allocations=ENOUGH)
    only(found, "5c", {"server": 0}, excess, forgiven)


@FORGIVEN
def test_5d_and_5e_forgive_allocations_a_billionth(excess: float, forgiven: bool):
    for number, column in (("5d", 2), ("5e", 3)):
        rows = np.array(ENOUGH)
        rows[1, column] = 1 + excess
        found = violations(pair(), assoc=[0, 1], allocations=rows)
        only(found, number, {"server": 1}, excess, forgiven)


@FORGIVEN
def test_5f_forgives_a_job_a_billionth_of_its_deadline(excess: float, forgiven: bool):
    # all of the time is for computing: one FLOP/s does a bit more than one FLOP a second
    instance = pair(alpha=[1 + excess, 0], beta=0)
    found = violations(instance, assoc=[0, 1], allocations=[(0, 0, 1, 0)])
    only(found, "5f", {"job": 0, "server": 0}, excess, forgiven)


def test_5f_counts_seconds_of_computing_and_sending():
    slow = replace(pair(), job_deadline_s=np.array([2.0, 4.0]))
    # half of the deadline goes into either
    found = violations(slow, assoc=[0, 1], allocations=[(0, 0, 0.25, 0.25), (1, 1, 0.125, 0.125)])
    assert found == []
    found = violations(slow, assoc=[0, 1], allocations=[(0, 0, 0.125, 0.25), (1, 1, 0.25, 0.125)])
    assert found == [("5f", {"job": 0, "server": 0}, 0.5 * 2)]


def test_5f_is_endless_without_resources_unless_nothing_is_asked_for():
    late = [("5f", {"job": k, "server": k}, np.inf) for k in (0, 1)]
    assert violations(pair(), assoc=[0, 1]) == late
    rows = np.array(ENOUGH)
    rows[0, 2], rows[1, 3] = 0, 0
    assert violations(pair(), assoc=[0, 1], allocations=rows) == late
    assert violations(pair(alpha=0, beta=0), assoc=[0, 1]) == []
    assert violations(pair(alpha=0, beta=0), assoc=[0, 1], allocations=ENOUGH) == []


def test_allocations_of_one_job_on_one_server_add_up():
    rows = [(0, 0, 0.25, 0.5), (1, 1, 0.5, 0.5), (0, 0, 0.25, 0)]
    assert violations(pair(), assoc=[0, 1], allocations=rows) == []


@pytest.mark.parametrize("server", [NO_SERVER, 2, 0])
def test_5b_is_all_that_is_said_of_a_node_out_of_reach(server: int):
    """Server 0 is not one of node 1's; what the node would take there is not asked for."""
    found = violations(pair(), assoc=[0, server], allocations=ENOUGH)
    assert found == [("5b", {"node": 1}, 1.0)]


def test_5f_asks_nothing_of_a_server_out_of_reach():
    found = violations(pair(), assoc=[0, 0], allocations=ENOUGH[:1])
    assert found == [("5b", {"node": 1}, 1.0)]


@pytest.mark.parametrize(("job", "server"), [(-1, 0), (2, 0), (0, -1), (0, 2)])
@pytest.mark.parametrize("amount", [0.0, 0.5, 3.0])
def test_5i_allocations_to_no_such_job_or_server_count_one_and_for_nothing_else(
    job: int, server: int, amount: float
):
    rows = [*ENOUGH, (job, server, amount, amount)]
    found = violations(pair(), assoc=[0, 1], allocations=rows)
    assert found == [("5i", {"row": 2}, 1.0)]
    rows = [*ENOUGH[:1], (job, server, 0.5, 0.5)]  # neither does it serve anyone
    found = violations(pair(), assoc=[0, 1], allocations=rows)
    assert found == [("5f", {"job": 1, "server": 1}, np.inf), ("5i", {"row": 1}, 1.0)]


@pytest.mark.parametrize("amounts", [(0.5, -0.25), (-0.25, 0.5), (-0.25, -0.125)])
def test_5i_counts_how_far_an_amount_is_below_zero(amounts: tuple[float, float]):
    found = violations(pair(), assoc=[0, 1], allocations=[*ENOUGH, (0, 1, *amounts)])
    assert found == [("5i", {"row": 2}, 0.25)]
    found = violations(pair(), assoc=[0, 1], allocations=[*ENOUGH, (0, 7, *amounts)])
    assert found == [("5i", {"row": 2}, 0.25)]


@pytest.mark.parametrize(("column", "number"), [(2, "5d"), (3, "5e")])
@pytest.mark.parametrize("amount", [np.inf, np.nan])
def test_5i_wants_finite_amounts(column: int, number: str, amount: float):
    rows = np.array([*ENOUGH, (0, 1, 0, 0)])
    rows[2, column] = amount
    found = violations(pair(), assoc=[0, 1], allocations=rows)
    assert ("5i", {"row": 2}, 1.0) in found
    assert {label for label, _, _ in found} <= {"5i", number}


def with_services(**changes: Any) -> Instance:
    return pair(server_storage_bytes=[1.0, 1.0], service_size_bytes=[1.0, 0.5], **changes)


def test_22c_asks_for_the_service_of_every_node_where_it_is():
    def found(placements: list[tuple[int, int]]) -> Found:
        rows = {"allocations": ENOUGH, "placements": placements}
        return violations(with_services(), dsrp=True, assoc=[0, 1], **rows)

    assert found([(0, 0), (1, 1)]) == []
    assert found([(1, 1)]) == [("22c", {"node": 0, "server": 0}, 1.0)]
    assert found([(0, 0)]) == [("22c", {"node": 1, "server": 1}, 1.0)]
    assert found([(0, 0), (0, 1)]) == [("22c", {"node": 1, "server": 1}, 1.0)]


def test_22c_says_nothing_of_nodes_without_a_server_of_theirs():
    for server in (NO_SERVER, 0, 2):
        found = violations(with_services(), dsrp=True, assoc=[0, server], allocations=ENOUGH,
                           placements=[(0, 0)])  # fmt: skip
        assert found == [("22b", {"node": 1}, 1.0)]


@FORGIVEN
def test_22d_forgives_storage_a_billionth(excess: float, forgiven: bool):
    instance = pair(server_storage_bytes=1.0, service_size_bytes=[1 + excess, 0.5])
    found = violations(instance, dsrp=True, assoc=[0, 1], allocations=ENOUGH,
                       placements=[(0, 0), (1, 1)])  # fmt: skip
    only(found, "22d", {"server": 0}, excess, forgiven)


@pytest.mark.parametrize(("excess", "kept"), [(0, True), (1, False)])
def test_22d_and_5c_are_exact_in_whole_numbers(excess: int, kept: bool):
    room = 10**12
    full = pair(server_storage_bytes=room, service_size_bytes=[room + excess, 1])
    stored = violations(full, dsrp=True, assoc=[0, 1], allocations=ENOUGH,
                        placements=[(0, 0), (1, 1)])  # fmt: skip
    assert stored == ([] if kept else [("22d", {"server": 0}, 1.0)])
    busy = pair(nodes=[(0, room + excess, [0, 1]), (1, 1, [1])], inbound=[room, room])
    received = violations(busy, assoc=[0, 1], allocations=ENOUGH)
    assert received == ([] if kept else [("5c", {"server": 0}, 1.0)])


@pytest.mark.parametrize("row", [(-1, 1), (2, 1), (0, -1), (0, 2)])
def test_22k_counts_placements_of_no_such_service_or_on_no_such_server(row: tuple[int, int]):
    found = violations(with_services(), dsrp=True, assoc=[0, 1], allocations=ENOUGH,
                       placements=[(0, 0), (1, 1), row])  # fmt: skip
    assert found == [("22k", {"row": 2}, 1.0)]


def test_utilisation_is_the_largest_load_over_capacity_of_any_server():
    instance = system(
        [(0, 1, [0, 1]), (1, 3, [1])], [2, 12], compute=[4, 8], outbound=[16, 2],
        server_storage_bytes=[5, 20], service_size_bytes=[1, 2],
    )  # fmt: skip
    made = Schedule.build(
        admit=[True, True], assoc=[0, 1], allocations=[(0, 0, 1, 4), (1, 1, 6, 1)],
        placements=[(0, 0), (1, 1)],
    )  # fmt: skip
    expected = {"inbound": 0.5, "compute": 0.75, "outbound": 0.5, "storage": 0.2}
    assert utilisation(instance, made) == expected


def test_bandwidth_cost_of_one_job_is_all_its_own():
    made = Schedule.build(admit=[False, True], assoc=[NO_SERVER, 1], allocations=[(1, 1, 0, 0.75)])
    assert bandwidth_cost(pair(), made) == (0.5, 0.75)
    assert bandwidth_cost(pair(), made).total == 1.25
    assert MEASURES["gbit_per_s_per_job"](pair(), made) == 1.25 / 1e9
