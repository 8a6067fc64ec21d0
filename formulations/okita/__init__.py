"""Online scheduling of unbiased distributed learning over edge sites (Han et al.: Okita).

``PROBLEM`` is what ``optsched`` finds by its entry point. The modules beside it are meant to be
read next to the paper; ``exact`` is ours.

=============================== ===================================================================
the paper                       file
=============================== ===================================================================
the system and its jobs         ``instance``, f_i: ``latency``; random ones: ``generator``
the objective (1), (2a) to (2h) ``check`` on a ``schedule``
(1), (2): (2a) to (2h)          ``problem_2``, blocks of these names; in rows R1 to R11
                                ``problem_2_aggregated``; both with ``encode`` and ``symmetry``
the horizon T                   ``horizon``
(2) for one job                 ``one_job``; bounds of lone jobs and of their volume: ``bounds``
(3), chunks left                ``online``
(5), placement: (5a) to (5e)    ``problem_5``, blocks "5a" to "5c", variables "y", "s"
(7), transport: (7a), (7b)      ``problem_7``; beside a schedule, both with ``one_slot``
guarantees                      ``theorems``
figures                         ``plots``
=============================== ===================================================================

``PROBLEM.equation("2d")`` says where a number is, ``optsched problems okita --equations`` where all
are.
"""

from dataclasses import replace

import numpy as np

from formulations import STUDIES
from formulations.common.calendar import Calendar
from formulations.okita import one_slot
from formulations.okita.bounds import BOUNDS
from formulations.okita.check import MEASURES, check, cost, flow_times
from formulations.okita.encode import FORMULATIONS
from formulations.okita.exact.method import LB_COLUMNS, METHOD
from formulations.okita.generator import GeneratorOptions, generate, repair, strange
from formulations.okita.horizon import safe_horizon
from formulations.okita.instance import Instance, Integers
from formulations.okita.one_job.greedy import in_turn
from formulations.okita.online import ARRIVALS
from formulations.okita.schedule import Schedule
from optsched.problem import Problem, later

__all__ = ["PROBLEM", "Instance", "Schedule"]


def _later(instance: Instance, slots: Integers) -> Instance:
    end = instance.horizon + int(slots[np.abs(slots).argmax()])
    release = instance.release_slot + slots
    return replace(instance, release_slot=release, horizon=max(end, int(release.max())))


def _longest(instance: Instance) -> int:
    """Slots after the last release in which all jobs are done in some optimum of (2)."""
    return safe_horizon(replace(instance, release_slot=np.ones_like(instance.release_slot)))


_CALENDAR = Calendar(
    release=lambda instance: instance.release_slot,
    span=_longest,
    moved=_later,
    schedule_type=Schedule,
    absolute=frozenset({"slot", "placed"}),
)

PROBLEM = Problem(
    name="okita",
    summary="unbiased distributed learning over edge sites: latency, data and exchange costs",
    source="Z. Han, R. Zhou, J. Pang, H. Tan, Y. Cao: Online Scheduling Unbiased Distributed "
    "Learning over Wireless Edge Networks",
    instance_type=Instance,
    schedule_type=Schedule,
    check=check,
    cost=cost,
    generate=generate,
    generator_options=GeneratorOptions,
    strange=strange,
    repair=repair,
    formulations={f.name: f for f in (METHOD, *FORMULATIONS, *one_slot.FORMULATIONS)},
    reference="problem_2_columns",
    proof_model="problem_2_aggregated(exchange='hull')",
    construct=in_turn,
    unit="money",
    bounds={bound.name: bound for bound in (LB_COLUMNS, *BOUNDS)},
    measures=MEASURES,
    flow_times=flow_times,
    presets=STUDIES / "okita.toml",
    calendar=_CALENDAR,
    pictures={name: later("formulations.okita.plots", name) for name in ("gantt", "utilisation")},
    arrivals=ARRIVALS,
    certify=later("formulations.okita.theorems", "certify"),
    sample={"jobs": 2, "sites": 2, "horizon": 3},
)
"""What ``optsched`` knows of the problem; its heuristics come from a separate entry point."""
