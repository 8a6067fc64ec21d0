"""Round the integers of a point, and solve for the continuous variables again.

A solver's integers are integers within its tolerance only, and a row with a large constant may
hold for 0.999999 and not for 1. Splitting repairs an optimum too, by two searches instead of one
linear program; a point that a limit left is repaired here only. Shown by
``test_a_point_that_had_to_be_mended_is_what_the_warning_is_of`` in tests/optsched.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

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
