"""Instances on which every online algorithm must lose: judged, and kept as certificates.

Jobs may stop coming after any moment of arrival: an instance is a tree of futures, and its score is
the price of being online there, the least largest ratio of all deterministic online algorithms.
That it is no less is a bound on one model with a copy per future, which a proof in exact arithmetic
can show; that costs are compared by schedules no better than optimal only makes it smaller.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from pydantic import Field

from optsched.document import dumps, parse
from optsched.errors import InputError, ModelError, words
from optsched.evaluation.proofs import CONES
from optsched.model.expression import Floats
from optsched.online.price import Interval, Tree, endings
from optsched.online.reoptimise import reoptimise
from optsched.online.state import arrivals_of
from optsched.problem import COST_TOLERANCE, Problem, problem
from optsched.proof import NotProvenError, ProofError, find, verify
from optsched.solvers.options import Options
from optsched.solvers.solution import Status
from optsched.violation import describe
from optsched.worst.case import (
    PROOF_SECONDS,
    Certificate,
    Checked,
    SearchFacts,
    expect,
    found_by,
)
from optsched.worst.judging import ALL, UNSOLVED, Judge, Score, Wanted
from optsched.worst.space import Space

RIVAL_SECONDS = 5.0
"""Wall seconds of each solve of the algorithm by which a candidate is judged before its price."""


def check_tree(problem: Problem) -> None:
    """Refuse a problem without a model of its online algorithms.

    Raises:
        InputError: it has none.
    """
    if arrivals_of(problem).unfold is None or problem.sense != "minimise":
        raise InputError.of("problem", problem.name, "one with a model of its online algorithms")


class PriceJudge(Judge):
    """Judges candidates by the price of being online where jobs may stop coming."""

    def instance(self, instance: Any, wanted: Wanted = ALL) -> Score | None:
        """As of a heuristic: the ratio that no online algorithm is below, and one has."""
        self.evaluated += 1
        scenarios = endings(self.problem, instance)
        try:
            tree = Tree(self.problem, scenarios, self.options or Options())
            rival = self._rival(tree)
            if rival.max() < wanted.need:
                return Score(0.0, rival.max(), rival.max(), None, None, UNSOLVED)
            if rival.max() <= 1 + COST_TOLERANCE:  # as it is online, too, nothing is lost
                price = Interval(1.0, 1.0)
            else:
                self.solved += 1
                price, _ = tree.least_largest()
        except (InputError, ModelError) as error:
            self._fail(words(error))
            return None
        closed = price.high <= price.low * (1 + COST_TOLERANCE)
        status = (Status.OPTIMAL if closed else Status.FEASIBLE).value
        return Score(
            price.low, price.high, price.high, None, None, status, second=float(rival.mean())
        )

    def _rival(self, tree: Tree) -> Floats:
        """Ratio of ``reoptimise`` in each future: no price is more than the largest."""
        if arrivals_of(self.problem).replan is None:
            return np.full(len(tree.scenarios), np.inf)
        costs = [
            self.problem.cost(one, reoptimise(self.problem, one, time_limit=RIVAL_SECONDS))
            for one in tree.scenarios
        ]
        return np.array([c / o.low for c, o in zip(costs, tree.optima, strict=True)])


class PriceCase(Certificate):
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

    @property
    def seeds(self) -> list[int]:
        """No lots are drawn."""
        return [0]

    @property
    def sentence(self) -> str:
        """What it shows."""
        ratio = f"costs at least {self.ratio_low:.6g} times the optimum"
        futures = f"on one of {len(self.costs)} futures: jobs may stop coming at any time"
        return f"{self.problem}: every deterministic online algorithm {ratio} {futures}"


def make_price_case(
    judge: Judge,
    space: Space,
    generator: Mapping[str, Any],
    document: Any,
    *,
    search: SearchFacts | None = None,
    proof_seconds: float = PROOF_SECONDS,
) -> PriceCase:
    """The certificate of an instance; arguments are those of ``make_case``.

    Raises:
        InputError: no strategy is found on it.
    """
    chosen = judge.problem
    instance = parse(chosen.instance_type, document)
    scenarios = endings(chosen, instance)
    tree = Tree(chosen, scenarios, judge.options or Options())
    found, strategy = tree.least_largest()
    low, proof = found.low, None
    with suppress(NotProvenError, ProofError):  # the bound then rests on the solver
        form = tree.largest().compile(CONES)
        proof = find(form, found.low, seconds=proof_seconds)
        low = float(verify(form, proof) or 1.0)
    return PriceCase(
        **found_by(judge, space, generator, document, search),
        better=[json.loads(dumps(one)) for one in tree.best],
        incumbents=[one.high for one in tree.optima],
        strategy=[json.loads(dumps(one)) for one in strategy],
        costs=_costs(chosen, scenarios, strategy),
        ratio_low=low,
        ratio_high=found.high,
        proof=proof,
    )


def _costs(chosen: Problem, scenarios: list[Any], schedules: list[Any]) -> list[float]:
    return [float(chosen.cost(*pair)) for pair in zip(scenarios, schedules, strict=True)]


def check_price_case(case: PriceCase) -> Checked:
    """Derive a case against all online algorithms again: schedules, strategy, and the bound.

    The bound is the proof's where there is one, else a solver's.

    Raises:
        InputError: a problem, instance or schedule that is none.
    """
    chosen = problem(case.problem)
    scenarios = endings(chosen, parse(chosen.instance_type, case.instance))
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
    optimum: Literal["proven", "not proven here"] = "not proven here"
    low = 1.0
    if case.proof is None:
        low = tree.least_largest()[0].low
    else:
        try:
            low = float(verify(tree.largest().compile(CONES), case.proof) or 1.0)
            optimum = "proven"
        except (ProofError, InputError) as error:
            complaints.append(f"the proof: {words(error)}")
    if low < case.ratio_low * (1 - COST_TOLERANCE):
        complaints.append(f"the price is at least {low:.9g}, not {case.ratio_low:.9g}")
    high = max(c / o for c, o in zip(case.costs, case.incumbents, strict=True))
    return Checked(
        holds=not complaints,
        complaints=complaints,
        ratio_low=low,
        ratio_high=high if not complaints else None,
        optimum=optimum,
    )


def _foresight(chosen: Problem, scenarios: list[Any], strategy: list[Any]) -> list[str]:
    """Where a strategy decides otherwise in two futures before they part."""
    arrivals = arrivals_of(chosen)
    complaints = []
    for i, (one, later) in enumerate(pairwise(zip(scenarios, strategy, strict=True))):
        parting = float(np.max(arrivals.times(later[0])))
        if sorted(arrivals.decisions(*one, parting)) != sorted(arrivals.decisions(*later, parting)):
            complaints.append(f"the strategy tells future {i} from the next before {parting:g}")
    return complaints
