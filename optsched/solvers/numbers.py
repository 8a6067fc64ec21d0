"""Refuse numbers that a solver would change silently; settle models that need no solver."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from optsched.errors import UnsupportedError
from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm, Rows
from optsched.solvers.backend import Backend, Feature, SolverResult
from optsched.solvers.dual_bound import derived_bounds
from optsched.solvers.options import Options
from optsched.solvers.solution import Status
from optsched.solvers.trajectory import Either

_FAR_APART = 1e8
PARALLEL_COLUMNS = 1 << 13
"""HiGHS's presolve rule for parallel rows and columns, among those that can be left out.

Where columns were substituted out before, it has been seen (1.12, 1.15.1) to lose the optimum and
to call a feasible model infeasible, only ever with continuous columns beside integer ones."""


COLUMNS = frozenset({Feature.INTEGERS, Feature.CONTINUOUS, Feature.UNBOUNDED})
"""Features that concern single columns."""
LARGEST_INTEGER = 2.0**53
"""Integers of greater magnitude are not doubles."""


def refuse_columns(engine: Backend, compiled: MatrixForm) -> None:
    """Refuse columns that a back end does not support.

    Raises:
        UnsupportedError: naming one.
    """
    if Feature.INTEGERS not in engine.features and compiled.has_integers:
        name = compiled.column_name(int(np.argmax(compiled.integer)))
        raise UnsupportedError(
            f"{engine.name} takes linear programs only, and {name} is integer: "
            "relax the model or choose another solver"
        )
    if Feature.CONTINUOUS not in engine.features and not compiled.integer.all():
        column = int(np.argmin(compiled.integer))
        remedy = "declare it integer, in units fine enough"
        for block in compiled.nonlinear:  # the value of a block is a variable of the block's name
            first, _ = compiled.column_blocks.get(block.name, (column + 1, ()))
            if first <= column < first + max(1, int(np.prod(block.shape))):
                remedy = f"give the {block.kind} whole numbers only, in units fine enough"
        raise UnsupportedError(
            f"{engine.name} takes integer variables only, and {compiled.column_name(column)} is "
            f"continuous: {remedy}, or choose another solver"
        )
    if Feature.UNBOUNDED in engine.features:
        return
    for side in (compiled.lower, compiled.upper):
        fits = np.abs(side) <= LARGEST_INTEGER
        if not fits.all():
            column = int(np.argmin(fits))
            raise UnsupportedError(
                f"{engine.name} needs finite bounds, of magnitude at most 2^53: "
                f"{compiled.column_name(column)} lies in "
                f"[{compiled.lower[column]:g}, {compiled.upper[column]:g}]"
            )


def refuse_numbers(
    solver: str,
    compiled: MatrixForm,
    *,
    smallest: float,
    largest: float,
    infinite: float,
) -> None:
    """Refuse what a solver drops or takes for infinite.

    Args:
        solver: its name, for the message.
        compiled: the model.
        smallest: coefficients other than 0 up to here are dropped.
        largest: coefficients from here on are not taken.
        infinite: finite bounds, sides and costs from here on count as infinite.

    Raises:
        UnsupportedError: there is such a number.
    """
    blocks = (compiled.rows, *(block.rows for block in compiled.indicators))
    for rows in blocks:
        size = np.abs(rows.held.data)
        if size.min(initial=1.0) <= smallest and ((size <= smallest) & (size > 0)).any():
            raise UnsupportedError(
                f"{solver} drops coefficients up to {smallest:g}; rescale the model"
            )
        if size.max(initial=0.0) >= largest:
            raise UnsupportedError(
                f"{solver} takes no coefficient from {largest:g} on; rescale the model"
            )
    sides = [side for rows in blocks for side in (rows.lower, rows.upper)]
    size = np.abs(np.concatenate([compiled.cost, compiled.lower, compiled.upper, *sides]))
    if (size[size >= infinite] < math.inf).any():
        raise UnsupportedError(
            f"{solver} takes finite bounds and costs from {infinite:g} on for infinite; "
            "rescale the model"
        )


def refuse_options(
    solver: str, options: Options, *, threads: bool, seed: bool, stop: bool, gaps: bool = True
) -> None:
    """Refuse options that a solver does not support; False stands for such an option.

    Raises:
        UnsupportedError: such an option is not at its default.
    """
    asked = {
        "threads": (threads, options.threads != 1),
        "seed": (seed, options.seed != 0),
        # whoever waits for either of two wishes to stop ends the solver from outside
        "stop": (stop, not isinstance(options.stop, Either | None)),
        "absolute_gap": (gaps, options.absolute_gap != 0),
    }
    for name, (supported, given) in asked.items():
        if given and not supported:
            hint = "; isolate=True supports it" if name == "stop" else ""
            raise UnsupportedError(f"{solver} does not support the option {name}{hint}")


def second_look_seconds(compiled: MatrixForm, first: float, left: float = math.inf) -> float:
    """How long a claim of infeasibility is looked at again, without presolve.

    As long as the user's limit leaves, unless branch and bound need not end without presolve.

    Args:
        compiled: the model.
        first: seconds that the claim took.
        left: seconds until the time limit.
    """
    return max(1e-3, min(left, 0.5 + 10.0 * first) if may_not_end(compiled) else left)


def second_look(compiled: MatrixForm, claim: SolverResult, again: SolverResult) -> SolverResult:
    """What a claim of infeasibility comes to after a second look: what that look says.

    A look that does not end decides nothing. The claim stands, with a message, if branch and bound
    need not end without presolve.
    """
    if again.x is not None or again.status not in (Status.NO_SOLUTION, Status.ERROR):
        return again
    said = "called infeasible; a second look with other settings did not decide"
    if may_not_end(compiled):
        return replace(claim, message=said)
    return replace(again, message="; ".join(filter(None, (said, again.message))))


def may_not_end(compiled: MatrixForm) -> bool:
    """Whether branch and bound may go on for ever: neither bounds nor rows bound an integer."""
    lower, upper = derived_bounds(compiled.rows, compiled.lower, compiled.upper)
    return bool(np.isinf(np.append(lower[compiled.integer], upper[compiled.integer])).any())


def contradiction(compiled: MatrixForm) -> SolverResult | None:
    """Infeasible at sight: a row whose sides exclude each other, which some solvers refuse."""
    rows = compiled.rows
    if (rows.lower > rows.upper).any():
        return SolverResult(Status.INFEASIBLE, message="the sides of a row exclude each other")
    return None


def may_be_unbounded(compiled: MatrixForm) -> bool:
    """Whether HiGHS's word "infeasible" needs a second look.

    Its presolve has been seen (1.12, 1.13.1) to call a feasible, unbounded linear program
    infeasible. A model without objective or with bounds on all columns is no such model.
    """
    finite = np.isfinite(compiled.lower).all() and np.isfinite(compiled.upper).all()
    return bool(compiled.cost.any() and not finite)


def costs_far_apart(compiled: MatrixForm) -> bool:
    """Whether small costs stand beside large ones in a model of integer and continuous columns.

    HiGHS's presolve (1.12 and later) has been seen to lose the optimum where they do.
    """
    if not compiled.mixes_types:
        return False
    size = np.abs(compiled.cost)
    least = size.min(initial=math.inf, where=size > 0)
    return bool(size.max(initial=0.0) >= _FAR_APART * least)


def has_endless_column(compiled: MatrixForm, cost: Floats) -> bool:
    """Whether a column in no row has no best value when ``cost`` is minimised.

    CBC (2.10) calls 0 the optimum of such a column if it is free.
    """
    matrix = compiled.rows.matrix
    alone = np.bincount(matrix.indices[matrix.data != 0], minlength=len(cost)) == 0
    endless = np.where(cost < 0, np.isinf(compiled.upper), np.isinf(compiled.lower) & (cost > 0))
    return bool((alone & endless).any())


def gap_needs_constant(compiled: MatrixForm, options: Options) -> bool:
    """Whether a relative gap would change its meaning with the objective's constant left out."""
    return bool(options.gap and compiled.offset and compiled.has_integers)


def with_constant(compiled: MatrixForm) -> MatrixForm:
    """The model with its objective's constant as the cost of a last column fixed at 1."""
    import scipy.sparse as sp

    rows = compiled.rows
    wider = sp.csr_array(
        (rows.matrix.data, rows.matrix.indices, rows.matrix.indptr),
        shape=(rows.count, len(compiled.cost) + 1),
    )
    return replace(
        compiled,
        cost=np.append(compiled.cost, compiled.offset),
        offset=0.0,
        rows=Rows(wider, rows.lower, rows.upper),
        lower=np.append(compiled.lower, 1.0),
        upper=np.append(compiled.upper, 1.0),
        integer=np.append(compiled.integer, False),
    )


def without_constant(result: SolverResult) -> SolverResult:
    """The answer to ``with_constant``, for the model itself."""
    return result if result.x is None else replace(result, x=result.x[:-1])
