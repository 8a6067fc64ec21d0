"""Confirm optima of models with large constants by a second solve with tighter bounds.

A solver takes 1e-6 for zero in an integer column. With a constant of 1e5, this lets 0.1 through a
row that should be switched off. No better point has columns as large as the constants allow, so
the second solve has smaller constants. Shown by
``test_an_optimum_lost_behind_a_large_constant_is_found_by_a_second_look``.
"""

from __future__ import annotations

from optsched.solvers.repairs.attempt import Attempt
from optsched.solvers.repairs.tightening import bounded_by
from optsched.solvers.solution import Status

_LARGE = 1e5  # constants from here on have been seen to lose optima


def look_around(attempt: Attempt) -> None:
    """Solve again for a better point if an optimum rests on large constants."""
    solution, form = attempt.solution, attempt.given
    if attempt.x is None or solution.status is not Status.OPTIMAL or not form.mixes_types:
        return
    if form.largest_switch < _LARGE or solution.objective is None:
        return
    around = bounded_by(form, solution.objective)
    if around is form:
        return
    result = attempt.ask(around)
    again = attempt.judge(result)
    if again.status is not Status.OPTIMAL or again.objective is None:
        return
    attempt.given = around
    over = again.objective - solution.objective
    if over > 0 if form.maximise else over < 0:
        attempt.take(result, again)
