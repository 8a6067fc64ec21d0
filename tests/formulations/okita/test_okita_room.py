"""Instance, schedule, checker, generator, plots of the Okita problem."""

import json
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure
from okita_cases import tiny, worked_example

from formulations.okita import PROBLEM, Instance, Schedule
from formulations.okita.check import check, completion_slots, cost, data_costs, exchange_costs
from formulations.okita.latency import CEILING, KINDS, Latencies
from optsched.errors import InputError
from optsched.instances.document import dumps, parse

OPTIMAL = {
    "workers": [(0, 1, 0, 2), (0, 1, 1, 1), (1, 1, 1, 1), (1, 2, 0, 1), (1, 3, 0, 1)],
    "servers": [(0, 1, 1), (1, 1, 1), (1, 2, 0), (1, 3, 0)],
    "moves": [(0, 1, 0, 0, 4), (0, 1, 1, 1, 2), (1, 1, 1, 1, 1), (1, 2, 0, 0, 2), (1, 3, 0, 0, 2)],
}


def changed(**rows):
    return Schedule.build(**{**OPTIMAL, **rows})


def test_the_printed_schedule_of_the_worked_example_is_feasible_and_costs_12():
    instance, schedule = worked_example(), Schedule.build(**OPTIMAL)
    assert check(instance, schedule) == []
    assert cost(instance, schedule) == pytest.approx(12.0)
    assert exchange_costs(instance, schedule).tolist() == [4.0, 0.0]
    assert data_costs(instance, schedule).tolist() == [0.0, 0.0]
    assert completion_slots(instance, schedule).tolist() == [1, 3]


@pytest.mark.parametrize(
    ("label", "index", "amount", "rows"),
    [
        ("2a", {"job": 1, "site": 0}, 2, {"moves": OPTIMAL["moves"][:-1]}),
        ("2b", {"job": 0, "site": 1, "slot": 1}, 2,
         {"workers": [(0, 1, 0, 2), *OPTIMAL["workers"][2:]]}),
        ("2c", {"job": 1, "slot": 3}, 1, {"servers": OPTIMAL["servers"][:-1]}),
        ("2c", {"job": 0, "slot": 2}, 1, {"servers": [*OPTIMAL["servers"], (0, 2, 1)]}),
        ("2d", {"site": 1, "resource": 0, "slot": 1}, 2,
         {"workers": [*OPTIMAL["workers"], (0, 1, 1, 2)]}),
        ("2f", {"worker": 5}, 1, {"workers": [*OPTIMAL["workers"], (1, 3, 1, -1)]}),
        ("2f", {"move": 5}, 1, {"moves": [*OPTIMAL["moves"], (0, 1, 0, 7, 1)]}),
        ("2g", {"server": 4}, 1, {"servers": [*OPTIMAL["servers"], (9, 1, 0)]}),
    ],
)  # fmt: skip
def test_the_checker_names_the_constraint_that_is_broken(label, index, amount, rows):
    found = check(worked_example(), changed(**rows))
    assert (label, index, float(amount)) in [(v.constraint, dict(v.index), v.amount) for v in found]


def test_training_local_chunks_that_a_site_does_not_have_is_refused():
    """Six 'local' chunks of job 0 at site 1: the aggregate of (2a) holds, (2a) does not."""
    moves = [(0, 1, 1, 1, 6), *OPTIMAL["moves"][2:]]
    found = {v.constraint: v for v in check(worked_example(), changed(moves=moves))}
    assert "2a" in found


def test_a_job_that_never_runs_or_runs_before_its_release_is_reported():
    instance = worked_example()
    empty = Schedule.build()
    assert {v.constraint for v in check(instance, empty)} == {"2a", "2e"}
    assert cost(instance, empty) == np.inf
    early = replace(instance, release_slot=np.array([2, 1]), horizon=2)
    found = [v for v in check(early, Schedule.build(**OPTIMAL)) if v.constraint == "2h"]
    assert dict(found[0].index) == {"job": 0, "slot": 1}


def test_the_horizon_binds_only_where_it_is_asked_to():
    instance, schedule = worked_example(), Schedule.build(**OPTIMAL)
    late = check(instance, schedule, within_horizon=True)
    assert [(v.constraint, dict(v.index), v.amount) for v in late] == [("T", {"job": 1}, 2.0)]


@pytest.mark.parametrize("seed", range(5))
def test_files_give_back_what_was_written(seed):
    instance = tiny(seed)
    text = dumps(instance)
    again = parse(Instance, json.loads(text))
    assert dumps(again) == text
    assert np.array_equal(again.useful_workers, instance.useful_workers)
    schedule = Schedule.build(**OPTIMAL)
    assert cost(worked_example(), parse(Schedule, json.loads(dumps(schedule)))) == pytest.approx(12)


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("jobs[0].release_slot", {"release_slot": np.array([0, 1])}),
        ("jobs[0].num_chunks", {"num_chunks": np.array([[0, 0], [1, 1]])}),
        ("unit_bandwidth_cost[0][0]", {"unit_bandwidth_cost": np.ones((2, 2))}),
        ("jobs[1].worker_demand", {"worker_demand": np.array([[1], [0]])}),
        ("jobs[0].worker_demand", {"worker_demand": np.array([[5], [1]])}),
        ("jobs[0].chunk_size_mb", {"chunk_size_mb": np.array([np.nan, 1.0])}),
        ("jobs[0].latency.late", {"latency": Latencies.build("piecewise", [9.0, 9.0], late=1.0)}),
    ],
)
def test_bad_instances_are_refused_by_field(field, change):
    with pytest.raises(InputError) as caught:
        replace(worked_example(), **change)
    assert any(problem.field.startswith(field) for problem in caught.value.problems)


def test_rates_are_fractions_not_floats():
    instance = replace(
        worked_example(),
        capacity=np.array([[2], [20]]),
        rate_numerator=np.array([1, 3]),
        rate_denominator=np.array([3, 1]),
    )
    # 1/3 of a chunk-epoch per worker and two epochs: six workers for a chunk
    assert instance.chunks_done(0, [5, 6, 11, 12]).tolist() == [0, 1, 1, 2]
    assert instance.workers_needed(0, [1, 2]).tolist() == [6, 12]
    assert instance.chunks_done(1, [1, 2]).tolist() == [1, 3]


def test_latency_functions_take_their_printed_values():
    law = Latencies.build(
        ["exponential", "linear", "piecewise"], [20.0, 30.0, 40.0], offset=50.0, late=300.0,
        breakpoint=3,
    )  # fmt: skip
    assert law.cost([0, 1, 2], 0).tolist() == [20.0, 50.0, 40.0]
    assert law.cost([0, 1, 2], 4) == pytest.approx([20 * np.e, 170.0, 300.0])
    assert law.cost(2, [2, 3]).tolist() == [40.0, 300.0]
    assert law.cost(0, 100_000) == CEILING


@pytest.mark.parametrize("workload", ["simulation", "testbed"])
@pytest.mark.parametrize("latency", ["exponential", "linear", "piecewise"])
def test_generated_instances_keep_to_the_papers_ranges(workload, latency):
    options = {"jobs": 20, "sites": 9, "horizon": 10, "workload": workload, "latency": latency}
    instance = PROBLEM.generate(np.random.default_rng(1), **options)
    again = PROBLEM.generate(np.random.default_rng(1), **options)
    assert dumps(instance) == dumps(again)
    q = instance.unit_bandwidth_cost[~np.eye(9, dtype=bool)]
    assert (q >= 0.02).all()
    assert (q <= 0.08).all()
    one = instance.chunks_done(np.arange(20), 1)
    assert (one >= 5).all()
    assert (one <= 15).all()
    if workload == "simulation":
        assert (instance.num_chunks >= 10).all()
        assert (instance.num_chunks <= 20).all()
        assert (instance.ps_demand[:, 0] == 0).all()
    else:
        assert set(instance.total_chunks.tolist()) <= {27, 115, 150}


def test_charts_show_every_site_and_the_share_held():
    instance, schedule = worked_example(), Schedule.build(**OPTIMAL)
    first, second = Figure().subplots(1, 2)
    PROBLEM.pictures["gantt"](first, instance, schedule)
    labels = [text.get_text() for text in first.get_yticklabels()]
    assert [label for label in labels if label] == ["site 0", "site 1"]
    stars = first.collections[-1].get_offsets()
    assert len(stars) == 4
    PROBLEM.pictures["utilisation"](second, instance, schedule)
    assert second.lines[0].get_ydata().tolist() == [1.0, 2 / 6, 2 / 6]


def test_costs_looked_up_slot_by_slot_are_those_of_the_function_and_nobody_elses():
    law = Latencies.build(KINDS, [2.0, 3.0, 4.0], rate=0.1, breakpoint=3, late=9.0, offset=1.0)
    for slots in (3, 0, 5, 2, 40):
        for i in range(3):
            found = law.of_slots(i, slots)
            assert found == pytest.approx(law.cost(i, np.arange(slots)), rel=0, abs=0)
            assert not found.flags.writeable
