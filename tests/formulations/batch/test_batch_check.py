"""The checker: every constraint of (2), broken one at a time."""

from collections.abc import Sequence

import numpy as np
import pytest
from batch_cases import worked_example

from formulations.batch.check import check, completion_slots, cost, steps
from formulations.batch.schedule import Schedule
from optsched.errors import InputError

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
