"""Instances on which every online algorithm does badly: scores and certificates.

Jobs may stop coming after any arrival, so an instance is a tree of futures. Its score is the online
lower bound: the smallest worst ratio of any deterministic online algorithm on the futures. The
bound comes from one model with a copy per future, and a proof in exact arithmetic can show it. The
costs are divided by those of schedules, which may be worse than optimal; this only lowers the
bound. A bound on the mean ratio at some probabilities of the futures holds for every randomised
algorithm.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from pydantic import Field

from optsched.adversary.case import (
    PROOF_SECONDS,
    CaseDocument,
    Checked,
    SearchFacts,
    expect,
    found_by,
)
from optsched.adversary.judging import ALL, UNSOLVED, Judge, Score, Wanted
from optsched.adversary.space import Space
from optsched.errors import InputError, ModelError, words
from optsched.evaluation.proofs import CONES
from optsched.instances.document import dumps, parse
from optsched.model import Model
from optsched.model.expression import Floats
from optsched.online.lower_bound import Interval, Tree, optimum, stopping_scenarios
from optsched.online.reoptimise import plans
from optsched.online.state import arrivals_of
from optsched.problem import COST_TOLERANCE, Problem, problem
from optsched.problem.violation import describe
from optsched.proof import NotProvenError, ProofError, find, verify
from optsched.solve import solve
from optsched.solvers.options import Options
from optsched.solvers.solution import Status


def check_tree(problem: Problem) -> None:
    """Refuse a problem without a model of its online algorithms.

    Raises:
        InputError: it has none.
    """
    if arrivals_of(problem).unfold is None or problem.sense != "minimise":
        raise InputError.of("problem", problem.name, "one with a model of its online algorithms")


class OnlineBoundJudge(Judge):
    """Judges candidates by the online lower bound where jobs may stop coming."""

    def instance(self, instance: Any, wanted: Wanted = ALL) -> Score | None:
        """As of a heuristic: the ratio that no online algorithm is below, and one has."""
        self.evaluated += 1
        options = self.options or Options()
        scenarios = stopping_scenarios(self.problem, instance)
        try:
            known = [optimum(self.problem, one, options) for one in scenarios]
            optima = [interval for interval, _ in known]
            tree = Tree(self.problem, scenarios, options, optima)  # refuses what it cannot bound
            rival = self._rival(instance, scenarios, optima)
            if rival.max() < wanted.need:
                return Score(0.0, rival.max(), rival.max(), None, None, UNSOLVED)
            if rival.max() <= 1 + COST_TOLERANCE:  # as it is online, too, nothing is lost
                least = Interval(1.0, 1.0)
            else:
                self.solved += 1
                least, _ = tree.least_largest()
        except (InputError, ModelError) as error:
            self._fail(words(error))
            return None
        closed = least.high <= least.low * (1 + COST_TOLERANCE)
        status = (Status.OPTIMAL if closed else Status.FEASIBLE).value
        return Score(
            least.low, least.high, least.high, None, None, status, second=float(rival.mean())
        )

    def _rival(self, instance: Any, scenarios: list[Any], optima: list[Interval]) -> Floats:
        """Ratio of ``reoptimise`` in each future: the lower bound is at most the largest."""
        if arrivals_of(self.problem).replan is None:
            return np.full(len(scenarios), np.inf)
        made = plans(self.problem, instance, self.options or Options())
        costs = _costs(self.problem, scenarios, list(made))
        return np.array([c / o.low for c, o in zip(costs, optima, strict=True)])


class OnlineBoundCase(CaseDocument):
    """A case against all online algorithms as its file has it; its instance has all jobs that may
    come.
    """

    format: Literal["optsched/price-case"] = "optsched/price-case"
    heuristic: Literal["any_online"] = "any_online"
    better: list[Any] = Field(description="the best schedule known, one per future")
    incumbents: list[float] = Field(description="their costs")
    strategy: list[Any] = Field(description="what the best online algorithm found does, likewise")
    costs: list[float] = Field(description="its costs")
    ratio_low: float = Field(description="every online algorithm's largest ratio is at least this")
    ratio_high: float = Field(description="that of the one found, by the solver's optima")
    hardest: list[float] = Field(description="probabilities of the futures, for lots_low")
    lots_low: float = Field(description="the mean ratio, also of those that draw lots, is at least")
    lots_proof: Any = Field(None, description="of lots_low, in exact arithmetic")

    @property
    def seeds(self) -> list[int]:
        """No lots are drawn."""
        return [0]

    @property
    def sentence(self) -> str:
        """What it shows."""
        ratio = f"costs at least {self.ratio_low:.6g} times the optimum"
        lots = f"one that draws lots {self.lots_low:.6g} times"
        futures = f"on one of {len(self.costs)} futures: jobs may stop coming at any time"
        return f"{self.problem}: every deterministic online algorithm {ratio}, {lots}, {futures}"


def make_online_bound_case(
    judge: Judge,
    space: Space,
    generator: Mapping[str, Any],
    document: Any,
    *,
    search: SearchFacts | None = None,
    proof_seconds: float = PROOF_SECONDS,
) -> OnlineBoundCase:
    """The certificate of an instance; arguments are the same as of ``make_case``.

    Raises:
        InputError: no strategy is found on it.
    """
    chosen = judge.problem
    instance = parse(chosen.instance_type, document)
    scenarios = stopping_scenarios(chosen, instance)
    tree = Tree(chosen, scenarios, judge.options or Options())
    found, strategy = tree.least_largest()
    lots, hardest = tree.mixed()
    low, proof = _proven(tree.largest(), found.low, proof_seconds)
    lots_low, lots_proof = _proven(tree.mean(hardest), lots.low, proof_seconds)
    return OnlineBoundCase(
        **found_by(judge, space, generator, document, search),
        better=[json.loads(dumps(one)) for one in tree.best],
        incumbents=[one.high for one in tree.optima],
        strategy=[json.loads(dumps(one)) for one in strategy],
        costs=_costs(chosen, scenarios, strategy),
        ratio_low=low,
        ratio_high=found.high,
        proof=proof,
        hardest=hardest.tolist(),
        lots_low=lots_low,
        lots_proof=lots_proof,
    )


def _proven(model: Model, bound: float, seconds: float) -> tuple[float, Any]:
    """A bound on a model's optimum with its proof; where none is found, the solver's without."""
    with suppress(NotProvenError, ProofError):
        form = model.compile(CONES)
        proof = find(form, bound, seconds=seconds)
        return float(verify(form, proof) or 1.0), proof
    return bound, None


def _costs(chosen: Problem, scenarios: list[Any], schedules: list[Any]) -> list[float]:
    return [float(chosen.cost(*pair)) for pair in zip(scenarios, schedules, strict=True)]


def check_online_bound_case(case: OnlineBoundCase) -> Checked:
    """Derive a case against all online algorithms again: schedules, strategy, and the bound.

    The bound is the proof's if there is one, else a solver's.

    Raises:
        InputError: a problem, instance or schedule that is none.
    """
    chosen = problem(case.problem)
    scenarios = stopping_scenarios(chosen, parse(chosen.instance_type, case.instance))
    complaints: list[str] = []
    better, strategy = (
        [parse(chosen.schedule_type, one) for one in listed]
        for listed in (case.better, case.strategy)
    )
    lists = (
        ("better", better, case.incumbents),
        ("the strategy's", strategy, case.costs),
    )
    for what, schedules, said in lists:
        if not len(schedules) == len(said) == len(scenarios):
            raise InputError.of(what, len(schedules), f"{len(scenarios)} schedules and costs")
        for i, (one, schedule) in enumerate(zip(scenarios, schedules, strict=True)):
            violations = chosen.check(one, schedule, **chosen.reference_check)
            if violations:
                complaints.append(f"{what} schedule in future {i} {describe(violations)}")
            cost = float(chosen.cost(one, schedule))
            expect(complaints, f"{what} cost in future {i}", cost, said[i])
    complaints += _foresight(chosen, scenarios, strategy)
    tree = Tree(chosen, scenarios, Options(), [Interval(one, one) for one in case.incumbents])
    bounds = _bounds(case, tree, complaints)
    proven = case.proof is not None and not complaints
    high = max(c / o for c, o in zip(case.costs, case.incumbents, strict=True))
    return Checked(
        holds=not complaints,
        complaints=complaints,
        ratio_low=bounds[0],
        ratio_high=high if not complaints else None,
        optimum="proven" if proven else "not proven here",
    )


def _bounds(case: OnlineBoundCase, tree: Tree, complaints: list[str]) -> list[float]:
    """What the lower bound is at least, deterministic and randomised.

    A complaint is added if the case says that it is more.
    """
    weight = np.array(case.hardest)
    futures = len(tree.scenarios)
    if weight.shape != (futures,) or (weight < 0).any() or abs(weight.sum() - 1) > COST_TOLERANCE:
        raise InputError.of("hardest", case.hardest, f"{futures} numbers that add up to 1")
    bounds = []
    for what, model, proof, said in (
        ("the online lower bound", tree.largest(), case.proof, case.ratio_low),
        ("the randomised lower bound", tree.mean(weight), case.lots_proof, case.lots_low),
    ):
        try:
            bound = solve(model).bound if proof is None else verify(model.compile(CONES), proof)
        except (ProofError, InputError) as error:
            complaints.append(f"the proof of {what}: {words(error)}")
            bound = None
        bounds.append(max(1.0, float(bound or 1.0)))
        if bounds[-1] < said * (1 - COST_TOLERANCE):
            complaints.append(f"{what} is at least {bounds[-1]:.9g}, not {said:.9g}")
    return bounds


def _foresight(chosen: Problem, scenarios: list[Any], strategy: list[Any]) -> list[str]:
    """Where a strategy decides otherwise in two futures before they part."""
    arrivals = arrivals_of(chosen)
    complaints = []
    for i, (one, later) in enumerate(pairwise(zip(scenarios, strategy, strict=True))):
        parting = float(np.max(arrivals.times(later[0])))
        if sorted(arrivals.decisions(*one, parting)) != sorted(arrivals.decisions(*later, parting)):
            complaints.append(f"the strategy tells future {i} from the next before {parting:g}")
    return complaints
