"""Lemmas and theorems as they are certified: on runs, on optima, on what was tampered with."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import preemptive_enumeration as brute_force
import pytest
from hypothesis import given
from hypothesis import strategies as st
from preemptive_cases import examples, instances
from storage_cases import two_servers
from typer.testing import CliRunner

from formulations.preemptive.instance import CLOUD, Instance
from formulations.preemptive.problem_2_no_migration import (
    decode_no_migration,
    problem_2_no_migration_time_free,
)
from formulations.preemptive.problem_11 import at_offline_speed, lp_kappa
from formulations.preemptive.schedule import Schedule
from formulations.preemptive.theorems import certify, certify_with_storage
from formulations.preemptive.theorems.record import record
from formulations.preemptive.theorems.rows import rows
from formulations.preemptive.theorems.theorems import dual_point
from heuristics.preemptive.a_online import a_online, a_online_e
from heuristics.preemptive.all_cloud import all_cloud
from heuristics.preemptive.online_run import OnlineRun
from heuristics.preemptive.storage import a_online_storage
from optsched.cli import app
from optsched.errors import InputError
from optsched.instances.document import save
from optsched.problem.certificate import Certificate, all_expected_hold
from optsched.solve import solve

EPSILONS = (0.0, 0.25, 0.5, 1.0, 2.0)
PRIORITIES = ("static", "residual")

FEASIBLE = "Feasibility"
LEMMA_1 = "Lemma 1, corrected"
LEMMA_2 = "Lemma 2, corrected"
CHOSEN = "Lemma 2, on the chosen worker"
LEMMA_4 = "Lemma 4, corrected"
THEOREM = "Theorem 3, corrected"
FLOW = "Theorem 3, corrected, flow time"
DUAL = "Dual certificate"


def online(instance: Instance, epsilon: float = 0.0, **rules) -> OnlineRun:
    return a_online(instance, np.random.default_rng(0), epsilon=epsilon, **rules)


def found(instance: Instance, schedule: Schedule) -> dict[str, Certificate]:
    return {one.statement: one for one in certify(instance, schedule)}


def as_read_from_a_file(schedule: Schedule) -> Schedule:
    return Schedule.from_document(schedule.to_document())


def single_chunks(release, times, delay=0.0, servers=1, **rest) -> Instance:
    """Jobs of one chunk on servers of one worker each, without a cloud."""
    return Instance.build(
        release_time=release,
        num_chunks=1,
        chunk_time_slow=times,
        upload_delay_edge=np.broadcast_to(delay, (len(release), servers)),
        upload_delay_cloud=np.inf,
        worker_server=np.arange(servers),
        **rest,
    )


# runs of A_online


@given(data=st.data(), priority=st.sampled_from(PRIORITIES), epsilon=st.sampled_from(EPSILONS))
@examples(80)
def test_everything_that_should_hold_of_a_run_holds(data, priority, epsilon):
    fractional = data.draw(st.booleans())
    instance = data.draw(instances(common_delay=True, jobs=(2, 4), fractional=fractional))
    run = online(instance, epsilon, priority=priority)
    statements = found(instance, run)
    assert all_expected_hold(list(statements.values()))
    for name in (FEASIBLE, "Lemma 3", LEMMA_1, LEMMA_4, DUAL):
        if name == LEMMA_4 and fractional:  # then delays may depend on the job
            continue
        assert statements[name].verdict == "holds", name
        assert statements[name].expected, name


@given(data=st.data(), epsilon=st.sampled_from(EPSILONS[1:]))
@examples(50)
def test_the_corrected_theorem_is_expected_of_residual_runs_with_common_delays(data, epsilon):
    instance = data.draw(instances(common_delay=True, jobs=(2, 4)))
    statements = found(instance, online(instance, epsilon, priority="residual"))
    for name in (CHOSEN, LEMMA_2, LEMMA_4, FLOW, THEOREM):
        if statements[name].detail == "there is no such row":  # all of it in the cloud
            assert name in (CHOSEN, LEMMA_2)
            continue
        assert statements[name].verdict == "holds", name
        assert statements[name].expected, name


@given(data=st.data(), priority=st.sampled_from(PRIORITIES), epsilon=st.sampled_from(EPSILONS))
@examples(60)
def test_prices_follow_from_the_schedule_where_servers_are_equally_far_from_all(
    data, priority, epsilon
):
    instance = data.draw(instances(common_delay=True, jobs=(2, 4)))
    run = online(instance, epsilon, priority=priority)
    priced = found(instance, run)
    bare = found(instance, replace(as_read_from_a_file(run), alpha=None))
    assert priced[LEMMA_4].expected
    assert bare[LEMMA_4].expected
    assert bare[LEMMA_4].left == pytest.approx(priced[LEMMA_4].left, rel=1e-9)
    if priority == "residual":
        assert bare[DUAL].left == pytest.approx(priced[DUAL].left, rel=1e-9, abs=1e-9)


def test_a_schedule_read_back_from_its_file_gets_the_same_certificates(doubled: Instance) -> None:
    run = online(doubled, 1.0, priority="residual")
    text = json.dumps(as_read_from_a_file(run).to_document().model_dump())
    assert '"alpha": [1.66' in text
    assert certify(doubled, as_read_from_a_file(run)) == certify(doubled, run)


# the evidence, against what is written out in full


@given(
    data=st.data(),
    since=st.sampled_from(["release", "upload"]),
    concerned=st.sampled_from(["all", "chosen"]),
    own=st.booleans(),
)
@examples(60)
def test_rows_are_those_of_the_dual_at_every_slot(data, since, concerned, own):
    instance = data.draw(instances(jobs=(2, 4)))
    run = online(instance, priority=data.draw(st.sampled_from(PRIORITIES)))
    told = record(instance, run)
    assert not isinstance(told, str)
    result = rows(told, run.alpha, since=since, concerned=concerned, own=own)
    slots = np.arange(int(run.completion.max()) + 40)
    broken, worst = set(), -np.inf
    for w, server in enumerate(instance.worker_server):
        beta = run.beta(w, slots)
        for i, j in enumerate(run.chunk_job):
            if not instance.worker_eligible[j, w] or (
                concerned == "chosen" and run.dispatch[i] != w
            ):
                continue
            start = instance.release_time[j]
            if since == "upload":
                start += instance.upload_delay_edge[j, server]
            right = instance.weight[j] * (slots - instance.release_time[j])
            right = right + instance.chunk_time_slow[j] * beta
            if own:
                right = right + instance.weight[j] * instance.chunk_time_slow[j]
            excess = (run.alpha[i] - right)[slots >= start]
            worst = max(worst, excess.max())
            if np.any(excess > 1e-9 * np.maximum(1, right[slots >= start])):
                broken.add((int(j), w))
    assert result.broken == len(broken)
    if broken:
        assert result.left - result.right == pytest.approx(worst)
        assert (result.where["job"], result.where["worker"]) in broken


@given(data=st.data(), epsilon=st.sampled_from(EPSILONS))
@examples(60)
def test_the_dual_certificate_is_a_bound_whatever_the_schedule_and_its_prices(data, epsilon):
    """Static or residual, whatever the delays, even for prices made up."""
    instance = data.draw(instances(jobs=(2, 3)))
    offline = at_offline_speed(instance, epsilon)
    run = online(offline, epsilon, priority=data.draw(st.sampled_from(PRIORITIES)))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    made_up = rng.uniform(0, 2, len(run.alpha)) * run.alpha
    optimum = brute_force.problem_2(offline)
    for alpha in (run.alpha, made_up, 3 * run.alpha):
        told = record(offline, replace(run, alpha=alpha))
        assert not isinstance(told, str)
        point = dual_point(told, alpha)
        assert point.bound <= optimum + 1e-9
        if epsilon > 0:
            relaxed = solve(lp_kappa(offline, epsilon=epsilon)).objective
            assert point.value <= relaxed + 1e-7
            assert relaxed <= point.factor * optimum + 1e-7


@given(data=st.data())
@examples(25)
def test_lemma_1_holds_of_an_exact_optimum(data):
    instance = data.draw(instances())
    solution = solve(problem_2_no_migration_time_free(instance), "cpsat")
    statements = found(instance, decode_no_migration(instance, solution))
    for name in (FEASIBLE, LEMMA_1, "Lemma 1, as printed"):
        assert statements[name].verdict == "holds"
        assert statements[name].expected


def test_evidence_of_the_dual_certificate_is_a_dual_point_anyone_can_check(
    doubled: Instance,
) -> None:
    run = online(doubled, 1.0, priority="residual")
    proof = found(doubled, run)[DUAL].evidence
    alpha = np.concatenate(proof["alpha"])
    area = sum(p["value"] * (p["end"] - p["start"]) for p in proof["beta"])
    assert alpha.sum() - area == pytest.approx(proof["value"])
    assert proof["bound"] == pytest.approx(proof["value"] / proof["factor"])
    for w in range(2):
        for t in np.arange(2, 20, 0.5):
            beta = sum(
                p["value"] for p in proof["beta"] if p["worker"] == w and p["start"] <= t < p["end"]
            )
            for j, prices in enumerate(proof["alpha"]):
                if t >= doubled.release_time[j] + 1:
                    time = doubled.chunk_time_slow[j]
                    right = doubled.weight[j] * (t - doubled.release_time[j] + time / 2)
                    assert max(prices) <= right + time * beta + 1e-9


def test_numbers_of_the_worked_example(example: Instance, doubled: Instance) -> None:
    statements = found(example, online(example))
    assert statements["Lemma 1, as printed"].left == pytest.approx(10)
    assert statements["Lemma 1, as printed"].right == pytest.approx(12 + 2 / 3)
    assert statements[LEMMA_4].left == pytest.approx(47 / 3)
    assert statements[LEMMA_4].right == pytest.approx(47 / 3)
    assert statements["Lemma 4, as printed"].right == pytest.approx(15)
    assert statements["Lemma 4, as printed"].verdict == "fails"
    half = found(doubled, online(doubled, 1.0))
    assert half["Theorem 3 for (4), as printed"].verdict == "holds"
    assert half["Theorem 3 for (2), as printed"].verdict == "holds"


# counterexamples to what is printed, with their numbers


def test_lemma_2_fails_before_the_upload() -> None:
    instance = single_chunks([0], [1], delay=1)
    one = found(instance, online(instance))["Lemma 2, as printed"]
    assert (one.verdict, one.left, one.right) == ("fails", 2, 1)
    assert one.where == {"job": 0, "worker": 0, "time": 0}


def test_lemma_2_and_with_it_lemma_5_fail_on_a_worker_that_was_not_chosen() -> None:
    instance = single_chunks([0], [1], servers=2)
    statements = found(instance, online(instance))
    for name in ("Lemma 2, after the upload", "Lemma 5"):
        one = statements[name]
        assert (one.verdict, one.left, one.right) == ("fails", 1, 0)
        assert one.where == {"job": 0, "worker": 1, "time": 0}
    assert statements[CHOSEN].verdict == statements[LEMMA_2].verdict == "holds"


def test_lemma_2_fails_on_the_chosen_worker_with_static_density_only() -> None:
    instance = single_chunks([0, 2], [3, 2])
    one = found(instance, online(instance))[CHOSEN]
    assert (one.verdict, one.expected, one.left, one.right) == ("fails", False, 4, 3)
    assert one.where == {"job": 1, "worker": 0, "time": 5}
    assert found(instance, online(instance, priority="residual"))[CHOSEN].verdict == "holds"


def test_the_corrected_row_fails_with_static_density() -> None:
    instance = single_chunks([0, 4, 7], [5, 4, 3])
    one = found(instance, online(instance))[LEMMA_2]
    assert (one.verdict, one.expected, one.left, one.right) == ("fails", False, 9, 8)
    assert one.where == {"job": 2, "worker": 0, "time": 12}


def test_lemma_4_as_printed_fails_as_soon_as_a_chunk_is_postponed() -> None:
    instance = single_chunks([0, 1], [2, 1])
    statements = found(instance, online(instance))
    one = statements["Lemma 4, as printed"]
    assert (one.verdict, one.left, one.right) == ("fails", 4, 3)
    assert statements[LEMMA_4].verdict == "holds"


def test_lemma_4_fails_if_a_later_job_overtakes_in_upload_unless_prices_are_exact() -> None:
    instance = single_chunks([0, 0], [2, 2], delay=[[2], [1]])
    one = found(instance, online(instance))[LEMMA_4]
    assert (one.verdict, one.expected, one.left, one.right) == ("fails", False, 7, 8)
    exact = found(instance, online(instance, pending_rule="exact"))[LEMMA_4]
    assert (exact.verdict, exact.left, exact.right) == ("holds", 8, 8)


@given(data=st.data())
@examples(40)
def test_prices_by_rule_5_never_exceed_the_flow_time_in_what_has_been_seen(data):
    """Observed, not proven: sum of alpha <= F whatever the delays."""
    instance = data.draw(instances(jobs=(2, 4)))
    one = found(instance, online(instance))[LEMMA_4]
    assert one.left <= one.right + 1e-9


def test_lemma_1_as_printed_fails_for_durations_that_are_not_whole() -> None:
    """p = 1.1 takes slots 2 and 3, both weighed by 1 / 1.1."""
    instance = single_chunks([0], [1.1], delay=2)
    schedule = Schedule.build(runs=[(0, 0, 0, 2, 4)], services=[(0, CLOUD, 2, 4)], together=[False])
    one = found(instance, schedule)["Lemma 1, as printed"]
    assert one.verdict == "fails"
    assert not one.expected
    assert one.left == pytest.approx(5 / 1.1)
    assert one.right == 3


def test_the_cloud_rows_fail_as_printed_for_every_chunk_sent_there() -> None:
    instance = Instance.build(
        release_time=[0],
        num_chunks=1,
        chunk_time_slow=3,
        chunk_time_fast=2,
        upload_delay_edge=[[9]],
        upload_delay_cloud=1,
        worker_server=[0],
    )
    statements = found(instance, online(instance))
    one = statements["Lemma 2, cloud, as printed"]
    assert (one.verdict, one.left, one.right) == ("fails", 3, 1)
    assert statements["Lemma 2, cloud, corrected"].verdict == "holds"


def test_theorem_3_for_problem_4_fails_for_two_jobs() -> None:
    instance = replace(
        single_chunks([0, 0], [2, 2], servers=2),
        explicit_worker_eligible=np.array([[True, True], [True, False]]),
    )
    statements = found(instance, online(instance, 1.0))
    one = statements["Theorem 3 for (4), as printed"]
    assert (one.verdict, one.expected) == ("fails", False)
    assert (one.left, one.right) == (pytest.approx(3), pytest.approx(2))
    assert statements["Theorem 3 for (2), as printed"].verdict == "holds"
    assert all_expected_hold(list(statements.values()))


def test_theorem_3_for_problem_4_has_no_slack_for_one_chunk() -> None:
    instance = single_chunks([0], [2])
    one = found(instance, online(instance, 1.0))["Theorem 3 for (4), as printed"]
    assert (one.verdict, one.left, one.right) == ("holds", 1, pytest.approx(1))


@pytest.mark.parametrize(
    ("jobs", "epsilon", "time", "jct", "optimum"),
    [(8, 1.0, 28, 1044, 512), (9, 0.5, 50, 2295, 756)],
)
def test_theorem_3_for_problem_2_fails_if_delays_depend_on_the_job(
    jobs: int, epsilon: float, time: float, jct: float, optimum: float
) -> None:
    """Every job reaches worker 0 before the earlier ones do; no theorem is expected of that."""
    k = np.arange(jobs)
    delay = np.repeat(2.0 * (jobs - k)[:, None], jobs, axis=1)
    delay[:, 0] -= 1
    instance = single_chunks(k, np.full(jobs, time * (1 + epsilon)), delay=delay, servers=jobs)
    statements = found(instance, online(instance, epsilon))
    one = statements["Theorem 3 for (2), as printed"]
    assert (one.verdict, one.expected) == ("fails", False)
    assert one.left == pytest.approx(jct)
    assert one.right == pytest.approx((1 + 1 / epsilon) * optimum)
    assert not statements[THEOREM].expected
    assert statements[THEOREM].verdict == "fails"


def test_the_theorem_fails_with_storage() -> None:
    """Section VI has it hold: two jobs, a full server, 4.83 instead of 2."""
    instance = two_servers(times=2.0)
    run = a_online_storage(instance, np.random.default_rng(0), epsilon=1.0)
    statements = {one.statement: one for one in certify_with_storage(instance, run)}
    one = statements["Theorem 3 for (7), as printed"]
    assert (one.verdict, one.expected) == ("fails", False)
    assert (one.left, one.right) == (111, pytest.approx(2 * 23))
    row = statements["(9a) with eta = 0"]
    assert (row.verdict, row.left, row.right) == ("fails", 101, 1)  # and 10 when job 0 is done
    assert row.where == {"job": 1, "worker": 0, "time": 1}
    assert all_expected_hold(list(statements.values()))


# other schedules


@given(data=st.data(), epsilon=st.sampled_from([0.0, 0.5]))
@examples(30)
def test_policies_the_theorem_is_not_about_are_certified_without_expecting_it(data, epsilon):
    instance = data.draw(instances(cloud=True, common_delay=True))
    rng = np.random.default_rng(0)
    for run in (all_cloud(instance, rng, epsilon=epsilon), a_online_e(instance, rng)):
        assert all_expected_hold(certify(instance, run))


def test_storage_that_does_not_fit_makes_a_schedule_infeasible_where_storage_counts() -> None:
    instance = replace(two_servers(times=2.0), storage_capacity=np.array([0.5, 0.5]))
    run = online(instance, 1.0)
    assert all_expected_hold(certify(instance, run))
    assert not all_expected_hold(certify_with_storage(instance, run))


def test_a_schedule_that_does_not_name_its_chunks_is_still_checked(example: Instance) -> None:
    nameless = replace(as_read_from_a_file(online(example)), run_chunk=np.full(8, -1))
    statements = certify(example, nameless)
    assert [one.statement for one in statements[:2]] == [FEASIBLE, "Lemma 3"]
    assert statements[2].verdict == "not_applicable"
    assert statements[2].detail == "not every run names its chunk"


def test_a_worker_that_idles_is_no_run_of_the_algorithm(example: Instance) -> None:
    """Its schedule is feasible, but no statement on prices is expected of it."""
    run = as_read_from_a_file(online(example))
    late = replace(
        run,
        run_start=run.run_start + 1,
        run_end=run.run_end + 1,
        service_start=run.service_start + 1,
        service_end=run.service_end + 1,
    )
    statements = found(example, late)
    assert statements[FEASIBLE].verdict == "holds"
    assert not statements[LEMMA_4].expected
    assert statements[LEMMA_4].verdict == "fails"
    assert all_expected_hold(list(statements.values()))
    bare = found(example, replace(late, alpha=None))
    assert bare[LEMMA_4].verdict == bare[DUAL].verdict == "not_applicable"


def test_prices_that_are_too_many_are_refused(example: Instance) -> None:
    run = as_read_from_a_file(online(example))
    with pytest.raises(InputError, match=r"alpha = '3 prices': one per chunk \(7\)"):
        certify(example, replace(run, alpha=np.ones(3)))


def test_a_schedule_of_another_instance_is_said_to_be_one(example: Instance) -> None:
    statements = certify(example.first_jobs(2), online(example))
    assert statements[0].verdict == "fails"
    assert statements[2].detail == "the schedule is not one of this instance"


# the command


def invoke(*arguments: object, status: int = 0) -> str:
    result = CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "200"})
    assert result.exit_code == status, result.output
    return result.stdout


@pytest.fixture
def files(example: Instance, tmp_path: Path) -> tuple[Path, Path]:
    """The worked example at half speed, and its run at double speed."""
    instance, schedule = tmp_path / "instance.json", tmp_path / "schedule.json"
    offline = at_offline_speed(example, 1.0)
    save(offline, instance)
    save(online(offline, 1.0, priority="residual"), schedule)
    return instance, schedule


def test_the_command_lists_every_statement_and_exits_0(files) -> None:
    instance, schedule = files
    assert "Theorem 3, corrected" in invoke("check", "preemptive", instance, schedule, "--theorems")
    said = json.loads(invoke("check", "preemptive", instance, schedule, "--theorems", "--json"))
    assert said["sound"] is True
    by_name = {one["statement"]: one for one in said["certificates"]}
    assert by_name[THEOREM]["verdict"] == "holds"
    assert by_name["Lemma 2, as printed"]["verdict"] == "fails"
    assert by_name[DUAL]["evidence"]["bound"] == pytest.approx(9.125)


def test_the_command_exits_1_where_something_that_should_hold_does_not(files) -> None:
    instance, schedule = files
    data = json.loads(schedule.read_text())
    data["runs"] = data["runs"][:-1]
    schedule.write_text(json.dumps(data))
    said = json.loads(
        invoke("check", "preemptive", instance, schedule, "--theorems", "--json", status=1)
    )
    assert said["sound"] is False
    broken = [one["statement"] for one in said["certificates"] if one["verdict"] == "fails"]
    assert broken[0] == FEASIBLE


def test_theorem_4_leaves_out_the_loop_over_chunks(example: Instance) -> None:
    statements = found(example, online(example, 0.0))
    printed, corrected = (statements[f"Theorem 4, {how}"] for how in ("as printed", "corrected"))
    assert corrected.verdict == "holds"
    assert corrected.expected
    assert not printed.expected
    assert corrected.right == printed.right * example.num_chunks.max()
