"""Theorem 3 as printed and as it holds, and the dual point that proves a bound on the optimum.

At speed 1 + epsilon, kappa = 1 / (1 + epsilon). ``LP_kappa`` is (4) in continuous time without
(4e), with kappa w_j p'_j added to the cost of every chunk, p' the offline duration. The prices of
a run and its betas times kappa are a point of its dual, scaled down where rows or the cloud ask
for it; its value V is a bound: V <= LP_kappa <= f OPT(2) with
f = max(1, (3 + epsilon) / (2 (1 + epsilon))). No solver has a part in that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from formulations.preemptive.bounds import lb_alone
from formulations.preemptive.instance import Floats, Instance
from formulations.preemptive.network import problem_4_flow
from formulations.preemptive.problem_2 import problem_2_compact
from formulations.preemptive.problem_4 import problem_4_aggregated
from formulations.preemptive.storage.problem_7 import problem_7_compact
from formulations.preemptive.theorems.lemmas import PAPER, Premises, stretch
from formulations.preemptive.theorems.record import TOLERANCE, Record
from formulations.preemptive.theorems.rows import (
    cloud_rows,
    edge_beta_total,
    pieces_of_beta,
    rows,
)
from formulations.preemptive.time_indexed.grid import fast_completion
from optsched.model import Model
from optsched.problem.certificate import Certificate, StatementVerdict, at_most
from optsched.solve import solve
from optsched.solvers.options import Options
from optsched.solvers.solution import Status

LARGEST = 60_000
"""Columns of a model that is still solved for a verdict."""


@dataclass(frozen=True, eq=False)
class DualPoint:
    """A point of the dual of ``LP_kappa``."""

    scale: float
    """Factor by which the prices were multiplied until every row held."""
    beta_scale: float
    """Factor by which the betas were, kappa included."""
    value: float
    """Its objective, slots."""
    factor: float
    """f: LP_kappa <= f OPT(2)."""

    @property
    def bound(self) -> float:
        """A lower bound on OPT(2), slots."""
        return max(0.0, self.value / self.factor)


def gain(epsilon: float) -> float:
    """1 + 1 / epsilon, the factor of Theorem 3 for (4); infinite without speed augmentation."""
    return 1 + 1 / epsilon if epsilon > TOLERANCE else np.inf


def factor_for_2(instance: Instance, epsilon: float) -> float:
    """D_max (1 + 1 / epsilon), the factor of Theorem 3 for (2) as printed."""
    return float(instance.num_chunks.max()) * gain(epsilon)


def factor_for_4(instance: Instance, epsilon: float) -> float:
    """1 + 1 / epsilon, the factor of Theorem 3 for (4) as printed."""
    return gain(epsilon)


def factor(epsilon: float) -> float:
    """f(epsilon) = max(1, (3 + epsilon) / (2 (1 + epsilon)))."""
    return max(1.0, (3 + epsilon) / (2 * (1 + epsilon)))


def dual_point(record: Record, alpha: Floats) -> DualPoint:
    """The best point along the prices and betas of a run; any prices >= 0 give a valid one."""
    epsilon = record.epsilon
    edge = rows(record, alpha, since="upload", concerned="all", own=True)
    cloud = cloud_rows(record, alpha, own=True)
    paid, held = float(alpha.sum()), edge_beta_total(record) / (1 + epsilon)
    # prices alone shrink for the edge; prices and betas together for the cloud
    value = cloud.scale * (edge.scale * paid - held)
    return DualPoint(
        scale=cloud.scale * edge.scale,
        beta_scale=cloud.scale / (1 + epsilon),
        value=value,
        factor=factor(epsilon),
    )


def theorem_3(case: Premises, *, time_limit: float) -> Iterator[Certificate]:
    """The dual certificate, the corrected theorem and the printed claims."""
    record = case.record
    named = (
        ("Dual certificate", "OPT(2) >= V / f (left), V the value of a point of the dual; "
         "right: a schedule of the offline machine"),
        ("Theorem 3, corrected, flow time", "sum of alpha <= theta (1 + 1/epsilon) V"),
        ("Theorem 3, corrected", "JCT <= D_max theta (1 + 1/epsilon) f OPT(2), by the bound V / f"),
        ("Theorem 3 for (4), as printed", "sum of alpha <= (1 + 1/epsilon) OPT(4)"),
        ("Theorem 3 for (2), as printed", "JCT <= D_max (1 + 1/epsilon) OPT(2)"),
    )  # fmt: skip
    if case.alpha is None:
        yield from _not_applicable(named, "the schedule brings no prices")
        return
    if record.epsilon <= TOLERANCE:
        yield _dual_certificate(record, case.alpha, *named[0])
        why = "it is about runs at a higher speed than the offline machine's"
        yield from _not_applicable(named[1:], why)
        return
    alpha, epsilon = case.alpha, record.epsilon
    point = dual_point(record, alpha)
    yield _dual_certificate(record, alpha, *named[0])
    times = gain(epsilon)
    printed = factor_for_2(record.instance, epsilon)
    met = not case.lacking and case.cheapest_edge and case.cheapest_cloud
    lacking = case.lacking or ("" if met else "a chunk had a cheaper place")
    flow, jct, paid = stretch(record) * times, record.total_jct, float(alpha.sum())
    right = flow * point.value
    yield _at_most(*named[1], paid, right, expected=met, detail=lacking)
    right = stretch(record) * printed * point.factor * point.bound
    yield _at_most(*named[2], jct, right, expected=met, detail=lacking)
    low, high, how = optimum_of_4(record.instance, paid / times, time_limit)
    yield _bracketed(*named[3], paid, times * low, times * high, how)
    low, high, how = optimum_of_2(record.instance, point.bound, jct / printed, time_limit)
    yield _bracketed(*named[4], jct, printed * low, printed * high, how)
    if has_limits(record.instance):
        low, high, how = _optimum(
            problem_7_compact(record.instance), low, jct / printed, time_limit
        )
        yield _bracketed(
            "Theorem 3 for (7), as printed",
            "JCT <= D_max (1 + 1/epsilon) OPT(7)",
            jct,
            printed * low,
            printed * high,
            how,
        )


def _not_applicable(named: Sequence[tuple[str, str]], why: str) -> Iterator[Certificate]:
    for name, claim in named:
        yield Certificate(name, f"{PAPER}, Theorem 3", claim, "not_applicable", detail=why)


def has_limits(instance: Instance) -> bool:
    """Whether any server's storage is limited and any chunk takes some."""
    limited = np.isfinite(instance.storage_capacity).any()
    return bool(limited and np.any(instance.chunk_storage > 0))


def _dual_certificate(record: Record, alpha: Floats, name: str, claim: str) -> Certificate:
    """The bound that prices and betas prove, set against a schedule nobody can miss."""
    point = dual_point(record, alpha)
    instance = record.instance
    cloud = float(np.sum(fast_completion(instance) - instance.release_time))
    ceiling = min(cloud, _in_turn(instance))
    first = record.first_chunk.tolist()
    last = [*first[1:], len(alpha)]
    prices = point.scale * alpha
    return Certificate(
        name,
        f"{PAPER}, Theorem 3, weak duality",
        claim,
        at_most(point.bound, ceiling),
        expected=bool(np.all(alpha >= 0)),
        left=point.bound,
        right=ceiling,
        detail=f"prices scaled by {point.scale:.6g}; the run costs {record.total_jct:.6g}",
        evidence={
            "value": point.value,
            "factor": point.factor,
            "bound": point.bound,
            "alpha": [prices[a:b].tolist() for a, b in zip(first, last, strict=True)],
            "beta": [
                {**piece, "value": piece["value"] * point.beta_scale}
                for piece in pieces_of_beta(record)
            ],
        },
    )


def _in_turn(instance: Instance) -> float:
    """Total completion time of jobs run one after the other on one worker each, slots.

    Infinite if some job may run at the edge nowhere.
    """
    classes = instance.worker_classes
    if not classes.eligible.any(axis=1).all():
        return np.inf
    delay = np.where(classes.eligible, instance.upload_delay_edge[:, classes.server], np.inf)
    order = np.argsort(instance.release_time, kind="stable")
    ready = np.ceil(instance.release_time + delay.min(axis=1))[order]
    work = instance.work_slow[order].astype(float)
    before = np.cumsum(work) - work
    end = np.maximum.accumulate(ready - before) + before + work
    return float(np.sum(end - instance.release_time[order]))


def _at_most(
    name: str, claim: str, left: float, right: float, *, expected: bool, detail: str
) -> Certificate:
    verdict = at_most(left, right)
    return Certificate(
        name,
        f"{PAPER}, Theorem 3",
        f"{claim}: left <= right",
        verdict,
        expected=expected,
        left=left,
        right=right,
        detail=detail,
    )


def _bracketed(
    name: str, claim: str, left: float, low: float, high: float, how: str
) -> Certificate:
    """A comparison with an optimum that is known up to an interval."""
    verdict: StatementVerdict = "undecided"
    if at_most(left, low, 1e-6) == "holds":
        verdict, right = "holds", low
    elif at_most(left, high, 1e-6) == "fails":
        verdict, right = "fails", high
    else:
        right = low
    return Certificate(
        name,
        f"{PAPER}, Theorem 3",
        f"{claim}: left <= right",
        verdict,
        left=left,
        right=right,
        detail=how,
    )


def optimum_of_4(instance: Instance, wanted: float, time_limit: float) -> tuple[float, float, str]:
    """Bounds on OPT(4) from both sides, and how they were found.

    Args:
        instance: times are taken up to whole slots.
        wanted: a lower bound that is good enough.
        time_limit: wall seconds for each solve.
    """
    flow = problem_4_flow(instance, rates="fast")
    low = flow.bound or 0.0
    if wanted <= low:
        return low, np.inf, "against (4) with the fast speed everywhere"
    return _optimum(problem_4_aggregated(instance), low, wanted, time_limit)


def optimum_of_2(
    instance: Instance, known: float, wanted: float, time_limit: float
) -> tuple[float, float, str]:
    """Bounds on OPT(2) from both sides, and how they were found; arguments as ``optimum_of_4``.

    ``known`` is a lower bound that is known already.
    """
    low = max(known, lb_alone(instance))
    if wanted <= low:
        return low, np.inf, "against every job as if it were the only one, or the dual certificate"
    return _optimum(problem_2_compact(instance), low, wanted, time_limit)


def _optimum(
    model: Model, low: float, wanted: float, time_limit: float
) -> tuple[float, float, str]:
    if wanted <= low:
        return low, np.inf, "against a lower bound"
    if model.columns > LARGEST:
        return low, np.inf, f"{model.name} has {model.columns} columns: not solved for a verdict"
    solution = solve(model, "highs", options=Options(time_limit=time_limit))
    if solution.status is Status.INFEASIBLE:
        return np.inf, np.inf, f"{model.name} is infeasible"
    low = max(low, solution.bound or 0.0)
    high = np.inf if solution.objective is None else solution.objective
    return low, high, f"against {model.name}, solved by {solution.solver}: {solution.status}"


def theorem_4(record: Record) -> Iterator[Certificate]:
    """How often (5) is evaluated, against the printed O(J H K_max).

    H counts the places of a job, the cloud included; K_max is the most chunks that wait or run at
    one worker when a job arrives.
    """
    instance, classes = record.instance, record.instance.worker_classes
    release = instance.release_time[record.job]
    most = 1
    for _, chunks, _ in record.at_workers():
        arrived, left = np.sort(release[chunks]), np.sort(record.completion[chunks])
        pending = np.arange(1, len(chunks) + 1) - np.searchsorted(left, arrived, side="right")
        most = max(most, int(pending.max()))
    places = classes.eligible @ classes.size + 1
    looked = float(instance.num_chunks @ places)
    printed = float(instance.jobs * places.max() * most)
    longest = float(instance.num_chunks.max())
    said = "values of (5) that Algorithm 2 looks at, one per chunk and place"
    for name, right, expected in (
        ("as printed", printed, False),
        ("corrected", longest * printed, True),
    ):
        factor = "J H K_max" if not expected else "D_max J H K_max"
        yield Certificate(
            f"Theorem 4, {name}",
            f"{PAPER}, Theorem 4",
            f"{said}, <= {factor}: left <= right",
            at_most(looked, right),
            expected=expected,
            left=looked,
            right=right,
            where={"K_max": most},
            detail="" if expected else "the loop over the chunks of a job is not counted",
        )
