"""Back ends against the cases: solved right, or refused in words as their features say."""

import json
import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from support.campaign import examine, recipe_of, rotation
from support.enumeration import counted_case, enumerate_optimum
from support.recipe import build

from optsched import Model, UnsupportedError, solve
from optsched.solvers.backend import MIXED_INTEGER, SolverResult
from optsched.solvers.registry import announced, available, backend
from optsched.solvers.solution import Status
from optsched.testing import (
    ENDINGS,
    ConformanceCase,
    Feature,
    Word,
    check_backend,
    check_case,
    check_ending,
    conformance_cases,
)

INSTALLED = sorted(available(), key=lambda name: (name != "highs", name))
WHOLE = [name for name in INSTALLED if Feature.INTEGERS in backend(name).features]
REGRESSIONS = sorted((Path(__file__).parents[2] / "data" / "regressions").glob("*.json"))
MODELS = int(os.environ.get("OPTSCHED_RANDOM_MODELS", "1200"))
"""Random models in this run; benchmarks/conformance.py is for many more."""
BATCHES = 12


def takes_otherwise(solver: str, case: ConformanceCase) -> bool:
    """Whether a case is more for a back end than the rows that HiGHS is given for it."""
    kinds = {block.kind for block in case.build().blocks.values()}
    return solver == "highs" or kinds <= {"linear"} or bool(kinds & backend(solver).native)


PAIRS = [(s, c) for s in INSTALLED for c in conformance_cases() if takes_otherwise(s, c)]
"""Every case on HiGHS, which shows its lowering, and on each back end what is not lowered there."""


@pytest.mark.parametrize(("solver", "case"), PAIRS, ids=str)
def test_a_back_end_solves_or_refuses_a_case_as_it_says(solver, case):
    verdict = check_case(case, solver)
    assert verdict.word is not Word.WRONG, verdict


@pytest.mark.parametrize("case", [c for c in conformance_cases() if c.countable], ids=str)
def test_enumeration_confirms_what_a_case_states(case):
    truth = enumerate_optimum(case.build())
    assert truth.status is case.status
    assert truth.value == (None if case.optimum is None else pytest.approx(case.optimum))


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.name)
@pytest.mark.parametrize("solver", INSTALLED)
def test_a_solve_cut_short_says_so_and_nothing_false(solver, ending):
    verdict = check_ending(ending, solver)
    assert verdict.word is not Word.WRONG, verdict


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_models_of_every_kind_agree_with_enumeration(batch):
    """Every model is enumerated, solved by HiGHS and by another back end in turn."""
    count = dict.fromkeys(Word, 0)
    for seed in range(batch, MODELS, BATCHES):
        finding = examine(seed, rotation(WHOLE, seed // BATCHES))
        assert not finding.wrong, (finding.wrong, json.dumps(finding.recipe))
        for verdict in finding.results:
            count[verdict.word] += 1
    assert count[Word.RIGHT] > count[Word.REFUSED]


def test_five_hundred_random_models_have_every_kind_of_block():
    kinds = {block.kind for seed in range(500) for block in build(recipe_of(seed)).blocks.values()}
    assert kinds == {
        "linear", "indicator", "product", "table", "active_slot", "maximum", "intervals",
        "cumulative", "special_ordered", "semicontinuous", "circuit", "routes", "all_different",
        "element", "piecewise", "power", "ratio",
    }  # fmt: skip


@pytest.mark.parametrize("solver", WHOLE)
def test_random_models_with_cones_agree_with_enumeration(solver):
    kinds = ("rotated_cone", "product", "maximum", "indicator")
    found = [examine(seed, [solver], partial(recipe_of, kinds=kinds)) for seed in range(0, 60, 3)]
    wrong = [(v, json.dumps(f.recipe)) for f in found for v in f.wrong]
    assert not wrong
    assert sum("rotated_cone" in f.kinds for f in found) >= 5


@pytest.mark.parametrize("solver", WHOLE)
def test_random_models_with_demands_by_age_agree_with_enumeration(solver):
    kinds = ("cumulative_profile", "cumulative_profile", "maximum", "indicator")
    found = [examine(seed, [solver], partial(recipe_of, kinds=kinds)) for seed in range(40)]
    wrong = [(v, json.dumps(f.recipe)) for f in found for v in f.wrong]
    assert not wrong
    assert sum("cumulative_profile" in f.kinds for f in found) >= 20


def judges(file: Path) -> set[str]:
    """HiGHS, and the solver that was wrong, which the file is named after."""
    return {"highs", file.stem.partition("_")[0]} & set(INSTALLED)


@pytest.mark.parametrize(
    ("solver", "file"),
    [(solver, file) for file in REGRESSIONS for solver in sorted(judges(file))],
    ids=lambda part: part if isinstance(part, str) else part.stem,
)
def test_what_once_went_wrong_is_right(solver, file):
    stored = json.loads(file.read_text())
    recipe = stored["recipe"]
    verdict = check_case(counted_case(file.stem, build(recipe), recipe.get("scale")), solver)
    assert verdict.word is not Word.WRONG, (verdict, stored["why"])


def test_every_back_end_takes_something_and_highs_and_cpsat_are_there():
    assert {"highs", "cpsat"} <= set(INSTALLED) <= set(announced())
    easy = [one for one in conformance_cases() if one.build.__module__.endswith(".linear")]
    for solver in INSTALLED:
        words = {check_case(case, solver).word for case in easy}
        assert words & {Word.RIGHT, Word.UNPROVEN}, solver


# the suite itself: a back end that does not keep its word is found out


class Guest:
    """A back end of somebody else, wrong in the way it is told to be."""

    name, family = "guest", "guest"
    native, features = frozenset[str](), MIXED_INTEGER

    def __init__(self, answer):
        self.answer = answer

    def version(self) -> str:
        return "0.1"

    def solve(self, compiled, options, start) -> SolverResult:
        return self.answer(compiled, options)


def knapsack() -> Model:
    m = Model("knapsack")
    take = m.binary("take", 3)
    m.maximize(take @ np.array([6.0, 5.0, 4.0]))
    m.add("weight", take @ np.array([3.0, 2.0, 2.0]) <= 4)
    return m


BEST, WORSE = np.array([0.0, 1.0, 1.0]), np.array([1.0, 0.0, 0.0])
INTEGERS_ONLY = MIXED_INTEGER - {Feature.CONTINUOUS}


def verdict_on(answer, model=knapsack, features=MIXED_INTEGER, **settings):
    case, guest = ConformanceCase("case", model, Status.OPTIMAL, 9.0), Guest(answer)
    guest.features = features
    return check_backend(guest, cases=[case], endings=False, **settings)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (SolverResult(Status.OPTIMAL, WORSE, 6.0), "calls 6.0 optimal"),
        (SolverResult(Status.FEASIBLE, BEST, 9.0), "ended feasible"),
        (SolverResult(Status.FEASIBLE, WORSE, 8.0), "bounds the optimum 9.0 by 8.0"),
        (SolverResult(Status.INFEASIBLE), "called infeasible, but the point"),
        (SolverResult(Status.UNBOUNDED), "called unbounded, which the bounds"),
        (SolverResult(Status.OPTIMAL, np.ones(3), 15.0), "breaks row"),
        (SolverResult(Status.NO_SOLUTION), "ended no_solution"),
    ],
)
def test_a_false_answer_is_found_out(raw, said):
    report = verdict_on(lambda *_: raw)
    assert not report.passed
    assert said in report.of(Word.WRONG)[0].detail
    assert said in str(report)


def test_a_right_answer_passes():
    report = verdict_on(lambda *_: SolverResult(Status.OPTIMAL, BEST, 9.0))
    assert report.passed
    assert [v.word for v in report.results] == [Word.RIGHT]
    assert "1 right" in str(report)


def test_no_case_at_all_is_no_pass():
    assert not check_backend("highs", cases=[], endings=False).passed


def test_a_back_end_that_falls_over_is_found_out():
    def fall(*_):
        raise RuntimeError("no licence")

    assert "no licence" in str(verdict_on(fall))
    assert not verdict_on(fall).passed


def test_a_refusal_counts_only_if_the_features_say_so():
    def refuse(*_):
        raise UnsupportedError("not today")

    assert "refused without need" in str(verdict_on(refuse))

    def with_a_real():
        m = knapsack()
        m.continuous("spare", upper=1)
        return m

    said = verdict_on(refuse, with_a_real, INTEGERS_ONLY)
    assert [v.word for v in said.results] == [Word.REFUSED]
    assert "continuous" in said.results[0].detail


@pytest.mark.parametrize(
    ("pattern", "cases"), [("ca*", 0), ("ca*@0.*", 0), ("ca*@1.*", 1), ("other", 1)]
)
def test_cases_are_excluded_by_name_and_by_version(pattern, cases):
    report = verdict_on(lambda *_: SolverResult(Status.OPTIMAL, BEST, 9.0), exclude=[pattern])
    assert len(report.results) == cases


def test_a_point_is_checked_against_the_model_as_written_not_as_lowered():
    m = Model()
    x, b = m.continuous("x", upper=1e6), m.binary("b")
    m.indicator(b, x <= 0, name="off")
    m.maximize(x + b)
    guest = Guest(lambda *_: SolverResult(Status.OPTIMAL, np.array([0.5, 1.0]), 1.5))
    assert solve(m, guest).status is Status.ERROR  # off by half a unit, a millionth of 1e6


def test_a_solver_that_calls_a_time_limit_optimal_is_found_out():
    def hasty(compiled, options):
        return SolverResult(Status.OPTIMAL, *_first_point(compiled))

    def _first_point(compiled):
        x = np.zeros(len(compiled.cost))
        row = compiled.rows
        under = compiled.column_blocks["under"][0]
        x[under : under + row.count] = row.lower
        return x, float(compiled.cost @ x)

    verdict = check_ending(ENDINGS[0], Guest(hasty))
    assert verdict.word is Word.WRONG
    assert "optimal" in verdict.detail


def test_known_bad_versions_are_refused_before_solving(monkeypatch):
    from optsched.solvers.highs import backend as highs

    monkeypatch.setattr(backend("highs").__class__, "version", lambda _: "1.14.0")
    monkeypatch.setattr(highs, "package_version", lambda _: "1.14.0")
    cached = [f for f in vars(highs).values() if hasattr(f, "cache_clear")]
    for function in cached:
        function.cache_clear()
    try:
        with pytest.raises(UnsupportedError, match=r"1\.14\.0"):
            solve(knapsack())
    finally:
        for function in cached:
            function.cache_clear()
