"""Progressive filling shares the bottleneck fairly."""

import numpy as np
import pytest

from heuristics.common.progressive_filling import progressive_filling


def fill(demand, capacity, **options):
    """Units per job, with demands (jobs, resources) in one pool."""
    demand, capacity = np.asarray(demand, float), np.asarray(capacity, float)
    units = np.zeros(len(demand), dtype=int)

    def place(job):
        fits = bool(np.all(units @ demand + demand[job] <= capacity))
        units[job] += fits
        return fits

    progressive_filling(
        range(len(demand)),
        lambda job: float((units[job] * demand[job] / capacity).max()),
        place,
        **options,
    )
    return units.tolist()


def test_the_textbook_example_gives_three_and_two():
    # 9 CPUs and 18 GB; one user's tasks take <1, 4>, the other's <3, 1>
    assert fill([[1, 4], [3, 1]], [9, 18]) == [3, 2]


def test_a_job_that_fits_no_more_leaves_the_rest_to_others():
    assert fill([[4], [1]], [6]) == [1, 2]
    assert fill([[4], [1]], [10]) == [1, 6]


def test_the_first_failure_may_end_the_round_for_all():
    # both hold 4 of 10 when the large job fails
    assert fill([[4], [1]], [7], stop_at_failure=False) == [1, 3]
    assert fill([[4], [1]], [7], stop_at_failure=True) == [1, 3]
    assert fill([[3], [1]], [5], stop_at_failure=True) == [1, 2]


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_equal_jobs_differ_by_at_most_one_unit(jobs):
    units = fill([[1, 2]] * jobs, [20, 23])
    assert max(units) - min(units) <= 1
    assert sum(units) == 11
