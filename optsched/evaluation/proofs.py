"""Proofs of optima: a bound that no schedule beats, and a schedule that reaches it."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from optsched.errors import InputError
from optsched.instances.document import dumps, parse
from optsched.model import Model
from optsched.problem import COST_TOLERANCE, Problem
from optsched.problem.methods import Formulation
from optsched.problem.violation import Violation
from optsched.proof import NotProvenError, find, verify
from optsched.solvers.answer import Answer
from optsched.solvers.options import Options
from optsched.solvers.solution import Status

CONES = frozenset({"rotated_cone"})
"""Blocks that a proof can speak of as they are."""


def proven_by(problem: Problem, call: str) -> list[str]:
    """The formulations, with options, of whose models a proof of this one's answers may be.

    Raises:
        InputError: an exact method for something else than the problem's optimum.
    """
    chosen, _ = problem.formulation(call)
    own = isinstance(chosen, Formulation)
    if not own and (chosen.relaxation or not problem.proof_model):
        raise InputError.of("--proof", call, "a formulation that has a model to prove")
    first = [] if own or not problem.proof_relaxation else [problem.proof_relaxation]
    return [*first, call if own else problem.proof_model]


class Proven(NamedTuple):
    """What was proven of an optimum, and verified."""

    bound: float
    nodes: int


def proven_bound(
    problem: Problem, call: str, instance: Any, claim: float, seconds: float | None = None
) -> Proven:
    """The bound that a proof of an optimum shows, the model made anew to verify it.

    Args:
        problem: the problem.
        call: the formulation that was solved, with its options.
        instance: what was solved.
        claim: the optimum.
        seconds: wall time that finding it may take.

    Raises:
        NotProvenError: no proof was found in time.
        InputError: the formulation has no model.
        ProofError: the model has blocks a proof cannot speak of.
    """
    found = _found(problem, call, instance, claim, seconds)
    bound, _ = _verified(problem, instance, found)
    return Proven(float(bound), nodes(found))


def nodes(document: Mapping[str, Any]) -> int:
    """The nodes of a proof, those of its parts and of its leaves' parts included."""
    own = document.get("nodes", [])
    return len(own) + sum(nodes(part) for one in [document, *own] for part in one.get("parts", ()))


def _found(
    problem: Problem, call: str, instance: Any, claim: float | None, seconds: float | None
) -> dict[str, Any]:
    """The proof, or one of each part of the instance where their optima add up to the claim.

    Raises:
        NotProvenError: no proof was found in time.
    """
    deadline = time.perf_counter() + (math.inf if seconds is None else seconds)
    models = proven_by(problem, call)
    parts = problem.proof_parts(instance) if problem.proof_parts and call not in models else []
    if len(parts) > 1 and claim is not None:
        optima = []
        for part in parts:
            left = None if seconds is None else max(deadline - time.perf_counter(), 1e-3)
            solution = problem.solve(call, part, options=Options(time_limit=left)).solution
            optima.append(solution.objective if solution.status is Status.OPTIMAL else None)
        known = [optimum for optimum in optima if optimum is not None]
        apart = abs(math.fsum(known) - claim)
        if len(known) == len(parts) and apart <= COST_TOLERANCE * max(1.0, abs(claim)):
            pairs = zip(parts, optima, strict=True)
            return {"parts": [_one(problem, models, *pair, deadline) for pair in pairs]}
    return _one(problem, models, instance, claim, deadline)


def _one(
    problem: Problem, models: list[str], instance: Any, claim: float | None, deadline: float
) -> dict[str, Any]:
    """The proof by the first of the models that has one."""
    *others, last = models
    for by in others:
        with suppress(NotProvenError):
            return _by(problem, by, instance, claim, deadline)
    return _by(problem, last, instance, claim, deadline)


def _by(
    problem: Problem, call: str, instance: Any, claim: float | None, deadline: float
) -> dict[str, Any]:
    """The proof by one model, found by the prices of what ties its parts together, if any does."""
    form, (formulation, _) = _form(problem, call, instance), problem.formulation(call)
    tying = formulation.tying if isinstance(formulation, Formulation) else ()
    left = deadline - time.perf_counter()
    return {"formulation": call, **find(form, claim, tying=tying, seconds=left)}


def _verified(
    problem: Problem, instance: Any, document: Mapping[str, Any]
) -> tuple[Fraction, list[str]]:
    """The bound that a proof, or those of all parts, show, and the formulations they are of.

    Raises:
        InputError: a formulation that is not known; not a proof of each part; a model without
            points.
        ProofError: a proof does not hold.
    """
    proofs: Any = [document]
    instances: Sequence[Any] = [instance]
    if "parts" in document:
        proofs = document["parts"]
        instances = problem.proof_parts(instance) if problem.proof_parts else []
        each = isinstance(proofs, list) and all(isinstance(one, Mapping) for one in proofs)
        if not each or not len(proofs) == len(instances) > 0:
            raise InputError.of("parts", proofs, f"a proof of each of {len(instances)} parts")
    total, calls = Fraction(0), []
    for part, proof in zip(instances, proofs, strict=True):
        calls.append(str(proof.get("formulation")))
        bound = verify(_form(problem, calls[-1], part), proof)
        if bound is None:
            raise InputError.of("bound", None, "a number, as there is a schedule")
        total += bound
    return total, calls


def _form(problem: Problem, call: str, instance: Any) -> Any:
    formulation, options = problem.formulation(call)
    if not isinstance(formulation, Formulation):
        raise InputError.of("formulation", call, "one that has a model")
    model: Model = formulation.build(instance, **options)
    return model.compile(CONES)


def prove(
    problem: Problem, call: str, instance: Any, answer: Answer, seconds: float | None = None
) -> dict[str, Any]:
    """The document that proves an optimal answer, its schedule included.

    Args:
        problem: the problem.
        call: the formulation that was solved, with its options.
        instance: what was solved.
        answer: what came of it.
        seconds: wall time it may take.

    Raises:
        NotProvenError: the answer is not optimal, or no proof was found in time.
        InputError: the formulation has no model.
        ProofError: the model has blocks a proof cannot speak of.
    """
    solution = answer.solution
    if solution.status is not Status.OPTIMAL or answer.schedule is None:
        raise NotProvenError(f"no optimal schedule to prove: the solve ended {solution.status}")
    proof = _found(problem, call, instance, solution.objective, seconds)
    return {**proof, "problem": problem.name, "schedule": json.loads(dumps(answer.schedule))}


@dataclass(frozen=True)
class ProofVerdict:
    """What a proof that holds says, and what the paper's checker says of its schedule."""

    bound: Fraction
    """What no point of the formulation's model is better than."""
    formulation: str
    of_the_problem: bool
    """Whether no schedule of the problem is better than all points of that model."""
    cost: float
    violations: list[Violation]
    interpretation: str = ""
    """How the model takes the instance: see ``Problem.interpretation``."""

    @property
    def closed(self) -> bool:
        """Whether the schedule is feasible and as good as the bound allows."""
        if self.violations or not math.isfinite(self.cost):
            return False
        apart = abs(Fraction(self.cost) - self.bound)
        return apart <= COST_TOLERANCE * max(1.0, abs(self.cost))

    @property
    def rounded_bound(self) -> float:
        """The bound as a number of the machine; infinite if it is beyond all of them."""
        try:
            return float(self.bound)
        except OverflowError:
            return math.inf if self.bound > 0 else -math.inf

    def sentence(self, sense: str) -> str:
        """The verdict in words."""
        what = "schedule" if self.of_the_problem else f"point of {self.formulation}"
        word = "less" if sense == "minimise" else "more"
        claim = f"proven: no {what} costs {word} than {self.rounded_bound:.12g}"
        if sense != "minimise":
            claim = claim.replace("costs more", "is worth more")
        if self.interpretation:
            claim = f"{claim} ({self.interpretation})"
        if self.violations:
            return f"{claim}, but the schedule breaks ({self.violations[0].constraint})"
        verb = "costs" if sense == "minimise" else "is worth"
        if not self.closed:
            return f"{claim}, but the schedule {verb} {self.cost:.12g}"
        return f"{claim}, and this one {verb} {self.cost:.12g}"


def check_proof(problem: Problem, instance: Any, document: Mapping[str, Any]) -> ProofVerdict:
    """Check a proof and its schedule against the instance: the model is made anew from it.

    Raises:
        InputError: a document without a schedule, or of a formulation that is not known.
        ProofError: the proof does not hold.
    """
    bound, calls = _verified(problem, instance, document)
    schedule = parse(problem.schedule_type, document.get("schedule"))
    return ProofVerdict(
        bound,
        " and ".join(calls),
        {*calls} <= {problem.proof_relaxation, problem.proof_model or problem.reference},
        problem.cost(instance, schedule),
        problem.check(instance, schedule, **problem.reference_check),
        problem.interpretation(instance),
    )
