"""The schedule that prices guide, the bound they prove, and where both are the reference."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import preemptive_enumeration as brute_force
import pytest
from hypothesis import given
from hypothesis import strategies as st
from preemptive_cases import examples, instances

import optsched as osd
from formulations.preemptive import PROBLEM
from formulations.preemptive.check import check, cost
from formulations.preemptive.generator import generate
from formulations.preemptive.instance import Instance
from formulations.preemptive.time_indexed.decode import fits_slots
from formulations.preemptive.workload import generate as read_or_draw
from formulations.preemptive.workload import philly_workload
from optsched.errors import InputError
from optsched.evaluation.tables import frame, granted_more
from optsched.problem import problem
from optsched.solvers.options import Options
from optsched.solvers.solution import Status
from optsched.study import StudyGrid
from optsched.study.plan import plan


@pytest.mark.parametrize("slotted", [False, True])
@given(data=st.data())
@examples(40)
def test_its_schedule_is_feasible_and_its_bound_holds(slotted: bool, data: st.DataObject) -> None:
    instance = data.draw(
        instances(fractional=data.draw(st.booleans()), tables=data.draw(st.booleans()))
    )
    answer = PROBLEM.solve(f"price_guided(slotted={slotted}, steps=30)", instance)
    assert check(instance, answer.schedule, slotted=slotted) == []
    assert cost(instance, answer.schedule) == pytest.approx(answer.solution.objective)
    optimum = brute_force.problem_2(instance)
    assert answer.solution.bound <= optimum
    if slotted:
        assert optimum <= answer.solution.objective + 1e-9
        assert answer.solution.status != Status.OPTIMAL or optimum == answer.solution.objective


def test_the_worked_example_is_solved_to_proof(example: Instance) -> None:
    solution = PROBLEM.solve("price_guided", example).solution
    assert (solution.status, solution.objective, solution.bound) == (Status.OPTIMAL, 15, 15)


def test_without_the_cloud_the_shortest_jobs_go_first() -> None:
    instance = Instance.build(
        release_time=[1, 1, 1],
        num_chunks=1,
        chunk_time_slow=[3, 1, 2],
        upload_delay_edge=np.zeros((3, 1)),
        upload_delay_cloud=np.inf,
        worker_server=[0],
    )
    assert PROBLEM.solve("price_guided", instance).solution.objective == 1 + 3 + 6


def test_an_overload_without_the_cloud_is_worked_off() -> None:
    instance = generate(np.random.default_rng(0), jobs=40, servers=4, types=1, span=10)
    edge_only = replace(instance, upload_delay_cloud=np.full(40, np.inf), jobs_document=None)
    answer = PROBLEM.solve("price_guided(steps=150)", edge_only)
    assert check(edge_only, answer.schedule, slotted=True) == []
    assert answer.solution.status == Status.FEASIBLE
    assert answer.solution.bound < answer.solution.objective < 1.05 * answer.solution.bound


def test_what_is_left_of_a_job_ends_in_the_cloud() -> None:
    """Two of its five units at the edge before the cloud is open; alone there it would take 7."""
    instance = Instance.build(
        release_time=[0],
        num_chunks=1,
        chunk_time_slow=[5],
        upload_delay_edge=[[0.0]],
        upload_delay_cloud=[2],
        worker_server=[0],
    )
    answer = PROBLEM.solve("price_guided", instance)
    assert answer.solution.objective == 5
    assert sorted(answer.schedule.run_worker) == [-1, 0]


def test_a_schedule_beyond_the_horizon_is_not_shown() -> None:
    instance = Instance.build(
        release_time=[1, 1],
        num_chunks=1,
        chunk_time_slow=[3, 3],
        upload_delay_edge=np.zeros((2, 1)),
        upload_delay_cloud=np.inf,
        worker_server=[0],
        horizon=5,
    )
    answer = PROBLEM.solve("price_guided", instance)
    assert (answer.solution.status, answer.schedule) == (Status.NO_SOLUTION, None)


def test_limits_it_does_not_support_are_refused(example: Instance) -> None:
    with pytest.raises(InputError, match="gap"):
        PROBLEM.solve("price_guided", example, options=Options(gap=0.1))


def test_small_instances_have_a_proven_optimum_for_reference(example: Instance) -> None:
    solution = PROBLEM.solve(PROBLEM.reference, example).solution
    assert (solution.status, solution.objective) == (Status.OPTIMAL, 15)


def test_instances_too_large_for_a_proof_have_an_interval() -> None:
    instance = generate(np.random.default_rng(0), jobs=60, servers=12, types=3, span=20)
    solution = PROBLEM.solve(PROBLEM.reference, instance, large=0).solution
    assert solution.status == Status.FEASIBLE
    assert 0 < solution.gap < 0.02


def test_jobs_much_shorter_than_a_slot_have_continuous_time(example: Instance) -> None:
    trace = philly_workload(np.random.default_rng(0), 300)
    assert fits_slots(example)
    assert not fits_slots(trace)
    answer = PROBLEM.solve(PROBLEM.reference, trace)
    assert answer.check == {"slotted": False}
    assert answer.solution.gap < 0.02


@pytest.mark.parametrize(
    ("file", "jobs"),
    [
        ("philly/philly_jobs_to_20171126.csv.gz", 200),
        ("alibaba_gpu_v2023/openb_pod_list_default.csv.gz", 400),
    ],
)
def test_the_real_traces_have_a_proven_interval(shared_data, file: str, jobs: int) -> None:
    rng = np.random.default_rng(0)
    instance = read_or_draw(rng, trace=str(shared_data / file), jobs=jobs)
    assert instance.jobs == jobs
    solution = PROBLEM.solve("price_guided(steps=100)", instance).solution
    assert solution.bound <= solution.objective <= 1.01 * solution.bound


LOG = "timestamp,duration,num_gpus,cluster\n2017-10-03 09:00:00,{},4,a\n"


def test_a_trace_has_a_system_of_its_own(tmp_path) -> None:
    (tmp_path / "jobs.csv").write_text(LOG.format(900))
    with pytest.raises(InputError, match="servers"):
        read_or_draw(np.random.default_rng(0), trace=tmp_path / "jobs.csv", servers=3)


def test_a_trace_that_is_not_there_is_refused_before_anything_runs(tmp_path) -> None:
    with pytest.raises(InputError, match=r"trace = 'jobs\.csv'"):
        plan([StudyGrid("preemptive", generator={"trace": ["jobs.csv"]})])


def test_a_study_of_a_trace_knows_it_by_what_it_holds(tmp_path, monkeypatch) -> None:
    """Not by its name: a worker may stand in another folder, and the file may change."""
    monkeypatch.chdir(tmp_path)
    grid = StudyGrid("preemptive", generator={"trace": ["jobs.csv"]}, heuristics=["srtf"])
    keys = []
    for seconds in (900, 900, 1800):
        Path("jobs.csv").write_text(LOG.format(seconds))
        keys += plan([grid]).recipes
    assert keys[0] == keys[1] != keys[2]
    [recipe] = plan([grid]).recipes.values()
    monkeypatch.chdir(tmp_path.parent)
    assert recipe.make().jobs == 1
    assert recipe.name == "trace=jobs.csv,seed=0"


def test_only_against_whole_slots_may_a_ratio_be_below_1() -> None:
    jobs = pd.DataFrame(
        {
            "release_time": [0.0, 0.3], "num_chunks": [2, 1],
            "chunk_time_slow": [0.2, 0.3], "chunk_time_fast": [0.1, 0.2],
            "upload_delay_edge": 0.05, "upload_delay_cloud": 1.0,
        }
    )  # fmt: skip
    workers = [{"server": 0, "count": 2}]
    instance = PROBLEM.instance_from(jobs, edge_servers=1, workers=workers)
    names = ["a_online", "all_cloud"]
    whole = osd.ratios(
        problem("preemptive"), names, instances=instance, reference="problem_2_compact"
    ).rows
    assert all(row.may_beat and row.ratio_high < 1 for row in whole)
    assert granted_more(frame(whole)).endswith(": a_online (1 of 1), all_cloud (1 of 1)")
    free = osd.ratios(
        problem("preemptive"), names, instances=instance
    ).rows  # in continuous time: jobs are short
    assert all(not row.may_beat and row.ratio_low >= 1 for row in free)
    assert granted_more(frame(free)) == ""
    # a bound of whole slots may lie above the optimum in continuous time, and is left out
    bounded = osd.ratios(problem("preemptive"), names, instances=instance, bounds=["lb_theta"]).rows
    assert [row.ratio_high for row in bounded] == [row.ratio_high for row in free]
    assert not any(row.may_beat for row in bounded)
