"""A bad instance as a certificate: a file that shows that a ratio is at least so large.

It has the instance, the heuristic's call and seeds, the heuristic's schedule and a better one. The
optimum is at least as good as any schedule, so the ratio to the cost of a checked schedule is a
lower bound on the ratio, without any solver. An upper bound on the ratio needs a bound on the
optimum, which may come with a proof.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.metadata import version
from typing import Any, Literal

from pydantic import Field

from optsched.adversary.judging import Judge, scored, strange
from optsched.adversary.space import Space
from optsched.adversary.why import spelled
from optsched.errors import InputError, ModelError, words
from optsched.evaluation.heuristic_run import with_heuristics
from optsched.evaluation.proofs import check_proof, prove
from optsched.evaluation.ratios import ratio
from optsched.instances.document import Document, PlainDocument, dumps, parse
from optsched.problem import COST_TOLERANCE, Heuristic, problem
from optsched.problem.violation import describe
from optsched.proof import NotProvenError, ProofError

FRESH = 20
"""Runs by which a case reports the mean of a heuristic that draws lots, on seeds no search saw."""

PROOF_SECONDS = 5.0
"""Wall seconds that a proof of the optimum may take when a case is made."""


class SearchFacts(Document):
    """How the case was found."""

    seed: int = Field(description="of the search")
    evaluated: int = Field(description="candidates on which the heuristic ran")
    seconds: float = Field(description="wall time")


class CaseDocument(PlainDocument):
    """What files of cases have in common."""

    format: str
    version: Literal[1] = 1
    problem: str
    generator: dict[str, Any] = Field(description="options whose instances spanned the search")
    instance: Any = Field(description="file of the instance")
    reference: str = Field(description="formulation by which better schedules were found")
    proof: dict[str, Any] | None = Field(None, description="of the bound, in exact arithmetic")
    outside: list[str] = Field(
        default_factory=list,
        description="places whose values no generated instance has: outside of what sixty span, "
        "or strange by the problem's own word",
    )
    search: SearchFacts | None = None
    optsched: str = Field("", description="release by which it was made")


class Case(CaseDocument):
    """A case against one heuristic as its file has it."""

    format: Literal["optsched/worst-case"] = "optsched/worst-case"
    heuristic: str = Field(description="name with options")
    seeds: list[int] = Field(description="of the heuristic's generator, one run each", min_length=1)
    cost: float = Field(description="of the heuristic's schedule, the mean over the seeds")
    schedule: Any = Field(description="the heuristic's, with the first seed")
    better: Any = Field(description="the best schedule known")
    incumbent: float = Field(description="its cost")
    bound: float | None = Field(description="on the optimum; null: none is known")
    status: str = Field(description="how the solve of the reference ended")
    ratio_low: float | None = Field(description="the ratio is at least this; null: it is infinite")
    ratio_high: float | None = Field(description="the ratio is at most this; null: no limit known")

    @property
    def sentence(self) -> str:
        """What it shows."""
        ratio = "infinite" if self.ratio_low is None else f"at least {self.ratio_low:.6g}"
        where = "within the ranges of generated ones"
        if self.outside:
            where = f"in {len(self.outside)} places outside of what the generator makes"
        return f"{self.problem}.{self.heuristic}: ratio {ratio} on this instance, {where}"


def make_case(
    judge: Judge,
    space: Space,
    generator: Mapping[str, Any],
    document: Any,
    *,
    search: SearchFacts | None = None,
    proof_seconds: float = PROOF_SECONDS,
) -> Case:
    """The certificate of an instance.

    Args:
        judge: of the heuristic; where it runs several seeds, the case has ``FRESH`` others.
        space: in which it was found.
        generator: options that span it.
        document: the instance, decoded JSON.
        search: how it was found.
        proof_seconds: wall time for a proof of the optimum.

    Raises:
        InputError: there is no ratio on it.
    """
    chosen = judge.problem
    instance = parse(chosen.instance_type, document)
    seeds = judge.seeds if len(judge.seeds) == 1 else range(1000, 1000 + FRESH)
    trials = [judge.run(instance, seed) for seed in seeds]
    failed = [f"{trial.status}: {trial.message}" for trial in trials if trial.status]
    answer = chosen.solve(judge.reference, instance, options=judge.options)
    schedules = [(trial.cost, trial.schedule) for trial in trials if trial.offline]
    if answer.schedule is not None:
        schedules.insert(0, (float(chosen.cost(instance, answer.schedule)), answer.schedule))
    cost = math.fsum(trial.cost or 0.0 for trial in trials) / len(trials)
    score = scored(chosen, cost, answer, [known for known, _ in schedules if known is not None])
    if failed or score is None:
        said = failed[0] if failed else answer.solution.message or "no schedule"
        raise InputError.of("instance", said, "one that has a ratio")
    better = next(schedule for known, schedule in schedules if known == score.incumbent)
    proof = None
    # without a proof the bound rests on the solver, as the case says
    with suppress(NotProvenError, ProofError, InputError, ModelError):
        proof = prove(chosen, judge.reference, instance, answer, proof_seconds)
    return Case(
        **found_by(judge, space, generator, document, search),
        heuristic=judge.heuristic,
        seeds=list(seeds),
        cost=cost,
        schedule=json.loads(dumps(trials[0].schedule)),
        better=json.loads(dumps(better)),
        incumbent=score.incumbent,
        bound=score.bound,
        status=score.status,
        ratio_low=_finite(score.low),
        ratio_high=_finite(score.high),
        proof=proof,
    )


def found_by(
    judge: Judge,
    space: Space,
    generator: Mapping[str, Any],
    document: Any,
    search: SearchFacts | None,
) -> dict[str, Any]:
    """What every certificate says of an instance and of where it was found; see ``make_case``."""
    instance = parse(judge.problem.instance_type, document)
    strangely = strange(judge.problem, instance, generator)
    return {
        "problem": judge.problem.name,
        "generator": dict(generator),
        "instance": json.loads(dumps(instance)),
        "reference": judge.reference,
        "outside": [*map(spelled, space.outside(document)), *strangely],
        "search": search,
        "optsched": version("optsched"),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


class Checked(Document):
    """What a case comes to when everything is derived again."""

    holds: bool
    """Whether the ratio is at least what the case says."""
    complaints: list[str]
    """What does not hold."""
    ratio_low: float | None
    """As derived; None: infinite."""
    ratio_high: float | None
    """By the case's proof; None without one."""
    optimum: Literal["proven", "not proven here"]


def check_case(
    case: Case, heuristic: str | Heuristic | Callable[..., Any] | None = None
) -> Checked:
    """Derive a case again, trusting nothing but the code of problem and heuristic that is here.

    Args:
        case: as read.
        heuristic: the heuristic meant, if it is not an announced one; also of a file, as
            "mine.py:worst_fit".

    Raises:
        InputError: a problem, heuristic, instance or schedule that is none.
    """
    chosen = problem(case.problem)
    if heuristic is not None:
        chosen, _ = with_heuristics(chosen, [heuristic])
    instance = parse(chosen.instance_type, case.instance)
    better = parse(chosen.schedule_type, case.better)
    judge = Judge(chosen, case.heuristic, reference=case.reference, seeds=case.seeds)
    complaints: list[str] = []
    costs = []
    for seed in case.seeds:
        trial = judge.run(instance, seed)
        if trial.status or trial.cost is None:
            complaints.append(f"the heuristic with seed {seed}: {trial.status} {trial.message}")
        else:
            costs.append(trial.cost)
    cost = math.fsum(costs) / len(costs) if costs else math.nan
    expect(complaints, "the heuristic's mean cost", cost, case.cost)
    violations = chosen.check(instance, better, **chosen.reference_check)
    if violations:
        complaints.append(f"the better schedule {describe(violations)}")
    incumbent = float(chosen.cost(instance, better))
    expect(complaints, "the better schedule's cost", incumbent, case.incumbent)
    low = ratio(chosen.sense, cost, incumbent)
    low = math.nan if low is None else low
    expect(complaints, "the ratio", low, math.inf if case.ratio_low is None else case.ratio_low)
    high: float | None = None
    optimum: Literal["proven", "not proven here"] = "not proven here"
    if case.proof is not None:
        try:
            verdict = check_proof(chosen, instance, case.proof)
        except (ProofError, InputError) as error:
            complaints.append(f"the proof: {words(error)}")
        else:
            if verdict.of_the_problem:
                high, optimum = ratio(chosen.sense, cost, verdict.rounded_bound), "proven"
    return Checked(
        holds=not complaints,
        complaints=complaints,
        ratio_low=_finite(low),
        ratio_high=None if high is None else _finite(high),
        optimum=optimum,
    )


def expect(complaints: list[str], what: str, found: float, said: float) -> None:
    """Complain if a number is not what was said, up to ``COST_TOLERANCE``."""
    same = found == said or abs(found - said) <= COST_TOLERANCE * max(1.0, abs(said))
    if not same:
        complaints.append(f"{what} is {found:.9g}, not {said:.9g}")
