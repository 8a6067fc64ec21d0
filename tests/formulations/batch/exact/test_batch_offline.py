"""The offline optimum of (2): bounds in their order, types of workers, limits."""

import json
import threading
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
from batch_cases import tiny_instances, worked_example
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.batch import PROBLEM, insertion
from formulations.batch.check import check, cost
from formulations.batch.domain_reduction import prospects
from formulations.batch.exact import improve, search, server_cuts
from formulations.batch.exact.columns import lb_columns, problem_2_pooled_slots
from formulations.batch.exact.search import Search
from formulations.batch.exact.split import Timetable, split
from formulations.batch.generator import generate, tiny
from formulations.batch.insertion import Occupancy, PlacedJob, in_turn
from formulations.batch.instance import Instance
from formulations.batch.problem_2 import problem_2
from formulations.batch.problem_2_intervals import problem_2_pooled
from optsched.errors import InputError
from optsched.evaluation.proofs import check_proof, nodes, prove
from optsched.proof import ProofError
from optsched.solve import solve
from optsched.solvers.options import Options


@given(
    instance=tiny_instances(),
    without=st.sampled_from([(), ("MOST_ENTRIES",), ("improve",)]),
    small=st.sampled_from([0, 150]),
)
@settings(max_examples=60, deadline=None)
def test_the_offline_search_proves_the_optimum(
    instance: Instance, without: tuple[str, ...], small: int
) -> None:
    optimum = solve(problem_2(instance)).objective
    with pytest.MonkeyPatch.context() as patch:
        for name in without:
            if name == "improve":  # so that columns and splits are left to find a schedule
                patch.setattr(Search, name, lambda *_: None)
            else:
                patch.setattr(search, name, 0)
        answer = PROBLEM.solve("problem_2_offline", instance, small=small)
    assert answer.solution.status == "optimal"
    assert answer.solution.objective == answer.solution.bound == optimum


@given(instance=tiny_instances())
@settings(max_examples=25, deadline=None)
def test_bounds_stand_in_their_order(instance: Instance) -> None:
    optimum = solve(problem_2(instance)).objective
    pooled = solve(problem_2_pooled(instance), "cpsat").objective
    assert optimum is not None
    assert pooled is not None
    assert lb_columns(instance) <= pooled <= optimum
    assert solve(problem_2_pooled_slots(instance)).objective == pooled
    assert PROBLEM.bounds["alone"].compute(instance) <= pooled


def test_pooled_servers_can_promise_what_no_servers_keep() -> None:
    # two servers of one worker each are not one server of two: the fast speed needs one server
    instance = Instance.build(
        worker_capacity=[[1], [1]],
        ps_capacity=[[1], [1]],
        release_slot=[1, 1, 1],
        num_chunks=[1, 1, 1],
        work_slow=[4, 4, 4],
        work_fast=[2, 2, 2],
        upload_delay=[[0, 4], [0, 4], [0, 4]],
    )
    pooled = solve(problem_2_pooled(instance), "cpsat").objective
    optimum = solve(problem_2(instance)).objective
    assert pooled is not None
    assert optimum is not None
    assert pooled < optimum
    answer = PROBLEM.solve("problem_2_offline", instance)
    assert answer.solution.objective == optimum
    assert prove(PROBLEM, "problem_2_offline", instance, answer)["formulation"] == "problem_2"


def test_an_optimum_that_pooled_servers_have_too_is_proven_by_them() -> None:
    instance = worked_example()
    answer = PROBLEM.solve("problem_2_offline", instance)
    proof = prove(PROBLEM, "problem_2_offline", instance, answer)
    assert proof["formulation"] == PROBLEM.proof_relaxation == "problem_2_pooled_slots"
    verdict = check_proof(PROBLEM, instance, proof)
    assert verdict.closed
    assert verdict.of_the_problem


def test_an_optimum_of_which_one_type_needs_servers_is_proven_type_by_type() -> None:
    # of type 0 nothing is gained by pooling, of type 1 the fast speed needs one server
    instance = Instance.build(
        worker_capacity=[[2, 1], [0, 1]],
        ps_capacity=[[9], [9]],
        release_slot=[1, 1, 1, 1, 1],
        num_chunks=[2, 2, 1, 1, 1],
        work_slow=[4, 6, 4, 4, 4],
        work_fast=[4, 6, 2, 2, 2],
        worker_type=[0, 0, 1, 1, 1],
        upload_delay=[[0, 0]] * 2 + [[0, 4]] * 3,
    )
    answer = PROBLEM.solve("problem_2_offline", instance)
    proof = prove(PROBLEM, "problem_2_offline", instance, answer)
    calls = [part["formulation"] for part in proof["parts"]]
    assert calls == ["problem_2_pooled_slots", "problem_2"]
    assert nodes(proof) == sum(len(part["nodes"]) for part in proof["parts"])
    verdict = check_proof(PROBLEM, instance, json.loads(json.dumps(proof)))
    assert verdict.closed
    assert verdict.of_the_problem
    for parts in ([], proof["parts"][:1], proof["parts"] * 2, 2, [1, 2]):
        with pytest.raises(InputError, match="a proof of each of 2 parts"):
            check_proof(PROBLEM, instance, {**proof, "parts": parts})
    with pytest.raises((InputError, ProofError)):
        check_proof(PROBLEM, instance, {**proof, "parts": proof["parts"][::-1]})


def test_where_types_compete_for_parameter_servers_all_is_proven_together() -> None:
    instance = two_types_one_service(1)
    answer = PROBLEM.solve("problem_2_offline", instance)
    assert answer.solution.objective == 4
    proof = prove(PROBLEM, "problem_2_offline", instance, answer)
    assert "parts" not in proof
    assert check_proof(PROBLEM, instance, proof).closed


def test_intervals_that_reach_every_server_always_split() -> None:
    rng = np.random.default_rng(7)
    for _ in range(10):
        jobs = 12
        starts = rng.integers(1, 12, jobs)
        width = rng.integers(1, 4, jobs)
        length = rng.integers(1, 5, jobs)
        load = max(width[(starts <= t) & (t < starts + length)].sum() for t in range(1, 17))
        servers = np.array([[1]] * int(load), dtype=float)
        instance = Instance.build(
            worker_capacity=servers,
            ps_capacity=np.full_like(servers, jobs),
            release_slot=np.ones(jobs, dtype=int),
            num_chunks=width,
            work_slow=(width * length).tolist(),
            work_fast=(width * length).tolist(),
            upload_delay=np.zeros(len(servers), dtype=int),
        )
        chosen = prospects(instance, every=True)
        k = chosen.choices
        choice = np.array(
            [
                np.flatnonzero((k.job == j) & ~k.fast & (k.workers == width[j]))[0]
                for j in range(jobs)
            ]
        )
        table = Timetable(np.arange(jobs), choice, starts)
        found = split(chosen, table, np.ones(jobs))
        assert found.kept.all()
        assert found.placed[:, 2].sum() == width.sum()


def test_the_search_keeps_to_its_time_and_says_what_is_proven() -> None:
    instance = generate(np.random.default_rng(2), jobs=40, servers=10, types=3, time_scale=0.03)
    answer = PROBLEM.solve("problem_2_offline", instance, options=Options(time_limit=2.0))
    solution = answer.solution
    assert solution.bound is not None
    assert solution.objective is not None
    assert solution.bound <= solution.objective
    assert check(instance, answer.schedule) == []
    assert cost(instance, answer.schedule) == solution.objective


@pytest.mark.parametrize(
    "loop",
    [(insertion, "cheapest_run"), (improve, "destroy_and_repair"), (server_cuts, "saturate"),
     (server_cuts, "fitting")],
    ids=lambda loop: loop[1],
)  # fmt: skip
@pytest.mark.parametrize("jobs", [12, 40])
def test_what_has_no_time_for_machine_code_costs_quality_alone(
    loop: tuple[ModuleType, str], jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = generate(np.random.default_rng(8), jobs=jobs, servers=8, time_scale=0.1)
    optimum = PROBLEM.solve("problem_2_offline", instance).solution.objective

    def late(*_: object) -> None:
        raise TimeoutError

    monkeypatch.setattr(*loop, late)
    answer = PROBLEM.solve("problem_2_offline", instance, options=Options(time_limit=5.0))
    assert answer.schedule is not None
    assert check(instance, answer.schedule) == []
    assert answer.solution.objective == cost(instance, answer.schedule)
    assert answer.solution.bound <= optimum <= answer.solution.objective


def test_crowded_servers_are_searched_with_a_listener_and_threads_too() -> None:
    instance = generate(np.random.default_rng(1), jobs=8, servers=6, types=1, time_scale=0.05)
    told: list[tuple[float | None, float | None]] = []
    options = Options(
        time_limit=20.0,
        threads=2,
        stop=threading.Event(),
        on_progress=lambda at: told.append((at.bound, at.objective)),
    )
    solution = PROBLEM.solve("problem_2_offline", instance, options=options).solution
    assert solution.status in ("optimal", "feasible")
    assert told[-1] == (solution.bound, solution.objective)
    assert lb_columns(instance) <= (solution.bound or 0.0) <= (solution.objective or 0.0)


def test_jobs_that_are_alike_are_proven_by_the_model_by_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Search, "branch", lambda *_: None)
    instance = Instance.build(
        worker_capacity=[[3], [1], [2]],
        ps_capacity=[[1], [3], [3]],
        release_slot=[2] * 7,
        num_chunks=[2] * 7,
        work_slow=[8] * 7,
        work_fast=[5] * 7,
        upload_delay=[[1, 0, 0]] * 7,
    )
    seconds = {"model_seconds": 60.0, "model_share": 1.0}  # however busy the machine is
    solution = PROBLEM.solve("problem_2_offline", instance, **seconds).solution
    assert (solution.status, solution.objective, solution.bound) == ("optimal", 36.0, 36.0)


@given(instance=tiny_instances())
@settings(max_examples=15, deadline=None)
def test_jobs_one_after_another_are_a_schedule(instance: Instance) -> None:
    assert check(instance, in_turn(instance)) == []


def test_without_a_cloud_and_machine_code_there_is_a_schedule(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def late(*_: object) -> None:
        raise TimeoutError

    monkeypatch.setattr(insertion, "cheapest_run", late)
    instance = tiny(np.random.default_rng(11), jobs=3, cloud=False)
    for limits in (Options(time_limit=1e-9), Options(time_limit=2.0)):
        answer = PROBLEM.solve("problem_2_offline", instance, options=limits)
        assert check(instance, answer.schedule) == []
        assert answer.solution.objective <= cost(instance, in_turn(instance))


def test_a_start_is_never_made_worse() -> None:
    instance = tiny(np.random.default_rng(11), jobs=3)
    first = PROBLEM.solve("problem_2", instance)
    again = PROBLEM.solve("problem_2_offline", instance, start=first.schedule)
    assert again.solution.objective == first.solution.objective


def test_pictures_show_every_job() -> None:
    from matplotlib.figure import Figure

    example = worked_example()
    made = PROBLEM.solve("problem_2", example).schedule
    for name, draw in PROBLEM.pictures.items():
        ax = draw(Figure().subplots(), example, made)
        assert ax.get_xlabel() == "time (slots)", name
    gantt = PROBLEM.pictures["gantt"](Figure().subplots(), example, made)
    legend = gantt.get_legend()
    assert legend is not None
    assert len(legend.get_texts()) == 3


def two_types_one_service(services: int) -> Instance:
    """Two jobs of different worker types on one server, each done in two slots at best."""
    return Instance.build(
        worker_capacity=[[2, 2]],
        ps_capacity=[[services]],
        release_slot=[1, 1],
        num_chunks=[2, 2],
        work_slow=[8, 8],
        work_fast=[4, 4],
        worker_type=[0, 1],
        upload_delay=[[0], [0]],
    )


@pytest.mark.parametrize(("services", "optimum"), [(2, 2.0), (1, 4.0)])
def test_types_of_workers_fall_apart_unless_parameter_servers_tie_them(
    services: int, optimum: float
) -> None:
    instance = two_types_one_service(services)
    solution = PROBLEM.solve("problem_2_offline", instance).solution
    assert solution.status == "optimal"
    assert solution.objective == solution.bound == optimum
    assert solve(problem_2(instance)).objective == optimum


def test_a_run_whose_parameter_server_is_taken_finds_another() -> None:
    instance = replace(
        two_types_one_service(1),
        worker_capacity=np.array([[2.0, 2.0], [0.0, 0.0]]),
        ps_capacity=np.array([[1.0], [1.0]]),
        upload_delay=np.array([[0, 1], [0, 1]]),
    )
    occupancy = Occupancy(prospects(instance))
    together, spread, early = (
        PlacedJob(j, start, start + 1, fast, 0, np.array([2, 0]))
        for j, start, fast in ((0, 2, True), (1, 2, False), (1, 1, False))
    )
    occupancy.put(together)
    moved = occupancy.served(spread)
    assert moved is not None
    assert moved.ps == 1
    assert occupancy.served(early) is None  # in slot 1 the job has not reached server 1
    occupancy.put(moved)
    assert occupancy.served(together) is None


def test_parts_of_a_schedule_put_together_are_the_schedule() -> None:
    instance = generate(np.random.default_rng(3), jobs=12, servers=4, time_scale=0.1)
    whole = PROBLEM.solve("problem_2_offline", instance).schedule
    assert whole is not None
    jobs = [np.flatnonzero(instance.worker_type == u) for u in np.unique(instance.worker_type)]
    again = type(whole).merged([(j, whole.of_jobs(j)) for j in jobs])
    assert check(instance, again) == []
    assert cost(instance, again) == cost(instance, whole)
    for j in jobs:
        assert check(instance.select_jobs(j), whole.of_jobs(j)) == []
