"""Search for instances on which a heuristic does badly, by chains of simulated annealing.

Up to ``CHAINS`` chains run at a time. A chain is a pure function of its arguments. It starts from
the results of all chains except the last ``CHAINS`` before it, so no process waits for another, and
the result depends on seed and budget but not on the number of processes. Chains are the runs of a
study: each is kept when it ends, and the same search, or a longer one, continues from there.
"""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from optsched.adversary.judging import ANY, KNOWN, SEEDS, Judge, Score, Wanted, draws_lots, strange
from optsched.adversary.online_bound import OnlineBoundJudge, check_tree
from optsched.adversary.space import Key, Space
from optsched.errors import InputError
from optsched.evaluation.code_digest import code_versions, generator_versions, method_versions
from optsched.evaluation.heuristic_run import with_heuristics
from optsched.evaluation.runs import MethodSpec, check_exact
from optsched.instances.document import dumps
from optsched.parallel.local import Processes, Serial
from optsched.problem import Heuristic, Problem
from optsched.solvers.options import Options
from optsched.study.engine import Engine
from optsched.study.layout import PlannedInstance
from optsched.study.plan import Plan, fingerprint, found
from optsched.study.store import Store
from optsched.study.sweep import Sweep, add_sweep, case_of

CHAINS = 4
"""Chains under way at a time, at most."""

LENGTH, SHORT = 200, 30
"""Candidates of a chain, at most, and of the first ones: early, beginning anew counts more."""

TIME_LIMIT = 5.0
"""Seconds of a solve; an optimum that is not proven by then counts by its certain end."""

_FIRST = 20  # generated instances of which a chain starts from the worst
_HEAT = 0.1  # of the first generation: a ratio smaller by this share is accepted one time in e
_COLDEST = 0.002
_ASKED = 0.1  # share of candidates whose optimum is asked for although a known schedule would do
COUNTED = ("evaluated", "solved", "refused", "failed")
"""Counts of candidates, by a judge."""

NOTHING = {"document": "", "low": 0.0, "second": 0.0, "failure": "", **dict.fromkeys(COUNTED, 0)}
"""The row of a chain that found nothing."""

_FACTS = ("low", "high", "cost", "incumbent", "bound", "status", "second")  # of a score, kept
_TIE = 0.02  # weight of the second criterion: less than steps of the ratio, more than the cold
_MOST_TIE = 0.02  # what it may count at most


@dataclass(frozen=True)
class Search:
    """What came of a search."""

    document: Any
    """The worst instance found, as decoded JSON."""
    score: Score
    evaluated: int
    """Candidates on which the heuristic ran."""
    solved: int
    """Candidates for which the optimum was computed."""
    refused: int
    """Candidates that are no instances."""
    failed: int
    """Candidates on which the heuristic failed, or the exact method found nothing."""
    failure: str
    """What the first of these says."""
    seconds: float
    history: Sequence[tuple[int, float]] = ()
    """Candidates so far, and the worst ratio until then."""
    interrupted: bool = False
    """Whether it was stopped before its end."""


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


def adversarial(
    heuristic: str | Heuristic | Callable[..., Any],
    generator: Mapping[str, Any] | None = None,
    *,
    problem: str | Problem | None = None,
    evaluations: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    reference: str | None = None,
    time_limit: float = TIME_LIMIT,
    runs: int | None = None,
    instance: Any = None,
    workers: int = 1,
    store: Store | None = None,
    progress: Callable[[Search], None] | None = None,
) -> Search:
    """Search for an instance on which a heuristic's ratio is large.

    The ratio found is a lower bound on the worst ratio. Ctrl-C ends the search with what its
    finished chains found.

    Args:
        heuristic: "problem.name" with options, or "name" beside ``problem``; a ``Heuristic``, a
            function (instance, rng) -> schedule, or a class of policies; ``any_online``
            stands for every online algorithm if jobs may stop coming: the ratio is then the online
            lower bound.
        generator: options of the problem's generator, whose instances span the space.
        evaluations: number of candidates; the result is then the same for any number of workers.
        problem: its name, or the problem itself; None: the heuristic's name begins with it.
        seconds: wall time to spend if ``evaluations`` is None.
        seed: of the search.
        reference: formulation ratios refer to; None: the problem's.
        time_limit: seconds of a solve.
        runs: of the heuristic on a candidate, of which the mean counts; None: several if
            it is randomised, else one.
        instance: to begin with; None: generated ones.
        workers: processes.
        store: keeps finished chains, so that a search can continue; None: nothing is kept.
        progress: called after every chain.

    Raises:
        InputError: a name or option that is not known, a budget below one, or no instance at all
            on which heuristic and reference have a ratio.
        KeyboardInterrupt: before anything was found.

    Example:
        >>> found = adversarial("drp.r_dr", {"jobs": 2}, evaluations=4)
        >>> found.score.low >= 1.0
        True
    """
    if problem is None:
        problem, heuristic = _named(heuristic)
    hunt = replace(_hunt(problem, heuristic, generator or {}, reference, time_limit), runs=runs)
    if (evaluations is None) == (seconds is None):
        raise InputError.of("evaluations", evaluations, "either evaluations or seconds")
    if evaluations is not None and evaluations < 1:
        raise InputError.of("evaluations", evaluations, "an integer >= 1")
    if seconds is not None and not 0 < seconds < math.inf:
        raise InputError.of("seconds", seconds, "a finite number > 0")
    first = "" if instance is None else _first(hunt, instance)
    began = time.monotonic()
    with Store.in_memory() if store is None else nullcontext(store) as kept:
        best: Search | None = None
        try:
            for best in _chains(hunt, evaluations, seconds, seed, workers, kept, began, first):
                if progress is not None:
                    progress(best)
        except KeyboardInterrupt:
            if best is None:
                raise
            best = replace(best, interrupted=True)
    assert best is not None
    return best


def _named(heuristic: str | Heuristic | Callable[..., Any]) -> tuple[str, str]:
    """Return the problem's name and the rest of "problem.name(option=value)"."""
    name, dot, call = str(heuristic).partition(".")
    if not isinstance(heuristic, str) or not dot or not call:
        wanted = "problem.name or problem.name(option=value), or a problem beside it"
        raise InputError.of("heuristic", heuristic, wanted)
    return name, call


def _hunt(
    problem: str | Problem,
    heuristic: str | Heuristic | Callable[..., Any],
    generator: Mapping[str, Any],
    reference: str | None,
    time_limit: float,
) -> Hunt:
    announced = found(problem)
    if heuristic == ANY:
        check_tree(announced)
        chosen, call = announced, ANY
    else:
        chosen, (call,) = with_heuristics(announced, [heuristic])
        chosen.heuristic(call)
    chosen.generator_call(generator)
    check_exact(chosen, reference or chosen.reference, None, None)
    where = problem if chosen is announced else chosen
    return Hunt(where, call, dict(generator), reference, time_limit)


def _chains(
    hunt: Hunt,
    evaluations: int | None,
    seconds: float | None,
    seed: int,
    workers: int,
    store: Store,
    began: float,
    first: str,
) -> Iterator[Search]:
    """Search on; what is known whenever a chain has ended before which all others have."""
    measure = chain if isinstance(hunt.problem, str) else partial(chain_of, hunt.problem)
    common = {
        "heuristic": hunt.heuristic,
        "generator": json.dumps(hunt.generator, sort_keys=True),
        "reference": hunt.reference or "",
        "time_limit": hunt.time_limit,
        "seed": seed,
        "code": hunt.code(),
    }
    if isinstance(hunt.problem, str):
        common["problem"] = hunt.problem
    common |= {} if hunt.runs is None else {"runs": hunt.runs}
    common |= {} if seconds is None else {"seconds": seconds}
    name, plan = found(hunt.problem).name, Plan()
    step = add_sweep(plan, name, Sweep("adversarial", lambda scale: (), measure), "quick")
    rows: list[Mapping[str, Any]] = []
    ended: dict[int, list[dict[str, Any]]] = {}
    left = evaluations

    def ask(add: Callable[[PlannedInstance], None]) -> None:
        """Ask for chains whose beginnings are known."""
        nonlocal left
        while len(plan.cases) < len(rows) + CHAINS and left != 0:
            number = len(plan.cases)
            length = min(LENGTH, SHORT * (1 + number // CHAINS))
            if seconds is not None:  # the last ones must not take long
                pace = sum(row["evaluated"] for row in rows) / (time.monotonic() - began)
                length = max(SHORT, min(length, int(pace * seconds) // (8 * CHAINS)))
            elif left is not None:
                length = min(length, left)
                left -= length
            start = _start(rows[: max(0, number + 1 - CHAINS)], number, first)
            task = {**common, "number": number, "length": length, "start": start}
            add(case_of(name, task, 0))

    ask(plan.cases.append)
    engine = Engine(plan, store, Serial() if workers == 1 else Processes(workers))
    with closing(engine.finished_instances()) as steps:
        for one in steps:
            case = plan.cases[one.number]
            ended[one.number] = store.rows(step.run(case.recipe, case.seed)) or []
            while len(rows) in ended:
                rows += ended[len(rows)] or [NOTHING]
                result = _result(rows, time.monotonic() - began)
                if result is not None:
                    yield result
                    if math.isinf(result.score.low):
                        return  # nothing is worse
            if seconds is not None and time.monotonic() - began >= seconds:
                break
            ask(engine.add)
    if _result(rows, 0.0) is None:
        said = next((f": {row['failure']}" for row in rows if row["failure"]), "")
        allowed = f"a ratio on some generated instance{said}"
        raise InputError.of("heuristic", hunt.heuristic, allowed)


def _first(hunt: Hunt, instance: Any) -> str:
    """An instance to begin with, as JSON.

    Raises:
        InputError: it is none of the problem, or the generator could not make it.
    """
    chosen = found(hunt.problem)
    if not isinstance(instance, chosen.instance_type):
        raise InputError.of("instance", instance, f"an instance of {chosen.name}")
    if outside := strange(chosen, instance, hunt.generator):
        allowed = f"one that the generator could make with these options: {', '.join(outside)}"
        raise InputError.of("instance", "(given)", allowed)
    return dumps(instance)


def _start(rows: Sequence[Mapping[str, Any]], number: int, first: str) -> str:
    """What a chain begins from: the best so far, each once; empty for a fresh beginning."""
    order = sorted(rows, key=lambda row: (-row["low"], -row["second"]))
    best = list(dict.fromkeys(row["document"] for row in order if row["document"]))
    place = number % CHAINS
    if place == CHAINS - 1:
        return ""
    return best[place] if place < len(best) else "" if best else first


def _result(rows: Sequence[Mapping[str, Any]], seconds: float) -> Search | None:
    ranked = [row for row in rows if row["document"]]
    if not ranked:
        return None
    worst_row = max(ranked, key=lambda row: (row["low"], row["second"]))
    history, most, count = [], 0.0, 0
    for row in rows:
        count += row["evaluated"]
        most = max(most, row["low"])
        history.append((count, most))
    total = {name: sum(row[name] for row in rows) for name in COUNTED}
    return Search(
        document=json.loads(worst_row["document"]),
        score=Score(**{name: worst_row[name] for name in _FACTS}),
        failure=next((row["failure"] for row in rows if row["failure"]), ""),
        seconds=seconds,
        history=history,
        **total,
    )


# a chain, in whatever process


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


def chain(problem: str, **arguments: Any) -> list[dict[str, Any]]:
    """One chain of a search on an announced problem; see ``chain_of``."""
    return chain_of(problem, **arguments)


def chain_of(
    problem: str | Problem,
    *,
    heuristic: str,
    generator: str,
    reference: str,
    time_limit: float,
    seed: int,
    number: int,
    length: int,
    start: str,
    code: str,
    runs: int | None = None,
    seconds: float = math.inf,
) -> list[dict[str, Any]]:
    """One chain of simulated annealing.

    Args:
        problem: whose instances.
        heuristic: name and options.
        generator: options as JSON.
        reference: formulation; empty: the problem's.
        time_limit: of a solve.
        seed: of the search.
        number: of the chain; the later, the colder it begins.
        length: candidates.
        start: a document as JSON; empty: the worst of some generated ones.
        code: that is to be run; only tells results of other code apart.
        runs: of the heuristic on a candidate; None: several if it is randomised.
        seconds: after which no further candidate is tried, once one has a ratio.

    Returns:
        One row: the worst found, its score and counts.
    """
    until = time.monotonic() + seconds
    hunt = Hunt(problem, heuristic, json.loads(generator), reference or None, time_limit, runs)
    rng = np.random.default_rng([seed, number])
    judge, space = hunt.judge(hunt.seeds()), hunt.space()
    heat = max(_COLDEST, _HEAT / (1 + number // CHAINS))
    best = _anneal(judge, space, json.loads(start) if start else None, length, heat, rng, until)
    row = {name: getattr(judge, name) for name in (*COUNTED, "failure")}
    if best is None:
        return [NOTHING | row]
    document, score = best
    facts = {name: getattr(score, name) for name in _FACTS}
    return [{**row, "document": json.dumps(document), **facts}]


def _anneal(
    judge: Judge,
    space: Space,
    document: Any | None,
    length: int,
    heat: float,
    rng: np.random.Generator,
    until: float,
) -> tuple[Any, Score] | None:
    """The worst candidate met, and its score."""
    best: tuple[Any, Score] | None = None
    now: Score | None = None
    dull: Counter[Key] = Counter()
    sampled = _FIRST if document is None else 1
    for count in range(length):
        if best is not None and time.monotonic() > until:
            break
        need = -math.inf
        if count >= sampled and now is not None:
            temperature = heat * (_COLDEST / heat) ** (count / length)
            need = _energy(now) + temperature * math.log(max(float(rng.random()), 1e-300))
            candidate = space.mutate(document, rng, dull)
        elif sampled == 1 and count == 0:
            candidate = document
        else:
            candidate = space.documents[rng.integers(len(space.documents))]
            need = -math.inf if now is None else _energy(now)
        known = None if now is None or rng.random() < _ASKED else now.schedule
        beaten = (0.0, 0.0) if best is None else best[1].rank
        score = judge.document(candidate, Wanted(math.exp(need - _MOST_TIE), known, beaten))
        if score is not None and now is not None and count >= sampled:
            same = (score.cost, score.second) == (now.cost, now.second)
            for changed in space.changed(document, candidate):
                dull[changed] = dull[changed] + 1 if same else dull[changed] // 2
        if score is None or score.low <= 0:
            continue
        if best is None or score.rank > best[1].rank:
            best = candidate, score
        if now is None or _energy(score) >= need:
            document, now = candidate, score
        if math.isinf(score.low):
            break  # nothing is worse
    if best is not None and best[1].status == KNOWN:
        solved = judge.settled(*best)
        best = best if solved is None else (best[0], solved)
    return best


def _energy(score: Score) -> float:
    """What annealing climbs: the logarithm of the ratio, ties told apart."""
    if not (0 < score.second < math.inf):
        return math.log(score.low)
    return math.log(score.low) + max(-_MOST_TIE, min(_MOST_TIE, _TIE * math.log(score.second)))
