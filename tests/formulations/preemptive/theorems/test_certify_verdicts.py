"""When a statement of Section V holds, fails or stays open: the numbers it hangs on."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from preemptive_cases import worked_example

from formulations.preemptive.instance import CLOUD, Instance
from formulations.preemptive.schedule import Schedule
from formulations.preemptive.theorems import lemmas, theorems
from formulations.preemptive.theorems.lemmas import lemma_1, lemma_3, stretch
from formulations.preemptive.theorems.record import TOLERANCE, record
from formulations.preemptive.theorems.theorems import DualPoint, factor, has_limits
from optsched.model import Model
from optsched.problem.violation import Violation
from optsched.solvers.solution import Solution, Status


@pytest.mark.parametrize(
    ("epsilon", "f"), [(0.0, 1.5), (0.25, 1.3), (0.5, 7 / 6), (1.0, 1.0), (2.0, 1.0)]
)
def test_lp_kappa_exceeds_the_optimum_by_a_factor_below_double_speed(epsilon, f):
    assert factor(epsilon) == pytest.approx(f)


def test_a_dual_point_proves_its_value_by_the_factor_and_never_less_than_nothing():
    assert DualPoint(1, 1, 12.0, 1.5).bound == 8
    assert DualPoint(1, 1, -3.0, 1.5).bound == 0


@pytest.mark.parametrize("size", [0.01, 1.0, 100.0])
@pytest.mark.parametrize(
    ("left", "verdict"),
    [(-1, "holds"), (0, "holds"), (0.9e-6, "holds"), (1.1e-6, "undecided"), (0.5, "undecided"),
     (1, "undecided"), (1 + 0.9e-6, "undecided"), (1 + 3.1e-6, "fails"), (2, "fails")],
)  # fmt: skip
def test_an_optimum_known_up_to_an_interval_decides_beyond_its_ends_and_a_millionth(
    size, left, verdict
):
    """The interval begins at ``size`` and is as long, and 1 where that is less."""
    long = max(size, 1.0)
    found = theorems._bracketed("n", "c", size + left * long, size, size + long, "")
    assert found.verdict == verdict
    assert found.right == (size + long if verdict == "fails" else size)


def test_jobs_in_turn_wait_for_their_data_and_for_each_other():
    """The second is ready at 4, when the first has been done since 3; the third waits for both."""
    instance = Instance.build(
        release_time=[1, 2, 2.5],
        num_chunks=[1, 2, 1],
        chunk_time_slow=[2, 1.5, 1],
        upload_delay_edge=[[0, 5], [2, 2], [9, 1.5]],
        upload_delay_cloud=np.inf,
        worker_server=[0, 1],
    )
    assert theorems._in_turn(instance) == (3 - 1) + (7 - 2) + (8 - 2.5)
    nobody = replace(
        instance,
        upload_delay_cloud=np.ones(3),
        explicit_worker_eligible=np.array([[True, True], [False, False], [True, True]]),
    )
    assert theorems._in_turn(nobody) == np.inf
    only_far = np.array([[False, True], [True, True], [True, True]])
    assert theorems._in_turn(replace(instance, explicit_worker_eligible=only_far)) == (
        (8 - 1) + (11 - 2) + (12 - 2.5)
    )


@pytest.mark.parametrize(
    ("capacity", "storage", "limited"),
    [(np.inf, 1.0, False), (5.0, 0.0, False), (5.0, 0.5, True), (5.0, 1.0, True)],
)
def test_storage_is_limited_where_a_server_is_and_some_chunk_takes_some(capacity, storage, limited):
    one = SimpleNamespace(
        storage_capacity=np.array([np.inf, capacity]), chunk_storage=np.array([0.0, storage])
    )
    assert has_limits(one) == limited


# optima of models


def optimum(monkeypatch, answer, *, low=3.0, wanted=9.0, columns=2):
    """What bounds a solve leaves, and whether it was made."""
    asked = []

    def solved(model, *_, **options):
        asked.append(options["options"].time_limit)
        return answer

    monkeypatch.setattr(theorems, "solve", solved)
    monkeypatch.setattr(theorems, "LARGEST", 2)
    m = Model()
    m.continuous("x", columns)
    return *theorems._optimum(m, low, wanted, 1.5)[:2], asked


def test_an_optimum_is_looked_for_only_where_it_can_decide_and_be_found(monkeypatch):
    answer = Solution(Status.FEASIBLE, 10.0, 4.0)
    assert optimum(monkeypatch, answer) == (4.0, 10.0, [1.5])
    assert optimum(monkeypatch, answer, low=5.0) == (5.0, 10.0, [1.5])
    assert optimum(monkeypatch, answer, wanted=3.1) == (4.0, 10.0, [1.5])
    assert optimum(monkeypatch, answer, wanted=3.0) == (3.0, np.inf, [])
    assert optimum(monkeypatch, answer, columns=3) == (3.0, np.inf, [])
    assert optimum(monkeypatch, Solution(Status.NO_SOLUTION)) == (3.0, np.inf, [1.5])
    assert optimum(monkeypatch, Solution(Status.INFEASIBLE)) == (np.inf, np.inf, [1.5])


def test_bounds_that_are_known_are_enough_where_they_are_what_is_wanted(monkeypatch):
    monkeypatch.setattr(theorems, "_optimum", lambda model, low, *_: (low, "solved"))
    example = worked_example()
    assert theorems.optimum_of_4(example, 7.4, 1.0)[:2] == (pytest.approx(7.5), np.inf)
    assert theorems.optimum_of_4(example, 7.6, 1.0) == (pytest.approx(7.5), "solved")
    assert theorems.optimum_of_2(example, 0.0, 14.0, 1.0)[:2] == (14, np.inf)
    assert theorems.optimum_of_2(example, 0.0, 14.1, 1.0) == (14, "solved")
    assert theorems.optimum_of_2(example, 14.5, 14.1, 1.0)[:2] == (14.5, np.inf)


# lemmas


@pytest.mark.parametrize(
    ("slow", "cloud", "theta"),
    [(2 * (1 + 0.9e-9), 4, 1.0), (2 * (1 + 1.1e-9), 4, 2.0), (4, 4, 2.0), (4, np.inf, 1.0)],
)
def test_communication_that_takes_time_in_a_cloud_in_reach_doubles_a_row(slow, cloud, theta):
    one = Instance.build(
        release_time=[0],
        num_chunks=1,
        chunk_time_slow=slow,
        chunk_time_fast=2,
        upload_delay_edge=[[0]],
        upload_delay_cloud=cloud,
        worker_server=[0],
    )
    assert stretch(SimpleNamespace(instance=one)) == theta


def test_lemma_3_names_the_worst_moment_without_its_one_parameter_server():
    broken = [Violation("2b", {"job": 1}, 9.0), Violation("2e", {"job": 0}, 1.0),
              Violation("2f", {"ps": 4}, 2.0)]  # fmt: skip
    failed = lemma_3(None, broken)
    assert (failed.verdict, failed.left, failed.right) == ("fails", 2, 0)
    assert failed.where == {"ps": 4}
    kept = lemma_3(None, broken[:1])
    assert (kept.verdict, kept.left, kept.where, kept.expected) == ("holds", 0, {}, True)


def ran(*runs: tuple[float, float], job: int = 0, release: float = 0.0, time: float = 4.0):
    """Two jobs of one chunk on a worker each; one of them ran as told, the other in one piece."""
    two = Instance.build(
        release_time=[release, release],
        num_chunks=1,
        chunk_time_slow=time,
        upload_delay_edge=np.zeros((2, 2)),
        upload_delay_cloud=np.inf,
        worker_server=[0, 1],
    )
    rows = [(job, 0, job, start, end) for start, end in runs]
    rows.append((1 - job, 0, 1 - job, release, release + time))
    schedule = Schedule.build(runs=rows, together=[False, False])
    told = record(two, schedule)
    assert not isinstance(told, str)
    return told


@pytest.mark.parametrize("job", [0, 1])
@pytest.mark.parametrize("release", [0.0, 0.5])
def test_lemma_1_is_an_equality_of_chunks_in_one_piece_and_slack_of_others(job, release):
    def certified(*runs, **more):
        shifted = [(start + release, end + release) for start, end in runs]
        return list(lemma_1(ran(*shifted, job=job, release=release, **more), feasible=True))

    whole, *_ = certified((2, 6))
    assert (whole.left, whole.verdict) == (whole.right, "holds")
    parts, printed = certified((0, 2), (6, 8))
    assert (parts.verdict, parts.expected) == ("holds", True)
    assert parts.left == parts.right == 2  # of the chunk in one piece
    assert parts.where == {"job": 1 - job, "chunk": 0}
    if release:
        assert printed.verdict == "not_applicable"
    else:
        # mean ages 2 and 4, half a slot less each; ends 4 and 8, last slots 3 and 7
        assert (printed.left, printed.right) == (1.5 + 3.5, 3 + 7)
        assert (printed.verdict, printed.expected) == ("holds", True)
    for more, exact in ((0.9e-9, True), (1.1e-9, False), (1.0, False)):
        longer, _ = certified((0, 4 + 4 * more))
        assert longer.expected == exact
        assert ("longer than it needs" in longer.detail) == (not exact)
    broken, _ = lemma_1(ran((0, 4), job=job), feasible=False)
    assert not broken.expected


def test_the_tolerance_of_statements_is_a_billionth():
    assert (TOLERANCE, CLOUD) == (1e-9, -1)
    assert lemmas._equal(1.0, 1 + 0.9e-9)
    assert not lemmas._equal(1.0, 1 + 1.1e-9)
    assert not lemmas._equal(1 + 1.1e-9, 1.0)
