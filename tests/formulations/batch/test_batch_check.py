"""The checker: every constraint of (2), broken one at a time."""

from collections.abc import Sequence

import numpy as np
import pytest
from batch_cases import worked_example

from formulations.batch.check import (
    check,
    completion_slots,
    cost,
    steps,
    weighted_completion,
)
from formulations.batch.instance import Instance
from formulations.batch.schedule import Schedule
from optsched.errors import InputError

Found = list[tuple[str, dict[str, int], float]]

OPTIMAL = [(0, 2, 3, 1, 1), (1, 2, 2, 1, 0), (2, 3, 3, 1, 0)]
PLACES = [(0, 1, 1), (1, 0, 4), (2, 0, 3)]


def broken(
    runs: Sequence[Sequence[int]] = OPTIMAL,
    places: Sequence[Sequence[int]] = PLACES,
    overhead: int | Sequence[int] = 0,
    **options: bool,
) -> dict[str, float]:
    made = Schedule.build(runs=runs, placements=places, overhead=overhead)
    return {v.constraint: v.amount for v in check(worked_example(), made, **options)}


def violations(
    instance: Instance,
    runs: Sequence[Sequence[int]] = OPTIMAL,
    places: Sequence[Sequence[int]] = PLACES,
    **options: bool,
) -> Found:
    """Every violation with its index and amount."""
    made = Schedule.build(runs=runs, placements=places)
    return [(v.constraint, dict(v.index), v.amount) for v in check(instance, made, **options)]


def test_the_worked_examples_optimum_is_feasible_and_costs_four() -> None:
    assert broken() == {}
    made = Schedule.build(runs=OPTIMAL, placements=PLACES)
    assert cost(worked_example(), made) == 4
    assert completion_slots(worked_example(), made).tolist() == [3, 2, 3]


@pytest.mark.parametrize(
    ("runs", "places", "found"),
    [
        # three workers for two chunks
        ([(0, 2, 3, 0, 0), *OPTIMAL[1:]], [(0, 1, 1), (0, 2, 2), *PLACES[1:]], {"2a", "2i"}),
        # two runs at once; and a second run of a job
        ([*OPTIMAL, (0, 3, 3, 1, 1)], [*PLACES, (3, 1, 1)], {"2b", "2c", "2g", "2h"}),
        # a slot too few
        ([(0, 2, 2, 1, 1), *OPTIMAL[1:]], PLACES, {"2e"}),
        # fast, but the parameter server is elsewhere
        ([(0, 2, 3, 1, 0), *OPTIMAL[1:]], PLACES, {"2f"}),
        # more workers than the server has
        ([OPTIMAL[0], OPTIMAL[1], (2, 3, 3, 1, 1)], [PLACES[0], PLACES[1], (2, 1, 3)],
         {"2g", "2h"}),
        # before the upload is done, at the parameter server's end only
        ([(0, 2, 5, 0, 2), *OPTIMAL[1:]], PLACES, {"2i"}),
        # a job that never runs
        (OPTIMAL[:2], PLACES[:2], {"2j"}),
        # a server that does not exist
        ([(0, 2, 3, 1, 7), *OPTIMAL[1:]], PLACES, {"2l"}),
        # a run without workers
        (OPTIMAL, PLACES[1:], {"2l"}),
    ],
)  # fmt: skip
def test_a_broken_constraint_is_named(
    runs: Sequence[Sequence[int]], places: Sequence[Sequence[int]], found: set[str]
) -> None:
    assert set(broken(runs, places)) == found


def test_parameter_servers_are_counted_per_slot() -> None:
    runs = [(0, 2, 3, 1, 0), (1, 2, 5, 0, 0), (2, 3, 8, 0, 0)]
    places = [(0, 0, 1), (1, 0, 2), (2, 0, 1)]
    assert broken(runs, places) == {"2h": 1.0}


def test_a_job_on_one_server_may_run_at_the_slow_speed() -> None:
    runs = [(0, 2, 5, 0, 1), *OPTIMAL[1:]]
    assert broken(runs) == {}


def test_preemption_and_early_starts_are_excused_only_where_allowed() -> None:
    runs = [(0, 2, 2, 1, 1), (0, 4, 4, 1, 1), *OPTIMAL[1:]]
    places = [(0, 1, 1), (1, 1, 1), (2, 0, 4), (3, 0, 3)]
    assert set(broken(runs, places)) == {"2c"}
    assert broken(runs, places, allow_preemption=True) == {}
    early = [(0, 1, 2, 1, 1), *OPTIMAL[1:]]
    assert set(broken(early)) == {"2i"}
    assert broken(early, ignore_upload=True) == {}


def test_slots_held_without_progress_do_no_work() -> None:
    assert set(broken(overhead=[1, 0, 0])) == {"2e"}


def test_speeds_of_several_runs_add_up_exactly() -> None:
    # half of the job at the fast speed, half at the slow one
    runs = [(0, 2, 2, 1, 1), (0, 3, 4, 0, 1), *OPTIMAL[1:]]
    places = [(0, 1, 1), (1, 1, 1), (2, 0, 4), (3, 0, 3)]
    assert broken(runs, places, allow_preemption=True) == {}
    runs[1] = (0, 3, 3, 0, 1)
    assert broken(runs, places, allow_preemption=True) == {"2e": 0.25}


def test_part_of_a_schedule_may_be_judged() -> None:
    assert broken(OPTIMAL[:2], PLACES[:2], complete=False) == {}


def test_a_run_that_ends_before_it_starts_is_refused() -> None:
    with pytest.raises(InputError, match=r"runs\[0\]"):
        Schedule.build(runs=[(0, 3, 2, True, 0)], placements=[(0, 0, 1)])
    with pytest.raises(InputError, match="place_run"):
        Schedule.build(runs=[(0, 1, 2, True, 0)], placements=[(1, 0, 1)])


def test_loads_add_up_piece_by_piece() -> None:
    key, start, end, load = steps(
        np.array([1, 1, 0]), np.array([0, 2, 5]), np.array([4, 6, 7]), np.array([2, 3, 1])
    )
    assert list(zip(key, start, end, load, strict=True)) == [
        (0, 5, 7, 1), (1, 0, 2, 2), (1, 2, 4, 5), (1, 4, 6, 3),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("run", "place", "found"),
    [
        ((3, 2, 3, 1, 1), (0, 1, 1), ("2l", {"run": 0, "job": 3}, 1)),
        ((-1, 2, 3, 1, 1), (0, 1, 1), ("2l", {"run": 0, "job": -1}, 1)),
        ((0, 2, 3, 0, 3), (0, 1, 1), ("2l", {"run": 0, "ps_server": 3}, 1)),
        ((0, 2, 3, 0, -1), (0, 1, 1), ("2l", {"run": 0, "ps_server": -1}, 1)),
        ((0, 0, 3, 1, 1), (0, 1, 1), ("2l", {"run": 0, "start": 0}, 1)),
        ((0, 2, 3, 0, 1), (0, 3, 1), ("2l", {"run": 0, "server": 3}, 1)),
        ((0, 2, 3, 0, 1), (0, -1, 1), ("2l", {"run": 0, "server": -1}, 1)),
        ((0, 2, 3, 0, 1), (0, 1, -1), ("2l", {"run": 0, "workers": -1}, 1)),
    ],
)
def test_jobs_servers_slots_and_workers_out_of_range_break_2l_and_nothing_else_is_judged(
    run: Sequence[int], place: Sequence[int], found: tuple[str, dict[str, int], float]
) -> None:
    seen = violations(worked_example(), [run, *OPTIMAL[1:]], [place, *PLACES[1:]])
    assert seen == [found]


def test_the_first_and_last_job_server_and_slot_are_in_range() -> None:
    ready = worked_example(upload_delay=[0, 0, 0])
    last = [(0, 1, 2, 1, 2), (1, 1, 1, 1, 0), (2, 2, 2, 1, 2)]
    assert violations(ready, last, [(0, 2, 1), (1, 0, 4), (2, 2, 3)]) == []


def test_runs_of_jobs_that_do_not_exist_complete_nothing() -> None:
    made = Schedule.build(runs=[(0, 2, 3, 1, 1), (-1, 1, 9, 1, 0), (3, 1, 9, 1, 0)], placements=[])
    assert completion_slots(worked_example(), made).tolist() == [3, np.inf, np.inf]
    assert cost(worked_example(), made) == np.inf
    assert weighted_completion(worked_example(), made) == np.inf


def test_completion_counts_the_last_run_and_its_weight() -> None:
    made = Schedule.build(runs=[(0, 4, 5, 1, 1), (0, 2, 3, 1, 1), *OPTIMAL[1:]], placements=[])
    assert completion_slots(worked_example(), made).tolist() == [5, 2, 3]
    assert weighted_completion(worked_example(weight=[1, 2, 3]), made) == 5 + 2 * 2 + 3 * 3


def test_2a_counts_the_workers_beyond_the_chunks() -> None:
    instance = worked_example(num_chunks=[2, 3, 3])
    assert violations(instance) == [("2a", {"job": 1, "slot": 2}, 1)]
    assert violations(worked_example(num_chunks=[2, 4, 3])) == []


def test_2b_holds_on_the_slots_that_two_runs_of_a_job_share() -> None:
    runs = [(0, 4, 7, 1, 1), (0, 2, 4, 1, 1), *OPTIMAL[1:]]
    places = [(0, 1, 1), (1, 1, 1), (2, 0, 4), (3, 0, 3)]
    roomy = worked_example(worker_capacity=[[4], [2], [np.inf]], ps_capacity=[[2], [2], [np.inf]])
    shared = [("2b", {"job": 0, "slot": 4, "end": 4}, 1)]
    assert violations(roomy, runs, places, allow_preemption=True) == shared
    assert violations(roomy, runs, places) == [*shared, ("2c", {"job": 0}, 1)]
    runs[0] = (0, 5, 7, 1, 1)
    assert violations(roomy, runs, places) == [("2c", {"job": 0}, 1)]


def test_2c_counts_the_runs_beyond_one() -> None:
    runs = [(0, 2, 2, 1, 1), (0, 3, 3, 1, 1), (0, 5, 5, 1, 1), *OPTIMAL[1:]]
    places = [(0, 1, 1), (1, 1, 1), (2, 1, 1), (3, 0, 4), (4, 0, 3)]
    assert violations(worked_example(), runs, places) == [("2c", {"job": 0}, 2)]


def test_2e_counts_no_work_in_runs_shorter_than_their_overhead() -> None:
    assert broken(overhead=[2, 0, 0]) == {"2e": 1.0}
    assert broken(overhead=[3, 0, 0]) == {"2e": 1.0}
    assert broken(overhead=[1, 0, 0]) == {"2e": 0.5}


def test_2e_adds_up_a_run_that_does_it_all_and_one_that_does_not() -> None:
    runs = [(0, 2, 3, 1, 1), (0, 5, 5, 1, 1), *OPTIMAL[1:]]
    places = [(0, 1, 1), (1, 1, 1), (2, 0, 4), (3, 0, 3)]
    assert broken(runs, places, allow_preemption=True) == {}


def test_2e_compares_work_exactly() -> None:
    """Three runs at speed 1/3 of a slot do one third each, whatever floats make of it."""
    runs = [(0, t, t, 0, 1) for t in (2, 3, 4)] + OPTIMAL[1:]
    places = [(0, 1, 1), (1, 1, 1), (2, 1, 1), (3, 0, 4), (4, 0, 3)]
    done = worked_example(work_slow=[3, 8, 6])
    assert violations(done, runs, places, allow_preemption=True) == []
    more = worked_example(work_slow=["3.000000000000001", 8, 6])
    ((label, index, amount),) = violations(more, runs, places, allow_preemption=True)
    assert (label, index) == ("2e", {"job": 0})
    assert 0 < amount < 1e-15


def test_2f_counts_the_workers_that_are_away_from_the_parameter_server() -> None:
    runs, places = [(0, 2, 3, 1, 2), *OPTIMAL[1:]], [(0, 1, 1), (0, 2, 1), *PLACES[1:]]
    ready = worked_example(upload_delay=[1, 1, 1])
    assert violations(ready, runs, places) == [("2f", {"job": 0, "slot": 2}, 1)]


def test_2i_counts_the_slots_before_the_upload_is_done() -> None:
    early = [(0, 1, 2, 1, 1), *OPTIMAL[1:]]
    where = {"job": 0, "server": 1, "slot": 1}
    assert violations(worked_example(), early) == [("2i", where, 1)]
    assert violations(worked_example(), early, ignore_upload=True) == []


def test_2i_holds_back_to_the_release_where_uploads_are_ignored() -> None:
    runs = [*OPTIMAL[:2], (2, 1, 1, 1, 0)]
    where = {"job": 2, "server": 0, "slot": 1}
    assert violations(worked_example(), runs, ignore_upload=True) == [("2i", where, 1)]


def test_2g_and_2h_hold_on_the_slots_of_too_high_a_load_of_the_type() -> None:
    instance = worked_example(
        worker_capacity=[[9, 5], [9, 0], [9, 9]], ps_capacity=[[9, 1], [9, 0], [9, 9]],
        worker_type=[0, 1, 1], ps_type=[0, 1, 1], num_chunks=[2, 4, 4],
    )  # fmt: skip
    runs = [(0, 2, 3, 1, 1), (1, 2, 4, 1, 0), (2, 3, 6, 1, 0)]
    where = {"server": 0, "type": 1, "slot": 3, "end": 4}
    assert violations(instance, runs) == [("2g", where, 2), ("2h", where, 1)]


def test_pieces_without_load_are_left_out() -> None:
    key, start, end, load = steps(
        np.array([0, 0]), np.array([0, 4]), np.array([2, 6]), np.array([1, 2])
    )
    assert list(zip(key, start, end, load, strict=True)) == [(0, 0, 2, 1), (0, 4, 6, 2)]
