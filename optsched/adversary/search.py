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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from optsched.adversary.chain import CHAINS, COUNTED, FACTS, NOTHING, chain, chain_of
from optsched.adversary.hunt import TIME_LIMIT, Hunt
from optsched.adversary.judging import ANY, Score, strange
from optsched.adversary.online_bound import check_tree
from optsched.errors import InputError
from optsched.evaluation.heuristic_run import with_heuristics
from optsched.evaluation.runs import check_exact
from optsched.instances.document import dumps
from optsched.parallel.local import Processes, Serial
from optsched.problem import Heuristic, Problem
from optsched.study.engine import Engine
from optsched.study.layout import PlannedInstance
from optsched.study.plan import Plan, found
from optsched.study.store import Store
from optsched.study.sweep import Sweep, add_sweep, case_of

LENGTH, SHORT = 200, 30
"""Candidates of a chain, at most, and of the first ones: early, beginning anew counts more."""


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
        score=Score(**{name: worst_row[name] for name in FACTS}),
        failure=next((row["failure"] for row in rows if row["failure"]), ""),
        seconds=seconds,
        history=history,
        **total,
    )
