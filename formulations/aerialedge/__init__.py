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

import numpy as np

from formulations import STUDIES
from formulations.aerialedge.check import check, cost
from formulations.aerialedge.generator import GeneratorOptions, generate
from formulations.aerialedge.instance import Instance
from formulations.aerialedge.schedule import Schedule
from optsched.problem import Arrivals, LazyMapping, Problem, later

__all__ = ["PROBLEM", "Instance", "Schedule", "pack"]

pack = later("formulations.aerialedge.exact.method", "pack")


_ONLINE = "formulations.aerialedge.online"
_ARRIVALS = Arrivals(
    times=lambda instance: np.arange(instance.jobs),
    select=later(_ONLINE, "select"),
    job=later(_ONLINE, "job_of"),
    nothing=later(_ONLINE, "nothing"),
    relabel=later(_ONLINE, "relabel"),
    decisions=later(_ONLINE, "decisions"),
    done=later(_ONLINE, "done"),
    unfinished=frozenset({"26"}),
    state=later(_ONLINE, "State"),
    replan=later(_ONLINE, "replan"),
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
    formulations=LazyMapping.of(
        "formulations.aerialedge",
        {
            "packing": "exact.method:PACKING",
            "assignment": "problem_ae2:FORMULATIONS",
            "assignment_cpsat": "problem_ae2:FORMULATIONS",
            "arc_flow": "exact.arc_flow:ARC_FLOW",
            "packing_printed": "problem_ae2:PRINTED",
            "dispatch": "problem_ae1:DISPATCH",
        },
    ),
    reference="packing",
    proof_model="arc_flow",
    unit="nodes",
    bounds=LazyMapping.of(
        "formulations.aerialedge",
        dict.fromkeys(("volume", "conflict", "steps", "patterns"), "bounds:BOUNDS"),
    ),
    check_options=lambda schedule: {"partial": schedule.partial},
    reference_check={"gang": True},
    pictures={
        "occupancy": later("formulations.aerialedge.plots", "node_occupancy"),
        "gantt": later("formulations.aerialedge.plots", "gantt_chart"),
    },
    presets=STUDIES / "aerialedge.toml",
    arrivals=_ARRIVALS,
    certify=later("formulations.aerialedge.theorems", "certify"),
    sample={"tasks": 4, "jobs": 1},
)
"""What ``optsched`` knows of the problem; its heuristics come from a separate entry point."""
