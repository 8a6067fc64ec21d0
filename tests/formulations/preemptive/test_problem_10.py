"""Problem (10): why the printed proof of Theorem 1 proves nothing, and the one that does."""

from functools import cache
from itertools import combinations, permutations, product
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from preemptive_cases import examples
from scipy.optimize import linear_sum_assignment

from formulations.preemptive.check import check, completion_times
from formulations.preemptive.instance import CLOUD, Instance
from formulations.preemptive.problem_2 import (
    decode_problem_2_compact,
    problem_2,
    problem_2_compact,
)
from formulations.preemptive.problem_10 import problem_10, reduction
from optsched.errors import InputError
from optsched.solve import solve
from optsched.solvers.solution import Status

TIMES = st.lists(st.integers(1, 4), min_size=1, max_size=4)


def machines_alone(release, work, machines: int) -> Instance:
    return reduction(np.zeros(len(work)) if release is None else release, work, machines)


def least_sum_of_completions(release, work, machines: int) -> float:
    """Pm|pmtn,r_j|sum C_j by trying every set of jobs in every slot."""
    end = max(release) + sum(work)

    @cache
    def least(t: int, left: tuple[int, ...]) -> float:
        if not any(left):
            return 0.0
        if t >= end:
            return inf
        ready = [j for j, n in enumerate(left) if n and release[j] <= t]
        best = inf
        for chosen in combinations(ready, min(machines, len(ready))):
            after = tuple(n - (j in chosen) for j, n in enumerate(left))
            ended = sum(n > 0 and m == 0 for n, m in zip(left, after, strict=True))
            best = min(best, ended * (t + 1) + least(t + 1, after))
        return best

    return least(0, tuple(work))


# the printed proof


@given(work=TIMES, machines=st.integers(1, 3))
@examples(40)
def test_printed_problem_10_is_solved_by_shortest_processing_time_on_one_fast_machine(
    work, machines
):
    """All machines may serve one job: together they are one machine of m times the speed."""
    solution = solve(problem_10(machines_alone(None, work, machines)), "cpsat")
    done = np.cumsum(np.sort(work))
    assert solution.status is Status.OPTIMAL
    assert solution.objective == np.ceil(done / machines).sum()


@given(work=TIMES, machines=st.integers(1, 3))
@examples(40)
def test_with_one_machine_at_a_time_shortest_processing_time_still_solves_problem_10(
    work, machines
):
    """P|pmtn|sum C_j: preemption gains nothing over shortest first on the machine free first."""
    instance = machines_alone(None, work, machines)
    free = [0] * machines
    total = 0
    for p in sorted(work):
        at = free.index(min(free))
        free[at] += p
        total += free[at]
    assert solve(problem_10(instance, parallel=False), "cpsat").objective == total


@given(
    time=st.integers(1, 3).flatmap(
        lambda machines: st.lists(
            st.lists(st.integers(1, 6), min_size=machines, max_size=machines),
            min_size=1,
            max_size=4,
        )
    )
)
@examples(40)
def test_the_problem_the_paper_cites_as_np_hard_is_an_assignment_problem(time):
    """R||sum C_j: a job k-th from the end on a machine counts its time there k times."""
    p = np.array(time)
    jobs, machines = p.shape
    cost = np.concatenate([p * k for k in range(1, jobs + 1)], axis=1)
    rows, columns = linear_sum_assignment(cost)
    best = inf
    for where in product(range(machines), repeat=jobs):
        for order in permutations(range(jobs)):
            busy, total = [0] * machines, 0
            for j in order:
                busy[where[j]] += p[j, where[j]]
                total += busy[where[j]]
            best = min(best, total)
    assert cost[rows, columns].sum() == best


# the corrected reduction


@st.composite
def parallel_machines(draw: st.DrawFn) -> tuple[list[int], list[int], int]:
    """Release times, processing times and machines of Pm|pmtn,r_j|sum C_j."""
    work = draw(TIMES)
    release = draw(st.lists(st.integers(0, 5), min_size=len(work), max_size=len(work)))
    return release, work, draw(st.integers(1, 3))


@given(source=parallel_machines())
@examples(60)
def test_problem_2_on_the_reduced_instance_solves_preemptive_scheduling_with_release_times(source):
    """So (2) is NP-hard: Theorem 1, by a reduction that is one."""
    release, work, machines = source
    expected = least_sum_of_completions(release, work, machines)
    instance = reduction(release, work, machines)
    solution = solve(problem_2_compact(instance), "highs")
    assert solution.objective == pytest.approx(expected - sum(release))
    schedule = decode_problem_2_compact(instance, solution)
    assert check(instance, schedule, slotted=True) == []
    assert completion_times(instance, schedule).sum() == pytest.approx(expected)
    source_model = problem_10(instance, releases=True, parallel=False)
    assert solve(source_model, "cpsat").objective == pytest.approx(expected)


@given(source=parallel_machines())
@examples(15)
def test_the_reduction_holds_for_problem_2_row_by_row(source):
    release, work, machines = source
    expected = least_sum_of_completions(release, work, machines) - sum(release)
    assert solve(problem_2(reduction(release, work, machines)), "cpsat").objective == expected


def test_release_times_are_what_makes_it_hard_to_be_greedy() -> None:
    """Two machines: the shortest remaining time first is not optimal (Pm|pmtn,r_j|sum C_j)."""
    release, work = [0, 0, 0, 2, 2], [2, 2, 4, 2, 2]
    expected = least_sum_of_completions(release, work, 2)
    instance = reduction(release, work, 2)
    assert solve(problem_2_compact(instance)).objective + sum(release) == pytest.approx(expected)


def test_the_cloud_of_the_reduced_instance_is_of_no_use() -> None:
    instance = reduction([0, 3], [5, 2], 2)
    schedule = decode_problem_2_compact(instance, solve(problem_2_compact(instance)))
    assert CLOUD not in schedule.run_worker
    assert np.all(instance.upload_delay_cloud > instance.release_time + 7)


def test_what_is_no_source_instance_is_refused() -> None:
    with pytest.raises(InputError, match="machines = 0"):
        reduction([0], [1], 0)
    with pytest.raises(InputError, match="processing_time"):
        reduction([0], [1.5], 1)
    with pytest.raises(InputError, match="release_time"):
        reduction([0.5], [1], 1)
    without = Instance.build(
        release_time=[0],
        num_chunks=1,
        chunk_time_slow=1,
        upload_delay_edge=np.zeros((1, 0)),
        upload_delay_cloud=1,
        worker_server=np.zeros(0),
    )
    with pytest.raises(InputError, match="at least one machine"):
        problem_10(without)
