"""A chain of simulated annealing over instances: a pure function of its arguments."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from typing import Any

import numpy as np

from optsched.adversary.hunt import Hunt
from optsched.adversary.judging import KNOWN, Judge, Score, Wanted
from optsched.adversary.space import Key, Space
from optsched.problem import Problem

CHAINS = 4
"""Chains under way at a time, at most: so many begin equally warm."""

COUNTED = ("evaluated", "solved", "refused", "failed")
"""Counts of candidates, by a judge."""

FACTS = ("low", "high", "cost", "incumbent", "bound", "status", "second")
"""Fields of a score that a row keeps."""

NOTHING = {"document": "", "low": 0.0, "second": 0.0, "failure": "", **dict.fromkeys(COUNTED, 0)}
"""The row of a chain that found nothing."""

_FIRST = 20  # generated instances of which a chain starts from the worst
_HEAT = 0.1  # of the first generation: a ratio smaller by this share is accepted one time in e
_COLDEST = 0.002
_ASKED = 0.1  # share of candidates whose optimum is asked for although a known schedule would do
_TIE = 0.02  # weight of the second criterion: less than steps of the ratio, more than the cold
_MOST_TIE = 0.02  # what it may count at most


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
    facts = {name: getattr(score, name) for name in FACTS}
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
