"""What the paper says of AerialEdge's deployment, evaluated on one instance and one schedule.

The paper proves nothing; it states that the closest deployment is taken (Algorithm 2) and that the
fewest nodes are used (23), and it uses one identity of its metrics.
"""

from __future__ import annotations

import math

from formulations.aerialedge.bounds import lower_bound
from formulations.aerialedge.check import check, cost, served_units
from formulations.aerialedge.instance import Instance
from formulations.aerialedge.problem_ae1 import closest_feasible
from formulations.aerialedge.problem_ae3 import relaxation_bound
from formulations.aerialedge.schedule import Schedule
from formulations.aerialedge.vector_packing import aggregate
from optsched.problem.certificate import Certificate, at_most, feasibility

PAPER = "Awada et al."


def certify(instance: Instance, schedule: Schedule) -> list[Certificate]:
    """Algorithm 2, objective (23) and the identity behind Figures 4 and 5."""
    violations = check(instance, schedule, partial=schedule.partial)
    found = [feasibility(f"{PAPER}, (24) to (26)", violations)]
    if violations:
        return found
    return [*found, _closest(instance, schedule), *_fewest(instance, schedule),
            _identity(instance, schedule)]  # fmt: skip


def _closest(instance: Instance, schedule: Schedule) -> Certificate:
    wanted = closest_feasible(instance)
    return Certificate(
        "Closest deployment", f"{PAPER}, Algorithm 2",
        "the first deployment in order of travel on which all tasks can be packed is taken",
        "holds" if schedule.deployment == wanted else "fails",
        left=float(schedule.deployment), right=float(wanted),
    )  # fmt: skip


def _fewest(instance: Instance, schedule: Schedule) -> list[Certificate]:
    """Weight opened against what any packing of all tasks on that deployment must open."""
    claim = "no packing of all tasks there opens less: left <= right"
    name, source = "Fewest nodes", f"{PAPER}, (23)"
    taken_in_turns = schedule.phase.any() or not schedule.placed.all()
    if taken_in_turns:
        why = "tasks take turns, or some are left out: fewer nodes may do"
        return [Certificate(name, source, claim, "not_applicable", detail=why)]
    packing = aggregate(instance, schedule.deployment)
    opened = cost(instance, schedule)
    best = max(lower_bound(packing), relaxation_bound(packing)) * packing.weight_unit
    return [
        Certificate(
            "Bounds on nodes", source, "every bound <= weight opened: left <= right",
            at_most(best, opened), expected=True, left=best, right=opened,
        ),
        Certificate(
            name, source, claim,
            "holds" if at_most(opened, best) == "holds" else "undecided",
            left=opened, right=best, detail="right: the best bound of those known",
        ),
    ]  # fmt: skip


def _identity(instance: Instance, schedule: Schedule) -> Certificate:
    """ARU x rho = share of the deployment's cores that tasks hold, where nothing takes turns."""
    nodes = instance.nodes_of(schedule.deployment)
    cores = instance.capacity_units[:, 0].astype(float)
    claim = "resource usage times utilisation is the share of all cores that tasks hold"
    source = f"{PAPER}, (12), (28)"
    if schedule.phase.any() or not len(schedule.opened):
        why = "tasks take turns, or none is placed"
        return Certificate("Usage and utilisation", source, claim, "not_applicable", detail=why)
    held = float(served_units(instance, schedule)[schedule.placed, 0].sum())
    opened = float(cores[schedule.opened].sum())
    usage, utilisation = opened / float(cores[nodes].sum()), held / opened
    left, right = usage * utilisation, held / float(cores[nodes].sum())
    same = math.isclose(left, right, rel_tol=1e-9)
    return Certificate(
        "Usage and utilisation", source, claim, "holds" if same and held <= opened else "fails",
        expected=True, left=left, right=right,
        detail=f"usage {usage:.4g} of the cores, of which {utilisation:.4g} are held",
    )  # fmt: skip
