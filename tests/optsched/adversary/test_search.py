"""Searching, shrinking, explaining and certifying, on a third party's problem and on a paper's."""

import json
import math
import os
import signal
import time
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import covering
import numpy as np
import pytest

from optsched.adversary import Case, Hunt, adversarial, check_case, make_case, shrink, why
from optsched.adversary.judging import Judge, Wanted
from optsched.adversary.why import flipped, spelled
from optsched.cli.adversarial import _shrunk
from optsched.cli.console import cell
from optsched.errors import InputError
from optsched.evaluation.runs import instance_rng
from optsched.instances.document import dumps, load, parse, save
from optsched.problem import Bound, problem
from optsched.solvers.options import Options
from optsched.study.store import Store

shrinking = import_module("optsched.adversary.shrink")  # the package has a function of that name

TINY = {"jobs": 2, "servers": 2, "types": 1, "time_scale": 0.03}


@pytest.fixture(scope="module")
def search():
    """A short search against the third party's greedy."""
    return adversarial("covering.greedy", {"items": 5}, evaluations=480, seed=3)


def case_of(search, call="greedy", **changes):
    hunt = Hunt("covering", call, {"items": 5})
    return make_case(hunt.judge((0,)), hunt.space(), hunt.generator, search.document)


def test_a_quick_bound_that_outlasts_a_solve_is_ended_and_not_computed_again():
    began = []

    def endless(instance):
        began.append(instance)
        while True:
            time.sleep(0.01)

    chosen = problem("covering")
    slow = Bound("slow", endless, "", "never there", quick=True)
    judge = Judge(replace(chosen, bounds={"slow": slow}), "greedy", options=Options(time_limit=0.2))
    scores = [judge.instance(chosen.generate(np.random.default_rng(1))) for _ in range(2)]
    assert len(began) == 1
    assert scores[0] is not None
    assert scores[0].low == scores[1].low


def test_a_search_finds_worse_than_the_instances_it_starts_from(search):
    judge = Judge(problem("covering"), "greedy")
    random = [covering.generate(instance_rng(seed), items=5) for seed in range(60)]
    assert search.score.low > max(judge.instance(one).low for one in random)


def test_what_is_found_depends_on_seed_and_budget_and_not_on_processes(search):
    again = adversarial("covering.greedy", {"items": 5}, evaluations=480, seed=3, workers=2)
    assert (again.document, again.score) == (search.document, search.score)
    assert again.evaluated == search.evaluated


CALLS = []


def counted(instance, rng):
    """As greedy, and counted."""
    CALLS.append(1)
    return covering.greedy(instance, rng)


def test_a_search_goes_on_from_what_its_store_has_and_repeats_nothing(search, tmp_path):
    def searched(evaluations):
        CALLS.clear()
        with Store.open(tmp_path / "search.sqlite") as store:
            found = adversarial(
                counted,
                {"items": 5},
                problem="covering",
                evaluations=evaluations,
                seed=3,
                store=store,
            )
        return found, len(CALLS)

    _, half = searched(240)
    more, rest = searched(480)
    again, nothing = searched(480)
    assert (more.document, more.score) == (search.document, search.score) == (
        again.document, again.score)  # fmt: skip
    assert half > 0 < rest < 1.5 * half
    assert nothing < 5  # the best is run once more


def test_why_a_heuristic_has_no_ratio_anywhere_is_said():
    def broken(instance, rng):
        raise ValueError("no luck")

    with pytest.raises(InputError, match="on some generated instance: error: ValueError: no luck"):
        adversarial(broken, problem="covering", evaluations=8)


def test_a_heuristic_that_buys_nothing_has_no_ratio():
    with pytest.raises(InputError, match="a ratio on some generated instance"):
        adversarial("covering.nothing", {"items": 4}, evaluations=8)


def test_a_function_of_a_notebook_is_searched_against():
    found = adversarial(
        lambda instance, rng: covering.everything(instance, rng), problem="covering", evaluations=24
    )
    assert found.score.low > 1


def test_a_heuristic_that_draws_lots_counts_by_its_mean():
    found = adversarial("covering.shuffled", {"items": 5}, evaluations=40)
    judge = Judge(problem("covering"), "shuffled", seeds=range(5))
    score = judge.document(found.document)
    costs = [judge.run(parse(covering.Cover, found.document), seed).cost for seed in range(5)]
    assert score.low == found.score.low
    assert score.cost == pytest.approx(math.fsum(costs) / 5)


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        ({}, "either evaluations or seconds"),
        ({"evaluations": 5, "seconds": 1.0}, "either evaluations or seconds"),
        ({"evaluations": 0}, "an integer >= 1"),
        ({"seconds": 0.0}, "a finite number > 0"),
        ({"seconds": math.inf}, "a finite number > 0"),
        ({"seconds": math.nan}, "a finite number > 0"),
    ],
)
def test_a_budget_is_one_of_two_and_positive(budget, said):
    with pytest.raises(InputError, match=said):
        adversarial("covering.greedy", **budget)


def test_names_and_options_are_refused_before_anything_runs():
    with pytest.raises(InputError, match="greedier"):
        adversarial("covering.greedier", evaluations=5)
    with pytest.raises(InputError, match="not an option"):
        adversarial("covering.greedy", {"things": 5}, evaluations=5)


def test_a_case_holds_when_it_is_derived_again(search, tmp_path):
    save(case_of(search), tmp_path / "case.json")
    checked = check_case(load(Case, tmp_path / "case.json"))
    assert checked.holds
    assert checked.ratio_low == pytest.approx(search.score.low)


def change(case, **changes):
    return parse(Case, {**case.model_dump(), **changes})


@pytest.mark.parametrize("factor", [1 - 1e-5, 1 + 1e-5, 2.0])
def test_a_case_that_says_another_ratio_does_not_hold(search, factor):
    case = case_of(search)
    assert not check_case(change(case, ratio_low=case.ratio_low * factor)).holds


def test_a_case_whose_better_schedule_is_none_does_not_hold(search):
    case = case_of(search)
    assert "breaks (1)" in check_case(change(case, better={"taken": []})).complaints[0]


def test_a_case_with_another_cost_does_not_hold(search):
    case = case_of(search)
    checked = check_case(change(case, cost=case.cost + 1))
    assert any("mean cost" in complaint for complaint in checked.complaints)


def test_a_case_outside_of_what_is_generated_says_so(search):
    case = case_of(search)
    assert case.outside == []
    hunt = Hunt("covering", "greedy", {"items": 5})
    document = json.loads(json.dumps(search.document))
    document["price"][0] = 1000.0
    strange = make_case(hunt.judge((0,)), hunt.space(), hunt.generator, document)
    assert "price[0]" in strange.outside
    assert "outside" in strange.sentence


def test_shrinking_never_lowers_the_ratio_and_stays_within_the_ranges(search):
    hunt = Hunt("covering", "greedy", {"items": 5})
    judge, space = hunt.judge((0,)), hunt.space()
    document, score = shrink(judge, space, search.document, search.score, seconds=5)
    assert score.low >= search.score.low * (1 - 1e-9)
    assert judge.document(document).low == score.low
    assert not space.outside(document)


def test_shrinking_a_papers_instance_leaves_fewer_jobs_or_rounder_numbers():
    found = adversarial("preemptive.a_online", TINY, evaluations=30)
    hunt = Hunt("preemptive", "a_online", TINY)
    judge, space = hunt.judge((0,)), hunt.space()
    document, score = shrink(judge, space, found.document, found.score, seconds=4)
    assert score.low >= found.score.low * (1 - 1e-9)
    assert len(json.dumps(document)) <= len(json.dumps(found.document))


def test_why_measures_every_change_on_the_case_itself(search):
    hunt = Hunt("covering", "greedy", {"items": 5})
    judge, space = hunt.judge((0,)), hunt.space()
    changes = why(judge, space, search.document)
    assert {one.kind for one in changes} == {"value"}
    lows = [one.ratio_low for one in changes if one.ratio_low is not None]
    assert lows == sorted(lows)


def test_options_of_few_values_are_flipped_one_at_a_time():
    calls = dict(flipped(problem("preemptive"), "a_online(no_spill=True)"))
    assert calls["a_online(no_spill=False)"] == "no_spill=False"
    assert all(call.startswith("a_online(no_spill=") for call in calls)


def test_places_are_spelled_as_in_files():
    assert spelled(("jobs", 2, "upload_delay_edge", 0)) == "jobs[2].upload_delay_edge[0]"


def test_the_command_line_finds_checks_and_explains(cli, tmp_path):
    path = tmp_path / "case.json"
    made = cli("adversarial", "find", "covering.greedy", "--items", 4, "--evaluations", 40,
               "-o", path, "--workers", 1)  # fmt: skip
    assert made.exit_code == 0
    assert cli("adversarial", "check", path).exit_code == 0
    explained = cli("adversarial", "check", path, "--why", "--json")
    assert json.loads(explained.stdout)["changes"]
    smaller = cli("adversarial", "check", path, "--shrink", "--json")
    assert json.loads(smaller.stdout)["ratio_low"] >= load(Case, path).ratio_low * (1 - 1e-9)
    path.write_text(path.read_text().replace('"cost": ', '"cost": 1'), encoding="utf-8")
    assert cli("adversarial", "check", path).exit_code == 1


def interrupting(function, times=1):
    """The function, interrupted at its first calls."""
    calls = []

    def call(*arguments, **options):
        calls.append(arguments)
        if len(calls) <= times:
            raise KeyboardInterrupt
        return function(*arguments, **options)

    return call


SHORT = [
    "adversarial",
    "find",
    "covering.greedy",
    "--items",
    4,
    "--evaluations",
    60,
    "--workers",
    1,
]


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("optsched.adversary.shrink.shrink", "as small as it is"),
        ("optsched.adversary.case.make_case", "without waiting for a proof"),
    ],
)
def test_an_interrupt_after_the_search_leaves_a_case(cli, tmp_path, monkeypatch, place, said):
    room, _, name = place.rpartition(".")
    module = import_module(room)
    monkeypatch.setattr(module, name, interrupting(getattr(module, name)))
    path = tmp_path / "case.json"
    done = cli(*SHORT, "-o", path)
    assert done.exit_code == 130
    assert said in done.stderr
    assert cli("adversarial", "check", path).exit_code == 0


def test_an_interrupted_search_writes_what_it_has_found(cli, tmp_path, monkeypatch):
    monkeypatch.setattr("optsched.cli.adversarial.cell", interrupting(cell))  # after a chain
    path = tmp_path / "case.json"
    done = cli(*SHORT, "-o", path)
    assert done.exit_code == 130
    assert "interrupted: what 30 candidates show is written" in done.stderr
    assert load(Case, path).search.evaluated == 30
    assert cli("adversarial", "check", path).exit_code == 0


def test_a_search_interrupted_before_it_has_found_anything_is_an_interrupt():
    def interrupted(instance, rng):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        adversarial(interrupted, {"items": 4}, problem="covering", evaluations=60)


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_ends_a_search_with_a_case(command, tmp_path, workers):
    path = tmp_path / "case.json"
    process = command(
        *(
            "adversarial",
            "find",
            "covering.greedy",
            "--items",
            5,
            "--seconds",
            60,
            "--workers",
            workers,
        ),
        *("-o", path),
    )
    while "worst so far" not in process.stderr.readline():
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert load(Case, path).sentence in " ".join(out.split())


@pytest.fixture(scope="module")
def okita():
    """A search space of okita's, and an instance of it."""
    space = Hunt("okita", "okita", {"jobs": 2, "sites": 3, "horizon": 20}).space()
    return space, space.documents[1]


def test_a_generated_instance_is_not_strange_and_needs_no_repair(okita):
    space, _ = okita
    chosen = space.problem
    for document in space.documents[:10]:
        assert not chosen.strange(parse(chosen.instance_type, document), {})
        assert chosen.repair(document) == document


def test_a_case_that_the_generator_could_not_have_made_says_so(okita):
    space, document = okita
    table = [list(row) for row in document["unit_bandwidth_cost"]]
    table[0][1] = 0.5 * (table[0][1] + 0.08)  # in range, and not symmetric
    odd = document | {"unit_bandwidth_cost": table}
    judge = Judge(space.problem, "okita")
    said = make_case(judge, space, {}, odd, proof_seconds=0.1)
    assert said.outside == ["unit_bandwidth_cost[0][1]", "unit_bandwidth_cost[1][0]"]
    assert "in 2 places outside of what the generator makes" in said.sentence
    strict = Judge(space.problem, "okita", generator={})
    assert strict.document(odd) is None
    assert (strict.evaluated, strict.refused) == (0, 1)


def test_mutations_are_repaired_to_what_the_generator_makes(okita):
    (space, document), rng = okita, np.random.default_rng(0)
    for _ in range(60):
        document = space.mutate(document, rng)
        table = np.array(document["unit_bandwidth_cost"])
        assert (table == table.T).all()
        rates = [place for place in document["jobs"] if place["worker_rate"] % place["epochs"]]
        assert not rates


def test_numbers_that_are_some_of_a_few_stay_among_them():
    rng = np.random.default_rng(0)
    space = Hunt("preemptive", "a_online", {**TINY, "jobs": 4}).space()
    chunks = space.pools[("jobs", "[]", "num_chunks")]
    assert chunks.choice
    assert {chunks.draw(rng) for _ in range(50)} <= {27, 60, 115}
    assert {chunks.nudge(27, rng) for _ in range(50)} <= {27, 60, 115}
    assert not chunks.admits(64)


def test_a_schedule_known_for_a_like_candidate_spares_the_solve():
    hunt = Hunt("preemptive", "a_online", TINY)
    document = hunt.space().documents[0]
    solved = hunt.judge((0,)).document(document)
    judge = hunt.judge((0,))
    known = judge.document(document, Wanted(solved.low, solved.schedule))
    assert (judge.solved, known.status, known.low) == (0, "known", solved.low)
    assert known.high >= solved.high
    # its optimum, asked for in the end, is that of the same candidate
    assert judge.settled(document, known) == solved
    assert (judge.evaluated, judge.solved) == (1, 1)
    # one that is not good enough, or of other jobs, spares nothing
    assert judge.document(document, Wanted(2 * solved.low, solved.schedule)).low == 0.0
    other = hunt.space().documents[2]
    assert judge.document(other, Wanted(known=solved.schedule)).status == "optimal"
    assert judge.solved >= 1


KEPT = sorted((Path(__file__).parents[3] / "notebooks" / "cases").glob("*.json"))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_a_case_of_the_gallery_holds(path):
    case = load(Case, path)
    checked = check_case(case)
    assert checked.holds, checked.complaints
    assert not case.outside


def test_a_search_begins_with_the_instance_that_is_given():
    given = covering.generate(instance_rng(77), items=5)
    found = adversarial("covering.greedy", {"items": 5}, evaluations=1, instance=given)
    assert found.document == json.loads(dumps(given))
    with pytest.raises(InputError, match="an instance of covering"):
        adversarial("covering.greedy", {"items": 5}, evaluations=1, instance=found.document)


def test_an_instance_that_the_generator_could_not_make_is_no_beginning(okita):
    space, document = okita
    table = [list(row) for row in document["unit_bandwidth_cost"]]
    table[0][1] += 1.0
    odd = parse(space.problem.instance_type, {**document, "unit_bandwidth_cost": table})
    options = {"jobs": 2, "sites": 3, "horizon": 20}
    with pytest.raises(InputError, match="the generator could make with these options: "):
        adversarial("okita.okita", options, evaluations=1, instance=odd)


def test_every_candidate_has_as_many_runs_as_asked_for():
    CALLS.clear()
    found = adversarial(counted, {"items": 5}, problem="covering", evaluations=3, runs=4)
    assert len(CALLS) >= 4 * found.evaluated == 12


def test_a_slow_heuristic_does_not_outlast_the_seconds_of_a_search():
    def slow(instance, rng):
        time.sleep(0.5)
        return covering.greedy(instance, rng)

    found = adversarial(slow, {"items": 5}, problem="covering", seconds=1.0, runs=1)
    assert found.evaluated < 20  # a chain has 30 candidates at least


def test_making_a_case_small_ends_in_time_whatever_a_candidate_takes(monkeypatch):
    hunt = Hunt("covering", "greedy", {"items": 5})
    judge, space = hunt.judge((0,)), hunt.space()
    document = space.documents[0]
    score = judge.document(document)
    monkeypatch.setattr(shrinking, "SECONDS", 0.1)
    monkeypatch.setattr(judge, "document", lambda *_: time.sleep(30))
    began = time.monotonic()
    assert _shrunk(judge, space, document, score) == (document, False)
    assert time.monotonic() - began < 20


def test_what_is_found_is_written_before_it_is_made_small(tmp_path, monkeypatch, cli):
    def broken(*_):
        raise RuntimeError("the power went off")

    save(covering.generate(instance_rng(77), items=5), tmp_path / "inst.json")
    monkeypatch.setattr("optsched.cli.adversarial._shrunk", broken)
    words = ["adversarial", "find", "covering.shuffled", "--items", 5, "--evaluations", 2]
    words += ["--instance", tmp_path / "inst.json", "--seeds", 2, "--workers", 1]
    with pytest.raises(RuntimeError, match="the power went off"):
        cli(*words, "-o", tmp_path / "case.json")
    assert load(Case, tmp_path / "case.json").ratio_low >= 1
