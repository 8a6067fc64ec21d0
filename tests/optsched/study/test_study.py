"""A study runs every method on every instance once, and keeps what came of it."""

import gc
import itertools
import math
import os
import re
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace

import covering
import pytest
from untimed import untimed

import optsched as osd
from optsched.errors import InputError
from optsched.evaluation.heuristic_run import heuristic_rng
from optsched.evaluation.runs import instance_rng
from optsched.parallel.local import ExecutorLostError, Processes
from optsched.problem import Bound, Heuristic, problem
from optsched.problem.methods import ExactMethod
from optsched.solvers.options import Options
from optsched.study import Exact, Store, StudyGrid, engine, run_study

SMALL = StudyGrid(
    "covering",
    generator={"items": [4, 6]},
    seeds=range(3),
    heuristics=["greedy", "shuffled"],
    exact=["knapsack"],
    bounds=["fractional"],
)


@pytest.fixture
def path(tmp_path):
    """Where a store may go."""
    return tmp_path / "study.sqlite"


@pytest.fixture
def studied(path):
    """Run a study in this process into one store; the number of runs computed and the results."""

    def run(*grids, **options):
        steps = []
        results = run_study(grids, path, workers=1, progress=steps.append, **options)
        return steps[-1].computed, results

    return run


def content(rows):
    """Everything but the clock."""
    return sorted((untimed(row) for row in rows), key=str)


def ends(results):
    """How each method's runs ended."""
    return {(step.kind, step.method): dict(step.statuses) for step in results.steps()}


# what is computed


def test_every_method_runs_on_every_instance_once(studied):
    computed, results = studied(SMALL)
    assert computed == 2 * 3 * 4
    assert (results.progress.finished, results.progress.planned) == (24, 24)
    assert ends(results) == {
        ("heuristic", "greedy"): {"done": 6},
        ("heuristic", "shuffled"): {"done": 6},
        ("bound", "fractional"): {"done": 6},
        ("exact", "knapsack"): {"optimal": 6},
    }
    again, same = studied(SMALL)
    assert again == 0
    assert same.rows == results.rows


def test_a_study_says_what_measuring_each_instance_says(studied):
    _, results = studied(SMALL)
    measured = [
        row
        for items in (4, 6)
        for seed in range(3)
        for row in osd.ratios(
            problem("covering"),
            ["greedy", "shuffled"],
            instances={
                f"items={items},seed={seed}": covering.generate(instance_rng(seed), items=items)
            },
            seeds=[seed],
            bounds=["fractional"],
        ).rows
    ]
    generated = [replace(row, parameters={}) for row in results.rows]
    assert content(generated) == content(measured)
    assert len(measured) == 12


def test_a_method_added_later_is_all_that_is_computed(studied):
    studied(SMALL)
    computed, results = studied(replace(SMALL, heuristics=["greedy", "everything", "shuffled"]))
    assert computed == 6
    assert len(results.rows) == 18


def test_two_recipes_of_one_instance_have_one_run(studied):
    twins = {"items": [4], "prices": [None, (1, 19)]}
    computed, results = studied(replace(SMALL, generator=twins, seeds=range(30)))
    assert computed == 30 * 4
    assert (results.progress.finished, len(results.rows)) == (240, 120)


def test_a_larger_grid_computes_only_its_new_instances(studied):
    studied(SMALL)
    computed, _ = studied(replace(SMALL, generator={"items": [4, 6, 8]}, seeds=range(4)))
    assert computed == (3 * 4 - 2 * 3) * 4


def test_a_method_taken_out_leaves_the_tables_and_stays_in_the_store(studied):
    studied(SMALL)
    _, results = studied(replace(SMALL, heuristics=["greedy"]))
    assert {row.heuristic for row in results.rows} == {"greedy"}
    assert studied(SMALL)[0] == 0


def test_grids_share_the_runs_they_have_in_common(studied):
    computed, results = studied(SMALL, replace(SMALL, heuristics=["greedy"], bounds=[]))
    assert computed == 24
    assert (results.progress.finished, results.progress.planned) == (36, 36)
    assert len(results.rows) == 12 + 6


def test_exact_methods_run_once_on_an_instance_however_many_seeds_it_is_given(studied, tmp_path):
    file = tmp_path / "instance.json"
    file.write_text('{"price": [3, 4, 10], "size": [2, 3, 5], "demand": 5}')
    grid = StudyGrid("covering", files=[file], seeds=range(3), heuristics=["shuffled"])
    computed, results = studied(grid)
    assert computed == 3 + 1
    assert [row.optimum for row in results.rows] == [7, 7, 7]
    assert {row.instance for row in results.rows} == {str(file)}


def test_a_solve_with_other_limits_is_another_run(studied):
    grid = replace(SMALL, heuristics=[], bounds=[])
    studied(grid)
    limited = [Exact("knapsack", options=Options(time_limit=30))]
    assert studied(replace(grid, exact=limited))[0] == 6
    assert studied(replace(grid, exact=limited))[0] == 0
    by_name = [Exact("knapsack", "highs", Options(time_limit=30))]
    assert studied(replace(grid, exact=by_name))[0] == 0


def test_several_solves_of_the_reference_prove_together(studied):
    exact = [Exact("knapsack"), Exact("knapsack", solver="scipy"), Exact("relaxed")]
    _, results = studied(replace(SMALL, exact=exact))
    assert {row.status for row in results.rows} == {"optimal"}
    assert all("highs" in row.solver and "scipy" in row.solver for row in results.rows)
    assert ("exact", "knapsack by scipy") in ends(results)


def test_a_solve_starts_from_the_best_schedule_of_the_heuristics_it_names(studied):
    seen = []

    def started(instance, options, start):
        seen.append((start, instance))
        return covering.PROBLEM.solve("knapsack", instance)

    method = ExactMethod("started", started, "", "", frozenset({"start"}))
    formulations = {**covering.PROBLEM.formulations, "started": method}
    starting = replace(problem("covering"), formulations=formulations)
    start = ("everything", "greedy", "crashing")
    grid = replace(SMALL, problem=starting, heuristics=start, bounds=[])
    studied(replace(grid, exact=[Exact("started", start=start)], reference="started"))
    assert len(seen) == 6
    for schedule, instance in seen:
        costs = [covering.cost(instance, run(instance, None)) for run in _CHEAP]
        assert covering.cost(instance, schedule) == min(costs)


_CHEAP = (covering.everything, covering.greedy)


# what goes wrong


def test_failures_are_results_with_a_status(studied):
    grid = replace(
        SMALL, heuristics=["nothing", "crashing"], bounds=["failing"], exact=["knapsack(spare=1e6)"]
    )
    computed, results = studied(grid)
    assert computed == 24
    assert ends(results) == {
        ("heuristic", "nothing"): {"violated": 6},
        ("heuristic", "crashing"): {"error": 6},
        ("bound", "failing"): {"error": 6},
        ("exact", "knapsack(spare=1e6)"): {"infeasible": 6},
    }
    assert {row.status for row in results.rows} == {"violated", "error"}
    (crashed,) = [step for step in results.steps() if step.method == "crashing"]
    assert "ZeroDivisionError" in crashed.complaint
    assert studied(grid)[0] == 0


def test_runs_that_failed_are_computed_again_when_asked(studied):
    grid = replace(SMALL, heuristics=["nothing", "crashing"], bounds=[])
    studied(grid)
    assert studied(grid, retry=["error"])[0] == 6
    assert studied(grid, retry=["error", "violated"])[0] == 12


def test_a_proof_that_had_no_optimum_is_looked_for_again_with_its_solve(studied):
    exact = [Exact("knapsack(spare=1e6)", prove=5.0)]
    grid = replace(SMALL, heuristics=["greedy"], bounds=[], exact=exact)
    assert studied(grid)[0] == 18
    assert studied(grid, retry=["infeasible"])[0] == 12
    assert studied(grid)[0] == 0


def test_a_generator_that_crashes_is_told_in_every_row(studied):
    def broken(rng, **options):
        raise OverflowError("too many items")

    broken_problem = replace(covering.PROBLEM, generate=broken)
    computed, results = studied(replace(SMALL, problem=broken_problem, heuristics=["greedy"]))
    assert computed == 0
    assert results.progress.finished == results.progress.planned == 18
    assert [row.status for row in results.rows] == ["error"] * 6
    assert results.rows[0].message == "OverflowError: too many items"


def test_a_generator_that_is_random_beyond_its_seed_is_caught(studied):
    demands = itertools.count()

    def restless(rng, **options):
        return covering.Cover(price=[1.0] * 9, size=[9.0] * 9, demand=next(demands))

    unsteady = replace(covering.PROBLEM, generate=restless)
    studied(replace(SMALL, problem=unsteady, heuristics=["greedy"]))
    # what is missing needs the instances again
    _, results = studied(replace(SMALL, problem=unsteady, heuristics=["greedy", "everything"]))
    messages = [row.message for row in results.rows if row.status == "error"]
    assert messages
    assert all("not the one made before" in message for message in messages)


def test_a_process_that_dies_loses_only_its_own_run(path):
    grid = replace(SMALL, generator={"items": [4]}, heuristics=["killing", "greedy"], seeds=[0])
    results = run_study([grid], path, executor=Processes(2))
    assert ends(results)["heuristic", "killing"] == {"error": 1}
    assert ends(results)["heuristic", "greedy"] == {"done": 1}
    assert ends(results)["exact", "knapsack"] == {"optimal": 1}
    (step,) = [step for step in results.steps() if step.method == "killing"]
    assert "died" in step.complaint


def test_a_short_run_that_once_kills_its_process_beside_others_loses_only_itself(path):
    deadly = heuristic_rng(35).random()

    def killing_once(instance, rng):
        if rng.random() == deadly:
            os._exit(3)
        return covering.everything(instance, rng)

    grid = replace(SMALL, generator={"items": [4]}, heuristics=["greedy", killing_once], exact=[])
    grid = replace(grid, seeds=range(40), bounds=[])
    results = run_study([grid], path, executor=Processes(1))
    assert ends(results) == {
        ("heuristic", "greedy"): {"done": 40},
        ("heuristic", "killing_once"): {"done": 39, "error": 1},
    }
    with Store.reading(path) as store:
        (failed,) = results.failures(store)
    assert (failed["seed"], failed["message"]) == (35, "the process died")


def test_a_solve_that_outgrows_its_memory_is_a_result_and_the_bounds_stand(studied):
    options = Options(isolate=True, memory_limit=0.03)
    grid = replace(
        SMALL, generator={"items": [4]}, seeds=[0], exact=[Exact("knapsack", None, options)]
    )
    _, results = studied(grid)
    assert ends(results)["exact", "knapsack"] == {"error": 1}
    assert {row.status for row in results.rows} == {"error"}
    assert all(row.ratio_high >= 1 for row in results.rows)  # against the bound


# where it runs


@pytest.mark.parametrize(
    "executor",
    [ThreadPoolExecutor(2), lambda: ProcessPoolExecutor(2), Processes(2), None],
    ids=["threads", "standard pool", "processes", "here"],
)
def test_the_rows_are_the_same_wherever_they_are_made(executor, studied, tmp_path):
    there = run_study([SMALL], tmp_path / "there", executor=executor, workers=2)
    _, here = studied(SMALL)
    assert content(there.rows) == content(here.rows)
    assert len(here.rows) == 12


def test_an_executor_that_breaks_for_good_stops_the_study_and_loses_nothing(path):
    grid = replace(SMALL, heuristics=["greedy", "killing"])
    with ProcessPoolExecutor(1) as pool, pytest.raises(ExecutorLostError):
        run_study([grid], path, executor=pool, workers=1)
    results = run_study([grid], path, executor=lambda: ProcessPoolExecutor(1), workers=1)
    assert results.progress.finished == results.progress.planned
    assert ends(results)["heuristic", "killing"] == {"error": 6}


def test_a_worker_with_other_code_is_refused(monkeypatch, path):
    monkeypatch.setattr("optsched.study.worker.method_versions", lambda *_: {"optsched": "0.0"})
    monkeypatch.setattr("optsched.study.worker._known_versions", {})
    with pytest.raises(InputError, match=re.escape("{'optsched': '0.0'}")):
        run_study([SMALL], path, workers=1)
    with Store.reading(path) as store:
        assert not store.runs()


def test_a_study_forgets_a_case_once_its_runs_are_kept(path):
    grid = StudyGrid("covering", {"items": [4]}, seeds=range(200), heuristics=["greedy"], exact=[])
    open_cases = []

    def look(told):
        if told.finished in (100, 200):
            found = [one for one in gc.get_objects() if type(one) is engine._Open]
            open_cases.append(len([one for one in found if not one.missing and one.made.digest]))

    run_study([grid], path, workers=1, progress=look)
    assert len(open_cases) >= 2
    assert max(open_cases) <= 2  # finished, and still there


def test_an_interrupt_keeps_what_is_there(path):
    def stop(progress):
        if progress.computed >= 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study([SMALL], path, workers=1, progress=stop)
    again = []
    results = run_study([SMALL], path, workers=1, progress=again.append)
    assert again[0].finished == again[0].planned - again[-1].computed == 5
    assert len(results.rows) == 12


# how far it is


def test_time_left_is_the_mean_of_each_method_times_what_is_missing(path):
    told = []
    run_study([SMALL], path, workers=1, progress=told.append)
    assert told[0].seconds_left is None
    assert all(step.seconds_left > 0 for step in told[10:-1])
    assert told[-1].seconds_left == 0


def test_ratios_wait_for_the_optimum_and_the_bounds(path):
    def stop(progress):
        if progress.computed == 3:  # both heuristics and the bound of the first instance
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study([SMALL], path, workers=1, progress=stop)
    with Store.reading(path) as store:
        from optsched.study import Ratios

        results = Ratios.of(store)
    assert len(results.runs) == 3
    assert results.rows == []
    assert results.progress.finished == 3


# what a key stands for


def test_a_worker_does_not_mistake_one_notebooks_problem_for_another():
    for price in (1.0, 2.0):
        mine = Heuristic(
            "mine", lambda i, r, p=price: covering.Choice(taken=[0], speed=90 * p), "", ""
        )
        changed = replace(covering.PROBLEM, heuristics={"mine": mine}, cost=lambda i, s, p=price: p)
        grid = StudyGrid(changed, {"items": [3]}, heuristics=["mine"], exact=[])
        (row,) = run_study([grid], workers=1).rows
        assert row.cost == price


# what a study may do without


def test_a_study_needs_neither_heuristics_nor_an_exact_method(studied):
    _, bounds_only = studied(replace(SMALL, exact=[]))
    assert {row.status for row in bounds_only.rows} <= {"feasible", "optimal"}
    assert all(row.ratio_low >= 1 and row.ratio_high >= row.ratio_low for row in bounds_only.rows)
    _, solves_only = studied(replace(SMALL, heuristics=[], bounds=[]))
    assert solves_only.rows == []
    assert len(solves_only.runs_table()) == 6


def test_what_a_source_divides_by_a_bound_and_measures_survive_the_store(studied):
    measured = replace(
        problem("covering"), measures={"count": lambda instance, schedule: len(schedule.taken)}
    )
    _, results = studied(replace(SMALL, problem=measured, bounds=["halved"]))
    for row in results.rows:
        assert row.extra["source_ratio_halved"] == pytest.approx(row.extra["ratio_halved"] / 2)
        assert row.extra["measure_count"] >= 1


def test_a_measure_that_fails_is_named_and_the_cost_stands(studied):
    failing = replace(covering.PROBLEM, measures={"odd": lambda instance, schedule: 1 / 0})
    _, results = studied(replace(SMALL, problem=failing, heuristics=["greedy"]))
    assert {row.status for row in results.rows} == {"optimal"}
    assert results.rows[0].extra["measure_odd"] is None
    (run, *_) = [run for run in results.runs.values() if run.message]
    assert "odd: ZeroDivisionError" in run.message


def test_schedules_are_kept_as_asked(path):
    for keep, kept in (("none", 0), ("exact", 1), ("all", 2)):
        target = path.with_name(keep)
        grid = replace(SMALL, heuristics=["greedy"], generator={"items": [4]}, seeds=[0])
        results = run_study([grid], target, workers=1, keep=keep)
        with Store.reading(target) as store:
            schedules = [store.schedule(key) for key in results.runs]
        assert sum(schedule is not None for schedule in schedules) == kept


def test_infinite_bounds_are_errors_and_not_numbers(studied):
    endless = Bound("endless", lambda instance: math.inf, "", "")
    bounded = replace(covering.PROBLEM, bounds={"endless": endless})
    _, results = studied(replace(SMALL, problem=bounded, heuristics=["greedy"], bounds=["endless"]))
    assert ends(results)["bound", "endless"] == {"error": 6}
    assert {row.status for row in results.rows} == {"optimal"}


def test_a_heuristic_of_a_notebook_can_be_studied():
    mine = Heuristic("mine", lambda instance, rng: covering.greedy(instance, rng), "", "")
    with_mine = replace(covering.PROBLEM, heuristics={"mine": mine})
    results = run_study([replace(SMALL, problem=with_mine, heuristics=["mine"])], workers=2)
    assert len(results.rows) == 6
    assert {row.status for row in results.rows} == {"optimal"}
