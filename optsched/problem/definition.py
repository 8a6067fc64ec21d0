"""What a problem is.

A problem bundles what one paper states: an instance type, a schedule type, a checker, a cost,
exact formulations, lower bounds and heuristics.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from optsched.errors import FieldProblem, InputError
from optsched.instances.declared import Declared
from optsched.instances.document import Documented, refusal
from optsched.problem.algorithms import Bound, Heuristic
from optsched.problem.arrivals import Arrivals, Calendar
from optsched.problem.calls import accept, call_options, check_values, parse_call, pick, read_list
from optsched.problem.certificate import Certificate
from optsched.problem.guarantee import OPTIMUM
from optsched.problem.lazy import LazyMapping
from optsched.problem.methods import ExactMethod, Formulation
from optsched.problem.violation import Violation, no_options
from optsched.solvers.answer import Answer
from optsched.solvers.solution import Solution, Status

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from optsched.problem.equations import Equation

T = TypeVar("T")

Sense = Literal["minimise", "maximise"]


COST_TOLERANCE = 1e-6
"""Relative difference allowed between a solver's objective and the recomputed cost."""

UNPROVEN = (Status.FEASIBLE, Status.NO_SOLUTION, Status.INTERRUPTED)
"""How a solve ends before anything is proven of the optimum."""


def _as_given(instance: Any) -> str:
    return ""


@dataclass(frozen=True)
class Problem:
    """One problem: its instances, checker, cost, models, bounds and heuristics.

    Example:
        >>> import optsched as osd
        >>> batch = osd.problem("batch")
        >>> batch.sense, batch.reference in batch.formulations, "fifo" in batch.heuristics
        ('minimise', True, True)
    """

    name: str
    summary: str
    source: str
    """The paper."""
    instance_type: type[Documented]
    schedule_type: type[Documented]
    check: Callable[..., list[Violation]]
    """(instance, schedule, **options) -> violations."""
    cost: Callable[[Any, Any], float]
    """(instance, schedule) -> objective value."""
    generate: Callable[..., Any]
    """(rng, **options) -> instance."""
    generator_options: type[BaseModel]
    """The options of ``generate``: names, types, ranges, defaults, descriptions."""
    formulations: Mapping[str, Formulation | ExactMethod]
    """Models and exact methods, under one name space."""
    reference: str
    """The formulation whose optimum is the offline optimum that ratios refer to."""
    unit: str
    """Unit of the cost."""
    proof_model: str = ""
    """The formulation, with options, on whose model an optimum is proven; by default the
    reference, if it has a model. Every schedule must be a point of it."""
    proof_relaxation: str = ""
    """A smaller relaxation, with options, whose optimum is often that of the problem. It is tried
    first."""
    proof_parts: Callable[[Any], Sequence[Any]] | None = None
    """(instance) -> instances whose optima add up to at most its own. If they add up to as much,
    each is proven by itself. Needs a ``proof_model``."""
    construct: Callable[[Any], Any] | None = None
    """(instance) -> a schedule that is made at once, or None. If a limit ends a solve, its answer
    is at least as good."""
    sense: Sense = "minimise"
    bounds: Mapping[str, Bound] = field(default_factory=dict)
    heuristics: Mapping[str, Heuristic] = field(default_factory=dict)
    check_options: Callable[[Any], Mapping[str, Any]] = no_options
    """(schedule) -> options of ``check`` for a heuristic's schedule, such as its speed."""
    reference_check: Mapping[str, Any] = field(default_factory=dict)
    """Options of ``check`` under which a schedule counts as a solution of the exact models."""
    may_beat: bool = True
    """Whether a schedule with other options of ``check`` may cost less than the optimum of the
    exact models. False is a statement to be proven: no table then warns of ratios below 1."""
    interpretation: Callable[[Any], str] = _as_given
    """(instance) -> how exact models and bounds change it, in words such as "times taken up to
    whole slots"; empty if they take the instance as given."""
    measures: Mapping[str, Callable[[Any, Any], float]] = field(default_factory=dict)
    """(instance, schedule) -> a number that tables of ratios show beside the cost, by column."""
    flow_times: Callable[[Any, Any], NDArray[Any]] | None = None
    """(instance, schedule) -> slots from each job's release to its completion, shape (jobs,); None
    if jobs do not complete."""
    pictures: Mapping[str, Callable[[Axes, Any, Any], Axes]] = field(default_factory=dict)
    """(axis, instance, schedule) -> axis, by name, such as "gantt" or "utilisation"."""
    presets: Path | None = None
    """A study file (see ``optsched.study.spec``) whose grids have names, such as the paper's own
    figures."""
    strange: Callable[[Any, Mapping[str, Any]], Sequence[str]] | None = None
    """(instance, options of ``generate``) -> the fields, such as ``jobs[2].epochs``, with values
    that ``generate`` cannot produce with these options."""
    repair: Callable[[Any], Any] | None = None
    """(decoded JSON of an instance) -> a similar one that ``generate`` can produce. It is needed if
    a change of one number requires others, as in a symmetric table."""
    calendar: Calendar | None = None
    """How instances and schedules are shifted in time, if jobs have releases: models, searches,
    bounds and heuristics then work near slot 0."""
    certify: Callable[[Any, Any], Sequence[Certificate]] | None = None
    """(instance, schedule) -> the paper's lemmas and theorems, checked on the schedule; None if
    there are none."""
    arrivals: Arrivals | None = None
    """How jobs arrive one at a time; None if all are known at the start."""
    sample: Mapping[str, Any] = field(default_factory=dict)
    """Options of ``generate`` for an instance whose models can be read at a glance."""

    def __post_init__(self) -> None:
        for heuristic in self.heuristics.values():
            for one in heuristic.guarantees:
                if one.against != OPTIMUM and one.against not in self.bounds:
                    allowed = ", ".join([OPTIMUM, *self.bounds])
                    where = f"guarantees of {heuristic.name}"
                    raise InputError.of(where, one.against, f"must be one of {allowed}")
        if self.calendar is None:
            return
        free, construct = self.calendar.free, self.construct
        near = {
            "construct": construct and (lambda instance: free(construct)(instance)),
            "formulations": _changed(self.formulations, lambda f: f.changed(free)),
            "bounds": _changed(self.bounds, lambda b: replace(b, compute=free(b.compute))),
            # what a heuristic does in a gap is its own affair
            "heuristics": _changed(
                self.heuristics, lambda h: replace(h, run=free(h.run, gaps=False))
            ),
        }
        for name, entries in near.items():
            object.__setattr__(self, name, entries)

    def solve(
        self, formulation: str, instance: Any, *, start: Any | None = None, **options: Any
    ) -> Answer:
        """Solve by a formulation or exact method, named with its options: "problem_2(horizon=20)".

        An optimum counts only if its schedule passes the checker. If a solve ends early, its answer
        is at least as good as its start and as the schedule of ``construct``.

        Raises:
            InputError: no such formulation or option, or one that is not supported.
        """
        chosen, build_options = self.formulation(formulation)
        answer = chosen.solve(instance, start=start, **build_options, **options)
        if answer.check in (None, self.reference_check):
            answer = replace(answer, interpretation=self.interpretation(instance))
        answer = self.verify(instance, answer, **build_options)
        if chosen.relaxation or answer.solution.status not in UNPROVEN:
            return answer
        made = None if self.construct is None else self.construct(instance)
        for known in (start, made):
            if (
                known is not None
                and chosen.admits
                and chosen.admits(instance, known, **build_options)
            ):
                answer = self._at_least(instance, answer, known)
        return answer

    def verify(self, instance: Any, answer: Answer, **asked: Any) -> Answer:
        """Turn an answer into an error if its schedule is infeasible or costs something else.

        The bound stays, because it does not depend on the point. If a search ended early, its
        point may have slack that the schedule does not have. The cost of the schedule counts then,
        if it is better.

        Args:
            instance: what was solved.
            answer: of a formulation or exact method.
            asked: options of that formulation. The checker follows those that it has too, such as
                until when a chunk takes storage.
        """
        usual = call_options(self.check, given=2) or {}
        rules = {k: v for k, v in asked.items() if k in usual and v != usual[k]}
        if rules and answer.check is None:
            answer = replace(answer, check={**self.reference_check, **rules})
        solution = answer.solution
        if answer.schedule is None or solution.objective is None:
            return answer
        complaint = ""
        strict = self.reference_check if answer.check is None else answer.check
        violations = self.check(instance, answer.schedule, **strict)
        cost = float(self.cost(instance, answer.schedule))
        allowed = COST_TOLERANCE * max(1.0, abs(cost))
        better = 1.0 if self.sense == "minimise" else -1.0
        if violations:
            worst = max(violations, key=lambda v: v.amount)
            complaint = f"the decoded schedule breaks ({worst.constraint}) at {dict(worst.index)}"
        elif abs(cost - solution.objective) > allowed:
            beyond = solution.bound is not None and better * (solution.bound - cost) > allowed
            ended = solution.status is not Status.OPTIMAL
            if not (ended and not beyond and better * (solution.objective - cost) > 0):
                complaint = f"the decoded schedule costs {cost:g}, not {solution.objective:g}"
        if not complaint:
            return replace(answer, solution=self._of_cost(solution, cost))
        return replace(
            answer,
            solution=replace(
                solution, status=Status.ERROR, objective=None, checked=False, message=complaint
            ),
            schedule=None,
        )

    def _of_cost(self, solution: Solution, cost: float) -> Solution:
        """A solution whose objective is what its schedule costs; no bound lies beyond that."""
        within = min if self.sense == "minimise" else max
        bound = None if solution.bound is None else within(solution.bound, cost)
        steps = solution.trajectory
        if steps:
            steps = (*steps[:-1], steps[-1]._replace(bound=bound, objective=cost))
        return replace(solution, objective=cost, bound=bound, trajectory=steps)

    def _at_least(self, instance: Any, answer: Answer, known: Any) -> Answer:
        """The answer, or a schedule known if that is better.

        A schedule that breaks the problem, or a bound of the answer, does not count.
        """
        solution = answer.solution
        strict = self.reference_check if answer.check is None else answer.check
        cost = float(self.cost(instance, known))
        sign = 1.0 if self.sense == "minimise" else -1.0
        allowed = COST_TOLERANCE * max(1.0, abs(cost))
        beyond = solution.bound is not None and sign * (solution.bound - cost) > allowed
        own = None if answer.schedule is None else solution.objective
        better = own is not None and sign * (own - cost) <= 0
        if beyond or better or self.check(instance, known, **strict):
            return answer
        if solution.status is Status.NO_SOLUTION:
            solution = replace(solution, status=Status.FEASIBLE)
        kept = replace(self._of_cost(solution, cost), values={}, checked=True)
        if kept.bound == cost:
            kept = replace(kept, status=Status.OPTIMAL, limit=None)
        return replace(answer, solution=kept, schedule=known)

    def run(self, heuristic: str, instance: Any, rng: np.random.Generator) -> Any:
        """Run a heuristic, named with its options: ``"a_online(epsilon=0.5)"``.

        Raises:
            InputError: no such heuristic or option.
        """
        chosen, options = self.heuristic(heuristic)
        return chosen.run(instance, rng, **options)

    def instance_from(
        self, table: pd.DataFrame, columns: Mapping[str, str] | None = None, **rest: Any
    ) -> Any:
        """Make an instance from a table with a line per job: see ``optsched.instances.importing``.

        Raises:
            InputError: the instances of this problem declare no fields, or the table is refused.

        Example:
            >>> import pandas as pd
            >>> jobs = pd.DataFrame({"submitted": [0, 60], "num_chunks": [2, 1], "work": [3, 2]})
            >>> jobs = jobs.assign(upload_delay_edge=0, upload_delay_cloud=1)
            >>> work = {"chunk_time_slow": "work", "chunk_time_fast": "work/2"}
            >>> import optsched as osd
            >>> instance = osd.problem("preemptive").instance_from(
            ...     jobs,
            ...     {"release_time": "submitted/60", **work},
            ...     edge_servers=1,
            ...     workers=[{"server": 0, "count": 3}],
            ... )
            >>> instance.release_time.tolist(), instance.workers
            ([0.0, 1.0], 3)
        """
        from optsched.instances.importing import instance_from

        if not issubclass(self.instance_type, Declared):
            raise InputError.of("problem", self.name, "one whose instances declare their fields")
        return instance_from(self.instance_type, table, columns, **rest)

    def tables_of(self, instance: Any) -> dict[str, Any]:
        """An instance as the tables and single fields that ``instance_from`` takes, by name.

        Raises:
            InputError: the instances of this problem declare no fields.

        Example:
            >>> import optsched as osd
            >>> wang = osd.problem("preemptive")
            >>> drawn = wang.generate(np.random.default_rng(1), jobs=3, servers=2)
            >>> tables = wang.tables_of(drawn)
            >>> list(tables), list(tables["workers"])
            (['jobs', 'edge_servers', 'workers', 'parameter_servers'], ['worker', 'server', 'type'])
            >>> wang.instance_from(tables.pop("jobs"), **tables).jobs
            3
        """
        from optsched.instances.exporting import tables_of

        if not isinstance(instance, Declared):
            raise InputError.of("problem", self.name, "one whose instances declare their fields")
        return tables_of(instance)

    def formulation(self, text: str) -> tuple[Formulation | ExactMethod, dict[str, Any]]:
        """Look up the formulation or exact method that ``name(option=value, ...)`` names.

        Raises:
            InputError: no such formulation or option.
        """
        name, options = parse_call(text)
        chosen: Formulation | ExactMethod = pick(self.formulations, name, "formulation")
        accept(chosen.takes(), options, text)
        chosen.check_own(options, text)
        return chosen, options

    def equations(self, formulation: str = "") -> list[Equation]:
        """The paper's numbered statements in a formulation, or in all that know the numbers.

        Formulas are those of the models of a small instance, drawn by the generator.

        Raises:
            InputError: no such formulation, or one that does not know the numbers.
        """
        from optsched.problem.equations import equations_in

        numbered = {
            name: one
            for name, one in self.formulations.items()
            if isinstance(one, Formulation) and one.equations
        }
        if formulation:
            numbered = {formulation: pick(numbered, formulation, "formulation with equations")}
        instance = self.generate(np.random.default_rng(0), **self.sample)
        return [
            equation
            for name, one in numbered.items()
            for equation in equations_in(name, one.build(instance), one.equations)
        ]

    def equation(self, number: str) -> Equation:
        """A numbered statement of the paper, in the model of its problem closest to the paper.

        That is one with the paper's formula, and then one with most of the paper's numbers.

        Raises:
            InputError: no model knows the number.
        """
        found = self.equations()
        literal = Counter(one.model for one in found if one.by_number)
        known = [one for one in found if one.number == number]
        if not known:
            allowed = "one of " + ", ".join(dict.fromkeys(one.number for one in found))
            raise InputError.of("number", number, allowed)
        own = {one.model for one in found if one.number == number.rstrip(ascii_lowercase)}
        return min(
            known, key=lambda e: (not e.names, e.model not in own, e.is_ours, -literal[e.model])
        )

    def heuristic(self, text: str) -> tuple[Heuristic, dict[str, Any]]:
        """Look up the heuristic that ``name(option=value, ...)`` names, and its options.

        Raises:
            InputError: no such heuristic or option, a value out of range, or options that
                contradict each other.
        """
        name, options = parse_call(text)
        chosen: Heuristic = pick(self.heuristics, name, "heuristic")
        accept(call_options(chosen.run, given=2), options, text)
        check_values(chosen.run, options, text)
        if chosen.rules is not None:
            chosen.rules(**options)
        return chosen, options

    def generator_call(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Validate options of ``generate``; texts such as "3" or "[8, 2]" are read.

        Raises:
            InputError: an option that is not known, or a value out of range.
        """
        known = self.generator_options.model_fields
        unknown = [name for name in options if name not in known]
        if unknown:
            allowed = "not an option; there are " + ", ".join(known)
            raise InputError([FieldProblem(name, options[name], allowed) for name in unknown])
        try:
            validated = self.generator_options.model_validate(
                {name: read_list(value) for name, value in options.items()}
            )
        except ValidationError as error:
            raise refusal(error) from None
        return {name: getattr(validated, name) for name in options}


def _changed(entries: Mapping[str, T], change: Callable[[T], T]) -> LazyMapping[T]:
    """Return the entries, each changed when it is asked for."""
    if not isinstance(entries, LazyMapping):
        entries = LazyMapping({name: partial(entries.__getitem__, name) for name in entries})
    return entries.changed(change)


def granted_check_options(problem: Problem, schedule: Any) -> dict[str, Any]:
    """What the check grants a schedule beyond its defaults, such as the speed it was run at."""
    defaults = call_options(problem.check, given=2) or {}
    granted = problem.check_options(schedule)
    return {
        name: value
        for name, value in granted.items()
        if name not in defaults or defaults[name] != value
    }
