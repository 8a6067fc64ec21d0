"""A small model with a known answer, and how an answer is judged."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from optsched.model import Model
from optsched.solvers.solution import Solution, Status


@dataclass(frozen=True)
class ConformanceCase:
    """A named model whose answer is known by construction."""

    name: str
    build: Callable[[], Model]
    status: Status = Status.OPTIMAL
    """Optimal, infeasible or unbounded."""
    optimum: float | None = None
    """Objective value at the optimum."""
    needs: frozenset[str] = frozenset()
    """Kinds of block a back end has to take natively, as no linear rows say the same."""
    countable: bool = True
    """Whether the model has so few points that trying all of them confirms the answer."""
    scale: float = 1.0
    """Size of the costs: values are right to within a tolerance of this, or of the optimum."""
    must_prove: bool = True
    """Whether ending without a proof is wrong for a back end that proves."""

    def __str__(self) -> str:
        return self.name


CASES: dict[str, ConformanceCase] = {}
"""Every case by name; modules of the catalogue fill it."""


def case(
    optimum: float | None = None,
    *,
    status: Status = Status.OPTIMAL,
    needs: str = "",
    countable: bool = True,
) -> Callable[[Callable[[], Model]], Callable[[], Model]]:
    """Register a function that builds a model; its name, spaced, names the case."""

    def register(build: Callable[[], Model]) -> Callable[[], Model]:
        name = build.__name__.replace("_", " ")
        if name in CASES:
            raise ValueError(f"case {name!r} exists already")
        kinds = frozenset(needs.split())
        CASES[name] = ConformanceCase(name, build, status, optimum, kinds, countable)
        return build

    return register


def complaint(
    model: Model,
    status: Status,
    optimum: float | None,
    answer: Solution,
    tolerance: float,
    scale: float = 1.0,
) -> str:
    """What is false in an answer, in words; empty: everything it claims is true.

    An answer that proves less than it might is not false.

    Args:
        model: what was solved.
        status: what is true: optimal, infeasible or unbounded.
        optimum: the true optimum if there is one.
        answer: what was said.
        tolerance: relative to ``max(scale, |optimum|)``.
        scale: size of the costs.
    """
    if answer.status in (Status.ERROR, Status.DISAGREEMENT):
        return f"{answer.status}: {answer.message}"
    claims = {
        Status.INFEASIBLE: (Status.INFEASIBLE,),
        Status.UNBOUNDED: (Status.UNBOUNDED,),
        Status.INFEASIBLE_OR_UNBOUNDED: (Status.INFEASIBLE, Status.UNBOUNDED),
        Status.OPTIMAL: (Status.OPTIMAL,),
    }
    if answer.status in claims and status not in claims[answer.status]:
        return f"claims {answer.status}, the model is {status} ({optimum})"
    if answer.has_point:
        if status is Status.INFEASIBLE:
            return "has a point for an infeasible model"
        broken = model.violations(answer.values)
        if broken:
            return f"its point breaks {broken}"
        if not math.isclose(
            model.value(answer.values),
            answer.objective or 0.0,
            rel_tol=1e-9,
            abs_tol=1e-9 * min(1.0, scale),
        ):
            return f"its point is worth {model.value(answer.values)}, not {answer.objective}"
    elif answer.status in (Status.OPTIMAL, Status.FEASIBLE):
        return f"{answer.status} without a point"
    if optimum is None:
        return ""
    return _false_value(model, optimum, answer, tolerance * max(scale, abs(optimum)))


def _false_value(model: Model, optimum: float, answer: Solution, allowed: float) -> str:
    sign = 1.0 if model.maximise else -1.0
    if answer.objective is not None:
        if sign * (answer.objective - optimum) > allowed:
            return f"{answer.objective} is better than the optimum {optimum}"
        if answer.status is Status.OPTIMAL and sign * (optimum - answer.objective) > allowed:
            return f"calls {answer.objective} optimal, the optimum is {optimum}"
    if answer.bound is not None and sign * (optimum - answer.bound) > allowed:
        return f"bounds the optimum {optimum} by {answer.bound}"
    return ""


class Word(StrEnum):
    """What came of one case on one back end."""

    RIGHT = "right"
    REFUSED = "refused"
    """As its features say, in words, before solving."""
    UNPROVEN = "unproven"
    """Everything it said is true, but it did not say all."""
    WRONG = "wrong"
    """It said something false, failed, refused what it should take or took what it should not."""


@dataclass(frozen=True)
class ConformanceResult:
    """One case on one back end."""

    case: str
    solver: str
    word: Word
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.solver}: {self.case}: {self.word}" + (f": {self.detail}" * bool(self.detail))


@dataclass(frozen=True)
class ConformanceReport:
    """All results on one back end."""

    solver: str
    native: frozenset[str]
    results: tuple[ConformanceResult, ...]

    def of(self, word: Word) -> list[ConformanceResult]:
        """The results of one kind."""
        return [v for v in self.results if v.word is word]

    @property
    def passed(self) -> bool:
        """Whether nothing was wrong."""
        return bool(self.results) and not self.of(Word.WRONG)

    def __str__(self) -> str:
        count = Counter(v.word for v in self.results)
        words = ", ".join(f"{count[word]} {word}" for word in Word)
        native = ", ".join(sorted(self.native)) or "nothing but linear rows"
        lines = [
            f"{self.solver} (takes natively: {native})",
            f"{len(self.results)} cases: {words}",
        ]
        lines += [f"  {v}" for word in (Word.WRONG, Word.UNPROVEN, Word.REFUSED)
                  for v in self.of(word)]  # fmt: skip
        return "\n".join(lines)
