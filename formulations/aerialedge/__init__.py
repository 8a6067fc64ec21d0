"""Closest dispatch and variable-sized vector bin packing on drone-carried clusters (Awada et al.).

``PROBLEM`` is what ``optsched`` finds by its entry point; the modules beside it are meant to be
read next to the paper. ``exact`` is ours.

=============================== ===================================================================
the paper                       file
=============================== ===================================================================
drones, jobs and tasks          ``instance``; Tables II and III: ``tables``; random: ``generator``
a schedule by (23) to (26)      ``check`` on a ``schedule``
[AE1], Algorithm 2, (6), (7),   ``problem_ae1``: ``dispatch``, blocks "7", "13", "14", "22"
(11), (13) to (22)
[AE2], (23) to (26)             ``problem_ae2``: ``assignment``, blocks "25", "26";
                                ``packing_printed``
[AE3], patterns per node        ``problem_ae3``, on task and node types of ``vector_packing``
Algorithm 3, first fit          ``construct``
bounds without a solver         ``bounds``
metrics (10), (12), (27)-(29)   ``metrics``; figures: ``plots``
what the paper states           ``theorems``
one job after the other         ``online``
files of public benchmarks      ``benchmark_files``
=============================== ===================================================================

``PROBLEM.equation("25")`` says where a number is, ``optsched problems aerialedge --equations``
where all are.
"""

from collections.abc import Callable

from formulations import STUDIES
from formulations.aerialedge.bounds import conflict_bound, step_bound, volume_bound
from formulations.aerialedge.check import check, cost
from formulations.aerialedge.exact.arc_flow import ARC_FLOW
from formulations.aerialedge.exact.method import PACKING, pack
from formulations.aerialedge.generator import GeneratorOptions, generate
from formulations.aerialedge.instance import Instance
from formulations.aerialedge.online import ARRIVALS
from formulations.aerialedge.problem_ae1 import DISPATCH, closest
from formulations.aerialedge.problem_ae2 import FORMULATIONS, PRINTED
from formulations.aerialedge.problem_ae3 import relaxation_bound
from formulations.aerialedge.schedule import Schedule
from formulations.aerialedge.vector_packing import VectorPacking, aggregate
from optsched.problem import Bound, Problem, later

__all__ = ["PROBLEM", "Instance", "Schedule", "pack"]


def _of_closest(
    name: str,
    compute: Callable[[VectorPacking], float],
    source: str,
    summary: str,
    quick: bool = True,
) -> Bound:
    """A bound on a packing problem as one on the deployment Algorithm 2 tries first."""

    def value(instance: Instance) -> float:
        packing = aggregate(instance, closest(instance))
        return compute(packing) * packing.weight_unit

    return Bound(name, value, source, summary, quick=quick)


_BOUNDS = (
    _of_closest("volume", volume_bound, "L_0", "per resource, the nodes that hold all demand"),
    _of_closest("conflict", conflict_bound, "pairs", "tasks of which no two fit any node together"),
    _of_closest("steps", step_bound, "Martello and Toth, L_2", "dual feasible steps, per resource"),
    _of_closest("patterns", relaxation_bound, "[AE3]", "linear relaxation over patterns", False),
)

PROBLEM = Problem(
    name="aerialedge",
    summary="closest dispatch and vector bin packing of tasks on drone-carried clusters",
    source="U. Awada, J. Zhang, S. Chen, S. Li: Air-to-Air Collaborative Learning: A Multi-Task "
    "Orchestration in Federated Aerial Computing. IEEE International Conference on Cloud Computing "
    "(CLOUD), 671-680, 2021",
    instance_type=Instance,
    schedule_type=Schedule,
    check=check,
    cost=cost,
    generate=generate,
    generator_options=GeneratorOptions,
    formulations={f.name: f for f in (PACKING, *FORMULATIONS, ARC_FLOW, PRINTED, DISPATCH)},
    reference="packing",
    proof_model="arc_flow",
    unit="nodes",
    bounds={bound.name: bound for bound in _BOUNDS},
    check_options=lambda schedule: {"partial": schedule.partial},
    reference_check={"gang": True},
    pictures={
        "occupancy": later("formulations.aerialedge.plots", "node_occupancy"),
        "gantt": later("formulations.aerialedge.plots", "gantt_chart"),
    },
    presets=STUDIES / "aerialedge.toml",
    arrivals=ARRIVALS,
    certify=later("formulations.aerialedge.theorems", "certify"),
    sample={"tasks": 4, "jobs": 1},
)
"""What ``optsched`` knows of the problem; its heuristics come from a separate entry point."""
