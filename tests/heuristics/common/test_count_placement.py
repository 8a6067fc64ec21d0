"""Count placement: hand-worked cases, laws that hold for any trace, and the recorded runs."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.common.traces import TraceJobs
from heuristics.common.count_placement import POLICIES, simulate
from heuristics.common.tiresias_reference import load
from optsched.errors import InputError


def trace(*jobs):
    """Jobs (submission, GPUs, duration)."""
    submit, gpus, duration = (np.array(column) for column in zip(*jobs, strict=True))
    return TraceJobs(
        submit.astype(float),
        duration.astype(float),
        gpus.astype(np.int64),
        np.full(len(submit), "vc", dtype=np.str_),
    )


@dataclass
class Expected:
    end: list
    preemptions: list


def agrees(run, expected):
    assert run.end.tolist() == expected.end
    assert run.preemptions.tolist() == expected.preemptions


BLOCKED = trace((0, 2, 10), (1, 3, 5), (2, 1, 4), (3, 1, 20))


def test_fifo_blocks_behind_the_first_job_that_does_not_fit():
    agrees(simulate(BLOCKED, 3, "fifo"), Expected([10, 15, 19, 35], [0, 0, 0, 0]))


def test_fifo_with_skipping_lets_small_jobs_pass_and_starve_a_large_one():
    agrees(simulate(BLOCKED, 3, "fifo_skip"), Expected([10, 31, 6, 26], [0, 0, 0, 0]))


def test_srtf_suspends_a_long_job_for_a_shorter_one_and_keeps_its_progress():
    jobs = trace((0, 1, 10), (4, 1, 3), (5, 1, 2))
    # at 5 the second has 2 left, as much as the third wants: the earlier one goes on
    agrees(simulate(jobs, 1, "srtf"), Expected([15, 7, 9], [1, 0, 0]))


def test_srtf_by_gpu_time_weighs_remaining_time_by_gpus():
    jobs = trace((0, 2, 3), (0, 1, 5))
    agrees(simulate(jobs, 2, "srtf"), Expected([3, 8], [0, 0]))
    agrees(simulate(jobs, 2, "srtf_gpu_time"), Expected([8, 5], [0, 0]))


def test_tiresias_demotes_by_gpu_seconds_and_las_by_seconds():
    jobs = trace((0, 2, 10), (1, 2, 4))
    # service 2 per second: demoted at 3, and the second at 6, behind the first
    agrees(simulate(jobs, 2, "tiresias_l", thresholds=[6]), Expected([13, 14], [1, 1]))
    # one second per second: demoted at 6; the second ends before it would be
    agrees(simulate(jobs, 2, "las", thresholds=[6]), Expected([14, 10], [1, 0]))


def test_tiresias_never_preempts_within_a_queue():
    jobs = trace((0, 2, 10), (1, 2, 1), (2, 1, 1))
    agrees(simulate(jobs, 2, "tiresias_l", thresholds=[1000]), Expected([10, 11, 12], [0, 0, 0]))


def test_late_demotions_come_when_the_released_simulator_looks_for_them():
    jobs = trace((0, 4, 10), (2, 4, 1))
    # four a second reach 24 at 6; at 2 the released simulator looks at 2 + (24 - 2) // 4 = 7
    in_time = simulate(jobs, 4, "tiresias_l", thresholds=[24])
    late = simulate(jobs, 4, "tiresias_l", thresholds=[24], late_demotions=True)
    agrees(in_time, Expected([11, 7], [1, 0]))
    agrees(late, Expected([11, 8], [1, 0]))


def test_first_start_is_when_a_job_first_holds_its_gpus():
    run = simulate(trace((0, 1, 10), (4, 1, 3)), 1, "srtf")
    assert run.first_start.tolist() == [0, 4]
    assert run.mean_jct == (13 + 3) / 2
    assert run.makespan == 13


@st.composite
def traces(draw):
    rows = draw(
        st.lists(
            st.tuples(st.integers(0, 30), st.integers(1, 4), st.integers(1, 20)),
            min_size=1,
            max_size=12,
        )
    )
    return trace(*sorted(rows, key=lambda row: row[0]))


@settings(max_examples=100, deadline=None)
@given(traces(), st.integers(4, 8), st.sampled_from(POLICIES))
def test_every_job_ends_after_its_submission_and_its_duration(jobs, gpus, policy):
    run = simulate(jobs, gpus, policy, thresholds=[5, 20])
    assert np.all(run.first_start >= jobs.submit_time)
    assert np.all(run.end - run.first_start >= jobs.duration)
    undisturbed = run.preemptions == 0
    assert np.all((run.end - run.first_start == jobs.duration)[undisturbed])
    work = float(jobs.duration @ jobs.gpus)
    assert work <= gpus * (run.makespan - jobs.submit_time[0])


@settings(max_examples=50, deadline=None)
@given(traces(), st.sampled_from(POLICIES))
def test_on_a_cluster_with_room_for_all_every_policy_starts_every_job_at_once(jobs, policy):
    run = simulate(jobs, int(jobs.gpus.sum()), policy, thresholds=[5, 20])
    assert np.array_equal(run.end, jobs.submit_time + jobs.duration)
    assert not run.preemptions.any()


@settings(max_examples=100, deadline=None)
@given(traces())
def test_on_one_gpu_srtf_is_optimal_so_no_policy_has_a_smaller_mean(jobs):
    single = TraceJobs(
        jobs.submit_time, jobs.duration, np.ones(len(jobs), dtype=np.int64), jobs.cluster
    )
    best = simulate(single, 1, "srtf").mean_jct
    for policy in POLICIES:
        assert simulate(single, 1, policy, thresholds=[5, 20]).mean_jct >= best - 1e-9


@settings(max_examples=50, deadline=None)
@given(traces(), st.integers(4, 8), st.sampled_from(POLICIES), st.integers(1, 11))
def test_what_happens_before_a_job_comes_does_not_depend_on_it(jobs, gpus, policy, kept):
    """Online: cut the trace off, and all that ended before the cut stays."""
    kept = min(kept, len(jobs))
    whole = simulate(jobs, gpus, policy, thresholds=[5, 20])
    part = simulate(jobs[:kept], gpus, policy, thresholds=[5, 20])
    cut = jobs.submit_time[kept] if kept < len(jobs) else np.inf
    early = whole.end[:kept] < cut
    assert np.array_equal(part.end[early], whole.end[:kept][early])
    assert np.array_equal(part.end < cut, early)


@pytest.mark.parametrize(
    ("gpus", "options", "named"),
    [
        (1, {"policy": "fifo"}, "gpus"),
        (4, {"policy": "lifo"}, "policy"),
        (4, {"policy": "las", "thresholds": [5, 5]}, "thresholds"),
    ],
)
def test_what_cannot_be_simulated_is_refused_by_name(gpus, options, named):
    with pytest.raises(InputError, match=named):
        simulate(BLOCKED, gpus, **options)


def test_a_job_without_duration_is_refused():
    with pytest.raises(InputError, match="duration"):
        simulate(trace((0, 1, 0)), 1, "srtf")


@pytest.mark.parametrize("policy", POLICIES)
def test_every_end_time_and_preemption_count_of_the_released_simulator_is_reproduced(
    shared_data, policy
):
    runs = [run for run in load(shared_data / "reference_jct") if run.policy == policy]
    assert len(runs) >= 6
    for run in runs:
        ours = simulate(run.jobs, run.gpus, policy, late_demotions=True)
        where = f"{run.trace} on {run.cluster}"
        assert np.array_equal(ours.end, run.end), where
        assert np.array_equal(ours.preemptions, run.preemptions), where


def test_demotions_in_time_change_mean_completion_as_recorded(shared_data):
    recorded = {
        ("philly_0e4a51", 64): 216928.55,
        ("philly_ee9e8c", 160): 171277.33,
        ("philly_2d_20171009", 200): 7320.13,
    }
    found = {
        (run.trace, run.gpus): simulate(run.jobs, run.gpus, "tiresias_l").mean_jct
        for run in load(shared_data / "reference_jct")
        if run.policy == "tiresias_l" and (run.trace, run.gpus) in recorded
    }
    assert found == pytest.approx(recorded, abs=0.005)
