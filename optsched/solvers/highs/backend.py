"""HiGHS, which gets the model as arrays in one call."""

from __future__ import annotations

import math
import re
import threading
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from optsched.errors import InputError, UnsupportedError
from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm
from optsched.solvers import threads
from optsched.solvers.backend import MIXED_INTEGER, Backend, Feature, SolverResult, package_version
from optsched.solvers.numbers import (
    PARALLEL_COLUMNS,
    costs_far_apart,
    refuse_numbers,
    second_look,
    second_look_seconds,
)
from optsched.solvers.options import Options
from optsched.solvers.solution import Limit, Listener, Progress, Status

_SMALLEST = 1e-12  # HiGHS drops matrix entries up to here whatever its options say
_LARGEST = 1e15  # HiGHS refuses matrix entries from here on
_INFINITE = 1e20  # HiGHS takes finite bounds and costs from here on for infinite
_FINER = 1e-9  # tolerance at which models have been seen to be solved that failed at 1e-6
_TURNED = 10_000  # nonzeros; with more, scipy turns rows into columns faster than HiGHS does
_SMALL_MODEL = 1000  # columns; below, the feasibility jump costs more than the whole solve
_SUBMODELS = ("rens", "rins", "root_reduced_cost")  # heuristics that solve separate models


class Highs(Backend):
    """The back end "highs": linear and mixed-integer linear models, LP duals.

    What has been seen to lose optima is off unless ``extra`` switches it on: restarts of the
    branch and bound and, for models with integer and continuous variables, presolve's rule for
    parallel rows and columns. The profile "tiny" leaves out heuristics that solve models within
    the model.
    """

    name = "highs"
    native: frozenset[str] = frozenset()
    features = MIXED_INTEGER | {Feature.STOP, Feature.PROGRESS}

    def version(self) -> str:
        """Version of highspy."""
        return package_version("highspy")

    def solve(self, compiled: MatrixForm, options: Options, start: Floats | None) -> SolverResult:
        """Solve to zero gap unless told otherwise.

        Raises:
            UnsupportedError: numbers HiGHS would change without a word, or a version of it
                known to answer wrongly.
            InputError: an unknown option in ``options.extra``.
        """
        refuse(compiled)
        engine = load(compiled, options)
        if start is not None and compiled.has_integers:
            given = np.flatnonzero(~np.isnan(start)).astype(np.int32)
            engine.setSolution(len(given), given, start[given])
        interrupted = run(engine, options)
        result = read(engine, compiled, interrupted)
        if result.status is Status.INFEASIBLE_OR_UNBOUNDED or (
            result.status is Status.UNBOUNDED and compiled.has_integers
        ):
            return _tell_apart(engine, compiled, options)
        spent = engine.getRunTime()
        left = math.inf if options.time_limit is None else options.time_limit - spent
        if result.status is Status.ERROR:
            finer = {"mip_feasibility_tolerance": _FINER, **options.extra}
            return _without_presolve(compiled, replace(options, extra=finer), left)
        if result.status is Status.INFEASIBLE:
            seconds = second_look_seconds(compiled, spent, left)
            return second_look(compiled, result, _without_presolve(compiled, options, seconds))
        return result


@lru_cache(maxsize=1)
def _refuse_bad_version() -> None:
    """Versions seen to answer wrongly stay out, and every version proves itself once."""
    found = package_version("highspy")
    numbers = tuple(int(part) for part in re.findall(r"\d+", found)[:2])
    if numbers != (1, 12):
        raise UnsupportedError(
            f"highspy {found} is not known to answer rightly beside our other solvers: 1.13 and "
            "1.14 lose optima in presolve, 1.15 cannot be loaded beside ortools, 1.15 and 1.16 are "
            "off by their tolerance on whole numbers; install highspy>=1.12,<1.13"
        )
    if abs(_self_check() - 3.5) > 1e-6:
        raise UnsupportedError(f"highspy {found} fails an eleven-variable self-check")


def _self_check() -> float:
    """What HiGHS says of a small model whose optimum, 3.5, presolve has been seen to lose."""
    import highspy

    cost = np.array([1.5, 2, 0, 0.5, 2, 0.75, 0, 0.5, 0.75, 1, 1.25])
    upper = np.array([2.0, 2, 1, 1, 1, 2, 1, 1, 1, 1, 1])
    rows = [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9, 10], [5, 8], [1, 5], [3, 6], [4, 8]]
    start = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    column = np.concatenate(rows).astype(np.int32)
    least = np.array([2.0, 4, -np.inf, -np.inf, -np.inf, -np.inf])
    most = np.array([np.inf, np.inf, 2, 2, 1, 1])
    engine = highspy.Highs()
    engine.setOptionValue("output_flag", False)
    engine.passModel(
        len(cost), len(rows), len(column), int(highspy.MatrixFormat.kRowwise), 1, 0.0, cost,
        np.zeros(len(cost)), upper, least, most, start, column, np.ones(len(column)),
        np.ones(len(cost), dtype=np.int32),
    )  # fmt: skip
    _run(engine, None)
    return float(engine.getInfo().objective_function_value)


def refuse(compiled: MatrixForm) -> None:
    """Refuse a bad version and numbers that HiGHS would change without a word.

    Raises:
        UnsupportedError: either of them.
    """
    _refuse_bad_version()
    refuse_numbers("HiGHS", compiled, smallest=_SMALLEST, largest=_LARGEST, infinite=_INFINITE)


def load(compiled: MatrixForm, options: Options) -> Any:
    """An engine with the options set and the model handed over, ready to run.

    Raises:
        InputError: an unknown option in ``options.extra``.
        UnsupportedError: HiGHS refuses the model.
    """
    import highspy

    engine = highspy.Highs()
    integer = compiled.has_integers
    settings: dict[str, Any] = {
        "output_flag": options.log,
        "threads": options.threads,
        "random_seed": options.seed,
        "mip_rel_gap": options.gap,
        "mip_abs_gap": options.absolute_gap,
        # a restart of the branch and bound has been seen to lose the optimum
        "mip_allow_restart": False,
    }
    if options.time_limit is not None:
        settings["time_limit"] = options.time_limit
    if integer and len(compiled.cost) <= _SMALL_MODEL:
        settings["mip_heuristic_run_feasibility_jump"] = False
    if integer and options.profile == "tiny":
        settings |= {f"mip_heuristic_run_{name}": False for name in _SUBMODELS}
    if compiled.mixes_types:
        settings["presolve_rule_off"] = PARALLEL_COLUMNS
        if costs_far_apart(compiled):
            settings["presolve"] = "off"
    data = compiled.rows.held.data
    if (np.abs(data) <= 1e-9).any():
        settings["small_matrix_value"] = _SMALLEST
    accepted = highspy.HighsStatus.kOk.value  # a number: HiGHS's own are slow to compare
    for key, value in {**settings, **options.extra}.items():
        if engine.setOptionValue(key, value).value != accepted:
            raise InputError.of(f"extra[{key!r}]", value, "an option HiGHS knows, in its range")
    hand_over(engine, compiled)
    return engine


def hand_over(engine: Any, compiled: MatrixForm) -> None:
    """Put a model in the place of the engine's, options kept.

    Raises:
        UnsupportedError: HiGHS refuses the model.
    """
    import highspy

    matrix = compiled.rows.held
    by_rows = matrix.format == "csr"
    if by_rows and len(matrix.data) > _TURNED:
        matrix, by_rows = compiled.rows.matrix.tocsc(), False
    form = highspy.MatrixFormat.kRowwise if by_rows else highspy.MatrixFormat.kColwise
    status = engine.passModel(
        len(compiled.cost),
        len(compiled.rows.lower),
        len(matrix.data),
        int(form),
        -1 if compiled.maximise else 1,
        compiled.offset,
        compiled.cost,
        compiled.lower,
        compiled.upper,
        compiled.rows.lower,
        compiled.rows.upper,
        matrix.indptr.astype(np.int32, copy=False),
        matrix.indices.astype(np.int32, copy=False),
        matrix.data,
        compiled.integer.astype(np.int32),
    )
    if status == highspy.HighsStatus.kError:
        raise UnsupportedError("HiGHS refuses the model")


def run(engine: Any, options: Options) -> bool:
    """Solve, by the profile on this thread or on one of its own.

    Returns:
        Whether the solve was stopped from outside.
    """
    import highspy

    # an error: this thread's scheduler was made for another number of threads
    if options.profile == "tiny" and engine.run() != highspy.HighsStatus.kError:
        return False
    return _run(engine, options.stop, options.on_progress)


def _run(engine: Any, stop: threading.Event | None, report: Listener | None = None) -> bool:
    """Run in another thread, so that Ctrl-C and the stop event end it.

    HiGHS keeps one scheduler per thread and refuses another number of threads there, unless it is
    made anew. Its callbacks are switched on only once the solve is to
    end, as each call would wait for Python's global lock; but for that on better points, of which
    there are few.

    Returns:
        Whether the solve was stopped from outside.

    Raises:
        KeyboardInterrupt: Ctrl-C a second time, before HiGHS has ended.
    """
    import highspy

    def work() -> bool:
        if engine.run() == highspy.HighsStatus.kError:
            highspy.Highs.resetGlobalScheduler(True)
            engine.run()
        return True

    better = highspy.cb.HighsCallbackType.kCallbackMipImprovingSolution

    def callback(kind: Any, _message: str, out: Any, answer: Any, _data: Any) -> None:
        if int(kind) == int(better) and report is not None:
            report(_progress(out))
        elif answer is not None:
            answer.user_interrupt = True

    engine.setCallback(callback, None)
    if report is not None:
        engine.startCallback(better)
    ended = threads.run(work, lambda: _ask_to_stop(engine), stop)
    if ended.result is None:  # the engine is still at work, so nothing can be read from it
        raise KeyboardInterrupt
    return ended.stopped


def _progress(out: Any) -> Progress:
    """What HiGHS says of a better point."""
    bound = float(out.mip_dual_bound)
    x = np.array(out.mip_solution)  # a copy: HiGHS goes on with its own
    return Progress(bound if math.isfinite(bound) else None, float(out.mip_primal_bound), x)


def _ask_to_stop(engine: Any) -> None:
    """Switch on the callbacks through which HiGHS asks whether to go on."""
    import highspy

    kinds = highspy.cb.HighsCallbackType
    for kind in (
        kinds.kCallbackSimplexInterrupt,
        kinds.kCallbackIpmInterrupt,
        kinds.kCallbackMipInterrupt,
    ):
        engine.startCallback(kind)


def read(engine: Any, compiled: MatrixForm, interrupted: bool) -> SolverResult:
    """How the last run ended."""
    import highspy

    facts = highspy.HighsModelStatus
    status = engine.getModelStatus()
    info = engine.getInfo()
    integer = compiled.has_integers
    solution = engine.getSolution()
    # an unfinished simplex point is not feasible in general
    found = integer or status == facts.kOptimal
    found = found and info.primal_solution_status == 2 and solution.value_valid  # 2: feasible
    x = np.array(solution.col_value) if found else None
    bound: float | None = None
    if integer and np.isfinite(info.mip_dual_bound):
        bound = float(info.mip_dual_bound)
    elif not integer and status == facts.kOptimal:
        bound = float(info.objective_function_value)
    nodes = int(info.mip_node_count) if integer else None
    if status == facts.kOptimal:
        duals: dict[str, Any] = {}
        if not integer and solution.dual_valid and compiled.is_linear_program:
            duals = {
                "row_duals": np.array(solution.row_dual),
                "reduced_costs": np.array(solution.col_dual),
            }
        return SolverResult(Status.OPTIMAL, x, bound, nodes=nodes, **duals)
    if status == facts.kInfeasible:
        return SolverResult(Status.INFEASIBLE, nodes=nodes)
    if status == facts.kUnbounded:
        return SolverResult(Status.UNBOUNDED, nodes=nodes)
    if status == facts.kUnboundedOrInfeasible:
        return SolverResult(Status.INFEASIBLE_OR_UNBOUNDED, nodes=nodes)
    if interrupted or status == facts.kInterrupt:
        return SolverResult(Status.INTERRUPTED, x, bound, nodes=nodes)
    limits = {
        facts.kTimeLimit: Limit.TIME,
        facts.kIterationLimit: Limit.NODES,
        facts.kSolutionLimit: Limit.NODES,
        facts.kMemoryLimit: Limit.MEMORY,
    }
    if status in limits:
        word = Status.NO_SOLUTION if x is None else Status.FEASIBLE
        return SolverResult(word, x, bound, limits[status], nodes=nodes)
    return SolverResult(
        Status.ERROR, message=f"HiGHS ended with {engine.modelStatusToString(status)}"
    )


def _without_presolve(compiled: MatrixForm, options: Options, seconds: float) -> SolverResult:
    """Solve again without presolve, which has been seen to fail and to mistake models."""
    limit = None if math.isinf(seconds) else max(seconds, 1e-3)
    plain = replace(options, extra={**options.extra, "presolve": "off"}, time_limit=limit)
    engine = load(compiled, plain)
    result = read(engine, compiled, run(engine, plain))
    if result.status is Status.INFEASIBLE_OR_UNBOUNDED or (
        result.status is Status.UNBOUNDED and compiled.has_integers
    ):
        return _tell_apart(engine, compiled, plain)
    return result


def _tell_apart(engine: Any, compiled: MatrixForm, options: Options) -> SolverResult:
    """Infeasible or unbounded: drop the objective and see whether a point exists."""
    import highspy

    columns = len(compiled.cost)
    engine.changeColsCost(columns, np.arange(columns, dtype=np.int32), np.zeros(columns))
    engine.clearSolver()
    interrupted = run(engine, options)
    status = engine.getModelStatus()
    if status == highspy.HighsModelStatus.kOptimal:
        return SolverResult(Status.UNBOUNDED)
    if status == highspy.HighsModelStatus.kInfeasible:
        return SolverResult(Status.INFEASIBLE)
    return SolverResult(Status.INTERRUPTED if interrupted else Status.INFEASIBLE_OR_UNBOUNDED)
