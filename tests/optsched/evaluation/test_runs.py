"""One method on one instance: what is asked of it, and what its record says."""

import json
import math
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import covering
import numpy as np
import pytest

import optsched as osd
from optsched.errors import InputError
from optsched.evaluation import heuristic_run, runs
from optsched.evaluation.heuristic_run import (
    heuristic_limits,
    heuristic_rng,
    run_heuristic,
    to_be_online,
    with_heuristics,
)
from optsched.evaluation.ratios import _may_beat
from optsched.evaluation.runs import (
    InstanceRunner,
    MethodRun,
    MethodSpec,
    check_exact,
    check_names,
    starts,
)
from optsched.problem import Bound, Heuristic, problem
from optsched.solvers import isolation
from optsched.solvers.options import Options
from optsched.solvers.solution import ProgressPoint, Status

INSTANCE = covering.Cover(price=[3, 4, 10], size=[2, 3, 5], demand=5)  # optimum 7
EVERYTHING = MethodSpec("heuristic", "everything")
KNAPSACK = MethodSpec("exact", "knapsack")


def run(method, *, start=None, keep=False, claim=None, **changes):
    problem = replace(covering.PROBLEM, **changes)
    return InstanceRunner(problem, INSTANCE, 0).run(method, start, keep=keep, claim=claim)


def with_heuristic(function, **more):
    """The covering problem with one heuristic more, "mine"."""
    mine = Heuristic("mine", function, source="", summary="", **more)
    return replace(covering.PROBLEM, heuristics={**covering.PROBLEM.heuristics, "mine": mine})


def test_a_record_claims_nothing_that_it_was_not_told():
    said = MethodRun("done")
    assert (said.offline, said.may_beat) == (False, False)
    assert said.seconds == said.compile_seconds == said.interpreted_seconds == 0
    assert said.cost is said.bound is said.nodes is said.schedule is said.rows is None


def test_instances_and_heuristics_draw_from_streams_of_their_own():
    drawn = [rng(5).integers(1 << 40) for rng in (runs.instance_rng, heuristic_rng)]
    streams = [np.random.SeedSequence(5, spawn_key=(k,)) for k in (0, 1)]
    assert drawn == [np.random.default_rng(one).integers(1 << 40) for one in streams]


@pytest.mark.parametrize(
    ("made", "kind"),
    [(None, "None"), ([1, 2], "an object of type list")],
)
def test_what_is_no_schedule_is_an_error_that_says_what_is_expected(made, kind):
    problem = with_heuristic(lambda instance, rng: made)
    found = InstanceRunner(problem, INSTANCE, 0).run(MethodSpec("heuristic", "mine"), keep=True)
    assert (found.status, found.message) == ("error", f"returned {kind}: expected a Choice")


def test_the_error_of_a_heuristic_is_its_own():
    """Nothing that is said of the optimum is added to it."""
    bad = Bound("bad", lambda instance: 1 / 0, source="", summary="")
    problem = replace(with_heuristic(lambda instance, rng: None), bounds={"bad": bad})
    (row,) = osd.ratios(problem, ["mine"], instances=INSTANCE, bounds=["bad"]).rows
    assert row.message == "returned None: expected a Choice"


def test_a_solve_starts_from_the_schedule_that_its_heuristic_made_before():
    calls = []

    def counted(instance, rng):
        calls.append(1)
        return covering.everything(instance, rng)

    runner = InstanceRunner(with_heuristic(counted), INSTANCE, 0)
    runner.run(MethodSpec("heuristic", "mine"))
    runner.run(KNAPSACK, "mine")
    assert len(calls) == 1
    osd.ratios(runner.problem, ["mine"], grid={"items": [4]}, seeds=2)
    assert len(calls) == 3
    osd.ratios(runner.problem, ["mine"], grid={"items": [4]}, seeds=2)
    assert len(calls) == 5


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_a_bound_that_is_no_number_is_an_error(value):
    bound = Bound("none", lambda _: value, source="", summary="")
    found = run(MethodSpec("bound", "none"), bounds={"none": bound})
    assert (found.status, found.bound) == ("error", None)
    assert found.message == f"bound none: {value}"


# proofs


def test_a_proof_is_of_a_claim_and_has_the_time_it_was_given():
    found = run(MethodSpec("proof", "knapsack", options=Options(time_limit=30.0)), claim=7.0)
    assert (found.status, found.bound) == ("optimal", pytest.approx(7.0))
    assert found.nodes >= 1
    assert 0 <= found.seconds < 60
    assert run(MethodSpec("proof", "knapsack"), claim=7.0).status == "optimal"
    hurried = run(MethodSpec("proof", "knapsack", options=Options(time_limit=1e-9)), claim=7.0)
    assert (hurried.status, hurried.bound) == ("feasible", None)


@pytest.mark.parametrize(
    ("claim", "said"), [(None, "no optimum to prove"), (8.0, "seems to be better")]
)
def test_a_proof_that_fails_says_why_and_how_long_it_took(claim, said):
    found = run(MethodSpec("proof", "knapsack"), claim=claim)
    assert (found.status, found.bound) == ("no_solution" if claim is None else "feasible", None)
    assert said in found.message
    assert 0 <= found.seconds < 60


# what is kept


def test_a_schedule_is_in_the_record_only_where_it_was_asked_to_be():
    for method in (EVERYTHING, KNAPSACK):
        assert run(method).schedule is None
        assert InstanceRunner(covering.PROBLEM, INSTANCE, 0).run(method).schedule is None
        kept = run(method, keep=True).schedule
        assert kept is not None
        assert "taken" in kept


def test_an_exact_schedule_is_an_incumbent_and_has_its_cost_measures_and_version():
    found = run(KNAPSACK, measures={"items": lambda _, schedule: len(schedule.taken)})
    assert (found.status, found.cost, found.bound, found.offline) == ("optimal", 7.0, 7.0, True)
    assert found.measures == {"items": 2.0}
    assert found.solver.startswith("highs 1")
    assert (found.limit, found.trace, found.may_beat) == ("", "", False)


def test_a_solve_that_raises_leaves_an_error_and_no_incumbent():
    found = run(MethodSpec("exact", "knapsack(spare=0)", solver="nobody"))
    assert (found.status, found.cost, found.offline) == ("error", None, False)
    assert "nobody" in found.message
    assert found.trace


def test_a_measure_is_kept_where_it_is_a_number_and_complained_of_where_it_raises():
    def failing(instance, schedule):
        raise ValueError("cannot say")

    found = run(
        EVERYTHING,
        measures={"one": lambda *_: 1, "endless": lambda *_: math.inf, "failing": failing},
    )
    assert found.measures == {"one": 1.0}
    assert found.message.startswith("failing: ")
    assert found.message.endswith("cannot say")


def test_the_quantities_of_bounds_are_those_of_schedules_that_pass():
    bound = Bound("b", lambda _: 1.0, source="", summary="", numerator=lambda *_: 5.0)
    plain = Bound("p", lambda _: 1.0, source="", summary="")
    bounds = {"b": bound, "p": plain}
    assert run(EVERYTHING, bounds=bounds).quantities == {"b": 5.0}
    violated = replace(with_heuristic(covering.nothing), bounds=bounds)
    mine = MethodSpec("heuristic", "mine")
    assert InstanceRunner(violated, INSTANCE, 0).run(mine).quantities == {}


@pytest.mark.parametrize(
    ("times", "kept"),
    [
        ([3, 1.00000049, 2], [1, 2, 3]),
        (range(101), range(101)),
        (np.arange(102) / 101, np.arange(101) / 100),
        ([1, math.inf], None),
        ([], None),
    ],
)
def test_flow_times_are_kept_in_order_a_hundred_and_one_at_most(times, kept):
    for method in (EVERYTHING, KNAPSACK):
        said = run(method, flow_times=lambda *_: times).flow_times
        assert (None if said is None else json.loads(said)) == (
            None if kept is None else pytest.approx(list(kept), abs=1e-6)
        )
    problem = replace(with_heuristic(covering.nothing), flow_times=lambda *_: times)
    assert run(EVERYTHING, flow_times=lambda *_: [1.00000049]).flow_times == "[1.0]"
    violated = InstanceRunner(problem, INSTANCE, 0).run(MethodSpec("heuristic", "mine"))
    assert violated.flow_times is None


@pytest.mark.parametrize("steps", [0, 1, 2, 200, 201, 999])
def test_two_hundred_moments_of_a_trajectory_are_kept_at_most(steps):
    course = [ProgressPoint(float(k), 0.0, 1.0) for k in range(steps)]
    kept = runs._thinned(course)
    if steps < 2:
        assert kept is None
        return
    moments = [moment[0] for moment in json.loads(kept)]
    assert len(moments) == min(steps, 200)
    assert (moments[0], moments[-1]) == (0, steps - 1)
    assert moments == sorted(set(moments))


def test_a_method_that_raises_leaves_its_trace_and_no_schedule_is_measured():
    def failing(*_):
        raise ValueError("no number")

    bound = Bound("b", failing, source="", summary="")
    found = run(MethodSpec("bound", "b"), bounds={"b": bound})
    assert (found.status, "no number" in found.message) == ("error", True)
    assert "in failing" in found.trace
    problem = replace(with_heuristic(covering.crashing), measures={"items": lambda *_: 1.0})
    crashed = InstanceRunner(problem, INSTANCE, 0).run(MethodSpec("heuristic", "mine"), keep=True)
    assert (crashed.status, crashed.measures, crashed.schedule) == ("error", {}, None)
    assert "in crashing" in crashed.trace
    assert "in run_heuristic" not in crashed.trace
    uncosted = replace(covering.PROBLEM, cost=failing, measures={"items": lambda *_: 1.0})
    found = InstanceRunner(uncosted, INSTANCE, 0).run(EVERYTHING, keep=True)
    assert (found.status, found.measures, found.schedule) == ("error", {}, None)


def test_a_solver_that_is_not_there_is_refused_by_name(monkeypatch):
    check_exact(covering.PROBLEM, "knapsack", None, None)
    with pytest.raises(InputError, match="solver"):
        check_exact(covering.PROBLEM, "knapsack", "nobody", None)

    class Absent:
        def version(self):
            raise ImportError("no wheel")

    monkeypatch.setattr(runs, "backend", lambda _: Absent())
    with pytest.raises(InputError, match=r"not installed \(no wheel\); there are: .*highs"):
        check_exact(covering.PROBLEM, "knapsack", "highs", None)
    monkeypatch.setattr(runs, "available", list)
    with pytest.raises(InputError, match="there are: none"):
        check_exact(covering.PROBLEM, "knapsack", "highs", None)


def test_names_are_checked_before_anything_runs():
    problem = covering.PROBLEM
    check_names(problem, ["everything"], "knapsack", None, [])
    with pytest.raises(InputError, match="heuristics"):
        check_names(problem, [], "knapsack", None, [])
    with pytest.raises(InputError, match="bound"):
        check_names(problem, ["everything"], "knapsack", None, ["nobody's"])


def test_a_solve_starts_only_where_a_start_is_supported():
    problem = covering.PROBLEM
    assert starts(problem, "knapsack", ["a", "b"]) == ("a", "b")
    chosen, _ = problem.formulation("knapsack")
    deaf = replace(problem, formulations={"knapsack": replace(chosen, encode=None)})
    assert starts(deaf, "knapsack", ["a", "b"]) == ()


# heuristics


@pytest.mark.parametrize(
    ("speed", "strict", "taken", "offline", "may_beat"),
    [
        (1.0, {}, [0, 1, 2], True, False),
        (2.0, {}, [0, 1, 2], True, True),
        (2.0, {}, [1], False, True),
        (1.0, {"speed": 0.5}, [0, 1, 2], True, False),
        (1.0, {"speed": 0.5}, [0, 1], False, True),
    ],
)
def test_a_schedule_serves_as_incumbent_where_it_passes_the_exact_models_check(
    speed, strict, taken, offline, may_beat
):
    problem = with_heuristic(lambda *_: covering.Choice(taken=taken, speed=speed))
    found = run_heuristic(replace(problem, reference_check=strict), INSTANCE, "mine", 0)
    assert found.status is None
    assert (found.offline, found.granted) == (offline, speed > 1)
    run = MethodRun(Status.DONE, cost=1.0, offline=found.offline, may_beat=found.granted)
    assert _may_beat(run, as_free=False) == may_beat
    assert _may_beat(run, as_free=True) == found.granted


def test_a_violated_schedule_is_no_incumbent_and_beats_nothing():
    found = run_heuristic(with_heuristic(covering.nothing), INSTANCE, "mine", 0)
    assert (found.status, found.offline, found.granted) == ("violated", False, False)
    assert not _may_beat(MethodRun(found.status, offline=found.offline), as_free=False)
    assert len(found.violations) == 1


def test_how_an_instance_is_taken_is_said_where_it_matters():
    def made(taken, speed):
        problem = with_heuristic(lambda *_: covering.Choice(taken=taken, speed=speed))
        problem = replace(problem, interpretation=lambda _: "in slots")
        return run_heuristic(problem, INSTANCE, "mine", 0).offline_message

    said = "checked as schedules of the exact models are (in slots), it breaks (1) by 2"
    assert made([1], 2.0).startswith(said)
    assert made([1], 1.0) == made([2], 1.0) == ""  # it breaks the problem, or nothing
    for as_given, said in ((True, ""), (False, "in slots")):
        bound = Bound("b", lambda _: 1.0, source="", summary="", as_given=as_given)
        method, taken = MethodSpec("bound", "b"), {"interpretation": lambda _: "in slots"}
        assert run(method, bounds={"b": bound}, **taken).interpretation == said


def test_memory_that_runs_out_is_told_from_other_failures():
    def greedy_of_memory(instance, rng):
        raise MemoryError

    for function, status in ((greedy_of_memory, "out of memory"), (covering.crashing, "error")):
        assert run_heuristic(with_heuristic(function), INSTANCE, "mine", 0).status == status


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_a_schedule_that_passes_and_costs_no_number_is_an_error(value):
    problem = replace(covering.PROBLEM, cost=lambda *_: value)
    found = run_heuristic(problem, INSTANCE, "everything", 0)
    assert (found.status, found.cost, found.offline) == ("error", None, False)
    assert found.message == f"the schedule passes the checker and costs {value}"


@pytest.mark.parametrize(("limits", "told"), [({"time_limit": 2.0}, [(2.0, True)]), ({}, [])])
def test_a_process_ends_itself_at_its_time_and_tells_where_it_was(monkeypatch, limits, told):
    """In this process, where changes of the code are seen; ``study/test_limits.py`` has the real
    one."""
    heard = []
    later = SimpleNamespace(dump_traceback_later=lambda after, exit: heard.append((after, exit)))
    monkeypatch.setattr(heuristic_run, "faulthandler", later)

    def here(attempt, options, *, stops):
        assert not stops
        assert options.time_limit == (62.0 if told else None)  # it may take a minute to start
        return attempt(None, None)

    monkeypatch.setattr(isolation, "run_isolated", here)
    limits = heuristic_limits(memory_limit=9.0, **limits)
    assert run_heuristic(covering.PROBLEM, INSTANCE, "everything", 0, limits).cost == 17
    assert heard == told


def test_heuristics_of_the_callers_go_by_their_names():
    def own(instance, rng):
        "Mine.\n\nAll of it."
        return covering.everything(instance, rng)

    problem, names = with_heuristics(covering.PROBLEM, ["everything", own, own, "everything"])
    assert names == ["everything", "own"]
    added = problem.heuristics["own"]
    assert (added.summary, added.is_online({})) == ("Mine.", False)
    assert with_heuristics(covering.PROBLEM, ["everything"])[0] is covering.PROBLEM
    lambdas, names = with_heuristics(covering.PROBLEM, [lambda *_: None])
    assert names == ["lambda"]
    assert lambdas.heuristics["lambda"].summary == ""
    for wrong in (3, partial(own)):
        with pytest.raises(InputError, match="a named function"):
            with_heuristics(covering.PROBLEM, [wrong])
    for clash in ([own, lambda_named("own")], [lambda_named("everything")]):
        with pytest.raises(InputError, match="no other heuristic"):
            with_heuristics(covering.PROBLEM, clash)


def lambda_named(name):
    """Another function of that name."""
    function = lambda *_: None  # noqa: E731
    function.__name__ = name
    return function


def test_limits_ask_for_a_process_and_none_asks_for_nothing():
    assert heuristic_limits() is None
    for asked in ({"time_limit": 2.0}, {"memory_limit": 3.0}):
        limits = heuristic_limits(**asked)
        assert limits is not None
        assert limits.isolate
        assert (limits.time_limit, limits.memory_limit) == (
            asked.get("time_limit"), asked.get("memory_limit"))  # fmt: skip


PACKING = problem("aerialedge")
TASKS = PACKING.generate(np.random.default_rng(0), kind="hard", tasks=10, jobs=4)


def looked_ahead(run):
    """What the spot check says of a heuristic's run."""
    mine = Heuristic("mine", run, source="", summary="")
    chosen = replace(PACKING, heuristics={"mine": mine})
    trial = run_heuristic(chosen, TASKS, "mine", 0)
    return heuristic_run.foresight(chosen, TASKS, trial, 0)


def test_foresight_is_looked_for_on_few_jobs_if_the_run_also_ends_on_parts(monkeypatch):
    sorting = PACKING.heuristics["first_fit_decreasing"].run  # of all tasks, whenever they arrive

    def failing(instance, rng):
        if instance.tasks < TASKS.tasks:
            raise ValueError("too few")
        return sorting(instance, rng)

    assert looked_ahead(sorting).startswith("sees the future")
    assert looked_ahead(failing) is None
    with monkeypatch.context() as changed:
        changed.setattr(heuristic_run, "FORESIGHT_JOBS", TASKS.jobs)
        assert looked_ahead(sorting).startswith("sees the future")
        changed.setattr(heuristic_run, "FORESIGHT_JOBS", TASKS.jobs - 1)
        assert looked_ahead(sorting) is None
    runs = []

    def honest(instance, rng):
        runs.append(instance.tasks)
        return PACKING.heuristics["first_fit"].run(instance, rng)

    assert looked_ahead(honest) == ""
    assert len(runs) == 1 + 2 * 2  # two moments, each without the later tasks and with others


def foresight_of(run, *, online=True, look_ahead=True, limits=None):
    """What a record says of a heuristic's foresight."""
    mine = Heuristic("mine", run, source="", summary="", online=online)
    chosen = replace(PACKING, heuristics={"mine": mine})
    asked = MethodSpec("heuristic", "mine", options=limits)
    return InstanceRunner(chosen, TASKS, 0).run(asked, look_ahead=look_ahead)


def test_a_record_says_whether_foresight_was_looked_for_and_found():
    sorting, honest = (
        PACKING.heuristics[name].run for name in ("first_fit_decreasing", "first_fit")
    )
    assert foresight_of(sorting).foresight == "found"
    assert foresight_of(sorting).status == "sees the future"
    assert foresight_of(sorting, look_ahead=False).foresight == "not tried"
    assert foresight_of(sorting, look_ahead=False).status == "done"
    assert foresight_of(sorting, limits=heuristic_limits(60.0)).foresight == "not tried"
    assert foresight_of(honest).foresight == "none found"
    assert foresight_of(sorting, online=False).foresight == ""
    assert not to_be_online(replace(PACKING, arrivals=None), "first_fit")
