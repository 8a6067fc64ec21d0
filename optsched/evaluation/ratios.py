"""Combine the runs of one instance to a row of ratios per heuristic.

Everything here is made of plain records, so that runs kept in a file compare like fresh ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from optsched.evaluation.optimum import PROOF_TOLERANCE, OptimumInterval, known_by, known_optimum
from optsched.evaluation.runs import STATED, MethodKind, MethodRun
from optsched.problem import Problem, Sense
from optsched.problem.calls import call_options, pick
from optsched.problem.guarantee import OPTIMUM
from optsched.solvers.solution import Status

FIELDS = (
    "problem",
    "instance",
    "seed",
    "heuristic",
    "cost",
    "optimum",
    "bound",
    "ratio_low",
    "ratio_high",
    "status",
)
"""The columns every table of ratios starts with."""

UNBOUNDED_RATIO = "unbounded ratio"
"""Status of a row whose ratio is infinite: a schedule worth nothing if another is worth
something, or one that costs something where another is free."""

_TAIL = (
    *("incumbent", "known_by", "reference", "solver", "seconds", "compile_seconds"),
    *("interpreted_seconds", "solver_seconds", "may_beat", "foresight", "interpretation"),
    "message",
)


@dataclass(frozen=True)
class Row:
    """One heuristic on one instance."""

    problem: str
    instance: str
    seed: int
    heuristic: str
    status: str
    """"optimal": the optimum is proven and the ratio a point. "violated": the heuristic's schedule
    fails the checker; "error" with a cost missing: the heuristic crashed; "disagreement": a
    checked schedule contradicts what was said to be proven; none of these has a ratio. "unbounded
    ratio": both ends are infinite, as something is divided by nothing. Otherwise
    how the reference formulation's solve ended."""
    cost: float | None = None
    """Cost of the heuristic's schedule; at speed 1 + epsilon, the online cost."""
    optimum: float | None = None
    """Proven optimal cost at speed 1."""
    bound: float | None = None
    """Best proven bound on the optimum."""
    ratio_low: float | None = None
    """Against the best known schedule: the ratio is no smaller."""
    ratio_high: float | None = None
    """Against the bound: the ratio is no larger."""
    incumbent: float | None = None
    """Cost of the best known schedule that is feasible at speed 1."""
    known_by: str = ""
    """Why the optimum is believed: "proven" (in exact arithmetic, and verified), "two solvers" (of
    different families), "solver", or "bound" (one that a schedule meets); empty without one."""
    reference: str = ""
    """The formulation that gave optimum and bound."""
    solver: str = ""
    seconds: float = 0.0
    """Wall time of the heuristic, that of getting machine code left out."""
    compile_seconds: float = 0.0
    """What getting machine code took; see ``optsched.jit.Stopwatch``."""
    interpreted_seconds: float = 0.0
    """Part of ``seconds`` that went to loops without machine code, often 100 times slower."""
    solver_seconds: float = 0.0
    """Wall time of the reference formulation, shared by the rows of one instance."""
    message: str = ""
    may_beat: bool = False
    """Whether the schedule was granted more than the optimum was, such as speed: only then may
    the ratio be below 1."""
    foresight: str = ""
    """Whether a heuristic that is to be online was found to know what arrives later, "none
    found", "found" or "not tried"."""
    interpretation: str = ""
    """How the instance was taken to have the optimum and the bounds, such as "times taken up to
    whole slots"; empty if they are those of the instance as given."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Options of the generator and of the heuristic."""
    extra: Mapping[str, float | None] = field(default_factory=dict)
    """For each bound asked for: ``bound_NAME``, ``ratio_NAME`` (cost against it) and, where the
    source divides another quantity by it, ``source_ratio_NAME``. For each guarantee that can be
    compared, ``stated_NAME``, the name "optimum" or the bound's."""

    def record(self) -> dict[str, Any]:
        """The row as one flat mapping, columns in their order."""
        head = {name: getattr(self, name) for name in FIELDS}
        tail = {name: getattr(self, name) for name in _TAIL}
        options = {
            f"option_{name}" if name in head | tail else name: value
            for name, value in self.parameters.items()
        }
        return head | options | tail | dict(self.extra)


def ratio(sense: Sense, cost: float, reference: float | None) -> float | None:
    """Cost against a reference value, infinite if something is divided by nothing.

    None if that is no ratio of non-negative values. What lies within 1e-9 of nothing is rounding
    if the other side is nothing, and so is a negative value that does.

    Example:
        >>> ratio("minimise", 15, 12), ratio("maximise", 15, 12), ratio("minimise", 1, 0)
        (1.25, 0.8, inf)
    """
    if reference is None:
        return None
    numerator, denominator = (cost, reference) if sense == "minimise" else (reference, cost)
    if min(numerator, denominator) < -PROOF_TOLERANCE:
        return None
    numerator, denominator = max(0.0, numerator), max(0.0, denominator)
    nothing = min(numerator, denominator) == 0 and max(numerator, denominator) <= PROOF_TOLERANCE
    if numerator == denominator or nothing:
        return 1.0
    return numerator / denominator if denominator > 0 else math.inf


def best_start(sense: Sense, runs: Mapping[str, MethodRun]) -> str | None:
    """The heuristic whose schedule is best to start from; None if there is none to use."""
    usable = {text: run.cost for text, run in runs.items() if run.offline and run.cost is not None}
    best = min if sense == "minimise" else max
    return best(usable, key=usable.__getitem__, default=None)


@dataclass(frozen=True)
class ComparisonSpec:
    """What is compared with what; plain values, so that it can be kept beside the runs."""

    problem: str
    sense: Sense
    reference: str
    """Name of the formulation that ratios refer to; empty if there is none."""
    solves: Sequence[str]
    """Names of the exact runs that solve it."""
    heuristics: Mapping[str, Mapping[str, Any]]
    """Options of each that any of them names: as given, or the default."""
    bounds: Mapping[str, bool]
    """Bounds asked for, and whether each is proven."""
    numerators: Sequence[str]
    """Bounds that their source divides something else by than the cost."""
    measures: Sequence[str]
    """What the problem measures of a schedule."""
    guarantees: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By heuristic and by what it is against, the source and the assumption of what is stated."""
    may_beat: bool = True
    """``Problem.may_beat``."""

    @classmethod
    def of(
        cls,
        problem: Problem,
        heuristics: Sequence[str],
        bounds: Sequence[str],
        reference: str,
        solves: Sequence[str],
    ) -> ComparisonSpec:
        """The facts of a problem that a comparison needs.

        Raises:
            InputError: a name or option that is not known.
        """
        chosen = {name: pick(problem.bounds, name, "bound") for name in bounds}
        return cls(
            problem.name,
            problem.sense,
            reference,
            list(solves),
            _options(problem, heuristics),
            {name: bound.proven for name, bound in chosen.items()},
            [name for name, bound in chosen.items() if bound.numerator is not None],
            list(problem.measures),
            {
                text: {one.against: f"{one.source}; {one.assumption}" for one in stated}
                for text in heuristics
                if (stated := problem.heuristic(text)[0].guarantees)
            },
            problem.may_beat,
        )

    def needed(self) -> list[tuple[MethodKind, str]]:
        """The runs, by kind and name, without which there are no ratios."""
        return [*(("bound", b) for b in self.bounds), *(("exact", s) for s in self.solves)]


def ratio_rows(
    comparison: ComparisonSpec,
    runs: Mapping[tuple[MethodKind, str], MethodRun],
    *,
    seed: int = 0,
    name: str = "",
    parameters: Mapping[str, Any] | None = None,
) -> list[Row]:
    """Put together what the methods say of one instance: a row per heuristic that has run.

    Args:
        comparison: what is compared with what.
        runs: by kind and name; those of all bounds and solves of the comparison must be there.
        seed: of the instance and the heuristics.
        name: of the instance.
        parameters: columns to carry along, such as the generator's options.
    """
    solves = {text: runs["exact", text] for text in comparison.solves}
    bounds = {text: runs["bound", text] for text in comparison.bounds}
    heuristics = [text for text in comparison.heuristics if ("heuristic", text) in runs]
    trials = {text: runs["heuristic", text] for text in heuristics}
    proven = {text: run for text, run in bounds.items() if comparison.bounds[text]}
    other = _of_another_optimum(proven, solves)
    proven = {text: run for text, run in proven.items() if text not in other}
    known = known_optimum(comparison.sense, solves, proven, trials)
    complaints = [run.message for run in bounds.values() if run.bound is None]
    complaints += [
        f"{text} bounds another optimum ({run.interpretation}) and is left out of the ratio"
        for text, run in other.items()
    ]
    messages = [known.message, *complaints, *(run.message for run in solves.values())]
    common = Row(
        problem=comparison.problem,
        instance=name,
        seed=seed,
        heuristic="",
        status=known.status.value,
        optimum=known.optimum,
        bound=known.bound,
        incumbent=known.incumbent,
        known_by=known_by(
            known.optimum,
            list(solves.values()),
            [runs["proof", text] for text in comparison.solves if ("proof", text) in runs],
        ),
        reference=comparison.reference,
        solver=", ".join(dict.fromkeys(run.solver for run in solves.values() if run.solver)),
        solver_seconds=sum(run.seconds for run in solves.values()),
        message=_joined(*messages),
        interpretation=_joined(*(r.interpretation for r in (*solves.values(), *bounds.values()))),
        parameters=parameters or {},
    )
    values = {name: run.bound for name, run in bounds.items()}
    as_free = all(run.may_beat for run in solves.values()) and not proven
    beats = {text: comparison.may_beat and _may_beat(run, as_free) for text, run in trials.items()}
    return [
        _row(comparison, replace(common, heuristic=text, may_beat=beats[text]), known, run, values)
        for text, run in trials.items()
    ]


def _of_another_optimum(
    bounds: Mapping[str, MethodRun], solves: Mapping[str, MethodRun]
) -> dict[str, MethodRun]:
    """Return the bounds on the optimum of a changed instance that no solve took as they did."""
    known = [run for run in solves.values() if (run.cost, run.bound) != (None, None)]
    taken = {run.interpretation for run in known}
    return {
        text: run
        for text, run in bounds.items()
        if run.interpretation and taken and run.interpretation not in taken
    }


def _may_beat(run: MethodRun, as_free: bool) -> bool:
    """Whether a schedule was granted more than the optimum it is compared with.

    Args:
        run: of the heuristic.
        as_free: whether all that is known of that optimum is over all schedules, and not over those
            of the exact models alone.
    """
    return run.status == Status.DONE and (run.may_beat or not (run.offline or as_free))


def _options(problem: Problem, heuristics: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Options of each heuristic that any of them names: as given, or the default."""
    calls = {text: problem.heuristic(text) for text in heuristics}
    named = {option for _, options in calls.values() for option in options}
    return {
        text: {
            option: options.get(option, default)
            for option, default in (call_options(chosen.run, given=2) or options).items()
            if option in named
        }
        for text, (chosen, options) in calls.items()
    }


def _joined(*messages: str) -> str:
    """Return the notes that say something, each once."""
    return "; ".join(dict.fromkeys(filter(None, messages)))


def _row(
    comparison: ComparisonSpec,
    common: Row,
    known: OptimumInterval,
    run: MethodRun,
    bounds: Mapping[str, float | None],
) -> Row:
    row = replace(
        common,
        cost=run.cost,
        seconds=run.seconds,
        compile_seconds=run.compile_seconds,
        interpreted_seconds=run.interpreted_seconds,
        foresight=run.foresight,
        parameters={**common.parameters, **comparison.heuristics[common.heuristic]},
        extra=_against_bounds(comparison, run, bounds)
        | {f"measure_{name}": run.measures.get(name) for name in comparison.measures}
        | {
            f"stated_{name}": run.quantities[STATED + name]
            for name in (OPTIMUM, *bounds)
            if STATED + name in run.quantities
        },
    )
    if run.status != Status.DONE:
        return replace(row, status=run.status.value, message=run.message or common.message)
    if run.cost is None or known.status == Status.DISAGREEMENT:
        return row
    low = ratio(comparison.sense, run.cost, known.incumbent)
    high = ratio(comparison.sense, run.cost, known.bound)
    if low == math.inf:
        return replace(row, status=UNBOUNDED_RATIO, ratio_low=low, ratio_high=low)
    return replace(row, ratio_low=low, ratio_high=None if high == math.inf else high)


def _against_bounds(
    comparison: ComparisonSpec, run: MethodRun, bounds: Mapping[str, float | None]
) -> dict[str, float | None]:
    def against(quantity: float | None, bound: float | None) -> float | None:
        usable = quantity is not None and run.status == Status.DONE
        found = ratio(comparison.sense, quantity or 0.0, bound) if usable else None
        return None if found == math.inf else found

    extra: dict[str, float | None] = {}
    for name, bound in bounds.items():
        extra[f"bound_{name}"] = bound
        extra[f"ratio_{name}"] = against(run.cost, bound)
        if name in comparison.numerators:
            extra[f"source_ratio_{name}"] = against(run.quantities.get(name), bound)
    return extra
