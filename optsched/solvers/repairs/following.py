"""Points whose integers are rounded, everything else made to follow them.

A solver's integers are whole to within its tolerance only, and a row with a large constant may
hold for 0.999999 and not for 1. A linear program, which has no integers, is solved once more under
the profile "careful" if the solver has one: HiGHS's scaling lets a row be broken by 3e-6.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optsched.solvers.backend import Feature
from optsched.solvers.repairs.attempt import Attempt
from optsched.solvers.solution import Status


def round_integers(attempt: Attempt) -> None:
    """Fix integers at their rounded values if a row is broken, and solve for the rest."""
    form, x = attempt.given, attempt.x
    if x is None or attempt.solution.status is not Status.ERROR or not form.mixes_types:
        return
    whole = np.round(x)
    fixed = replace(
        form,
        lower=np.where(form.integer, whole, form.lower),
        upper=np.where(form.integer, whole, form.upper),
        integer=np.zeros_like(form.integer),
    )
    rest = attempt.ask(fixed)
    attempt.mend(attempt.first if rest.x is None else replace(attempt.first, x=rest.x))


def solve_carefully(attempt: Attempt) -> None:
    """Solve a linear program again whose point breaks a row."""
    if attempt.x is None or attempt.solution.status is not Status.ERROR:
        return
    if Feature.CAREFUL in attempt.features and not attempt.given.has_integers:
        attempt.mend(attempt.ask(attempt.given, profile="careful"))
