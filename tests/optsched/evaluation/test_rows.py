"""What plain records say together: to the last of the tolerances, and where they say less."""

import pytest

from optsched.evaluation.optimum import known_by, optimum_interval
from optsched.evaluation.ratios import ComparisonSpec, Row, best_start, ratio_rows
from optsched.evaluation.runs import MethodRun
from optsched.solvers.solution import Status


def row(run, *, yardstick=2.0, numerators=()):
    """The only row of a comparison with one solve and one yardstick that proves nothing."""
    spec = ComparisonSpec(
        "p", "minimise", "exact", ["exact"], {"h": {}}, {"yard": False}, numerators, []
    )
    runs = {
        ("heuristic", "h"): run,
        ("exact", "exact"): MethodRun("optimal", cost=4.0, bound=4.0, offline=True),
        ("bound", "yard"): MethodRun(Status.DONE, bound=yardstick),
    }
    (found,) = ratio_rows(spec, runs)
    return found


def test_a_schedule_just_as_far_below_a_bound_as_a_solver_may_err_is_optimal():
    found = optimum_interval("minimise", "feasible", {"h": 0.0}, {"b": 1e-6})
    assert found.status == "optimal"


def test_a_schedule_a_billionth_above_a_bound_is_optimal():
    assert optimum_interval("minimise", "feasible", {"h": 1e-9}, {"b": 0.0}).status == "optimal"


@pytest.mark.parametrize(
    ("optimum", "proven", "word"),
    [
        (100.0, 100.0 - 5e-5, "proven"),
        (100.0, 100.0 - 2e-4, "bound"),
        (0.5, 0.5 - 0.8e-6, "proven"),
        (0.5, 0.5 - 1.5e-6, "bound"),
        (0.0, -1e-6, "proven"),
    ],
)
def test_a_proof_counts_within_a_millionth_of_the_optimum(optimum, proven, word):
    assert known_by(optimum, [], [MethodRun(Status.OPTIMAL, bound=proven)]) == word


def test_three_families_of_solvers_are_two_and_more():
    runs = [MethodRun("optimal", solver=f"{name} 1.0") for name in ("highs", "cpsat", "cbc")]
    assert known_by(4.0, runs, []) == "two solvers"


def test_a_solve_starts_from_the_best_schedule_of_the_exact_models():
    runs = {
        "dear": MethodRun(Status.DONE, cost=9.0, offline=True),
        "cheap": MethodRun(Status.DONE, cost=5.0, offline=True),
        "faster": MethodRun(Status.DONE, cost=1.0),
        "none": MethodRun("error", offline=True),
    }
    assert best_start("minimise", runs) == "cheap"
    assert best_start("maximise", runs) == "dear"
    assert best_start("minimise", {"none": runs["none"], "faster": runs["faster"]}) is None


def test_what_was_not_measured_is_nothing():
    found = Row("p", "i", 0, "h", "error")
    times = (found.seconds, found.compile_seconds, found.interpreted_seconds, found.solver_seconds)
    assert times == (0.0, 0.0, 0.0, 0.0)
    assert not found.may_beat
    assert row(MethodRun(Status.DONE, cost=6.0, offline=True)).seed == 0


def test_against_a_yardstick_nothing_is_made_up():
    assert row(MethodRun(Status.DONE, cost=6.0, offline=True)).extra["ratio_yard"] == 3.0
    assert row(MethodRun(Status.DONE, cost=0.0)).extra["ratio_yard"] == 0.0
    assert row(MethodRun(Status.VIOLATED, cost=6.0)).extra["ratio_yard"] is None
    asked = row(MethodRun(Status.DONE, cost=6.0, offline=True), numerators=["yard"])
    assert asked.extra["source_ratio_yard"] is None
