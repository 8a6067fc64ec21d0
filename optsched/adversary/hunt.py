"""What a search for adversarial instances looks for: a heuristic, a problem, a generator."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from optsched.adversary.judging import ANY, SEEDS, Judge, draws_lots
from optsched.adversary.online_bound import OnlineBoundJudge
from optsched.adversary.space import Space
from optsched.evaluation.code_digest import code_versions, generator_versions, method_versions
from optsched.evaluation.runs import MethodSpec
from optsched.problem import Problem
from optsched.solvers.options import Options
from optsched.study.plan import fingerprint, found

TIME_LIMIT = 5.0
"""Seconds of a solve; an optimum that is not proven by then counts by its certain end."""


@dataclass(frozen=True)
class Hunt:
    """What a search looks for, and where."""

    problem: str | Problem
    heuristic: str
    generator: Mapping[str, Any]
    """Options of the generator."""
    reference: str | None = None
    time_limit: float = TIME_LIMIT
    runs: int | None = None
    """Runs of the heuristic on a candidate; None: ``SEEDS`` if it is randomised, else one."""

    def judge(self, seeds: Sequence[int]) -> Judge:
        """Who judges candidates."""
        chosen = found(self.problem)
        method, _ = chosen.formulation(self.reference or chosen.reference)
        usual = Options(time_limit=self.time_limit, profile="tiny")
        supported = {n: v for n, v in vars(usual).items() if n in method.supports}
        limits = Options(**supported)
        kind = OnlineBoundJudge if self.heuristic == ANY else Judge
        return kind(
            chosen,
            self.heuristic,
            reference=self.reference,
            options=limits,
            seeds=seeds,
            generator=self.generator,
        )

    def seeds(self) -> range:
        """Seeds of the heuristic's runs on a candidate: several if it is randomised."""
        if self.runs is not None:
            return range(self.runs)
        lots = self.heuristic != ANY and _lots(*self._known(), self.heuristic)
        return range(SEEDS if lots else 1)

    def space(self) -> Space:
        """Where it looks."""
        return _space(*self._known())

    def _known(self) -> tuple[_Known, str]:
        """What a process that has several chains makes once."""
        by_name = isinstance(self.problem, str)
        known = _Known(str(self.problem) if by_name else self.code(), found(self.problem))
        return known, json.dumps(dict(self.generator), sort_keys=True)

    def code(self) -> str:
        """Digest of what the results depend on beside the arguments."""
        chosen = found(self.problem)
        own = [] if self.heuristic == ANY else [MethodSpec("heuristic", self.heuristic)]
        methods = [
            *own,
            MethodSpec("exact", self.reference or chosen.reference),
            *(MethodSpec("bound", one.name) for one in chosen.bounds.values() if one.quick),
        ]
        versions = [method_versions(chosen, method) for method in methods]
        if self.heuristic == ANY and chosen.arrivals is not None:
            parts = (chosen.arrivals.unfold, chosen.arrivals.replan)
            versions.append(code_versions(filter(None, parts)))
        return fingerprint([generator_versions(chosen), versions])


@dataclass(frozen=True)
class _Known:
    """A problem by its name, or by what results depend on."""

    name: str
    problem: Problem = field(compare=False)


@lru_cache(maxsize=4)
def _space(known: _Known, generator: str) -> Space:
    return Space(known.problem, json.loads(generator))


@lru_cache(maxsize=4)
def _lots(known: _Known, generator: str, heuristic: str) -> bool:
    return draws_lots(known.problem, heuristic, _space(known, generator))
