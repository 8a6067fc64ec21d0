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
from formulations.okita.check import MEASURES, check, cost, flow_times
from formulations.okita.generator import GeneratorOptions, generate, repair, strange
from formulations.okita.horizon import safe_horizon
from formulations.okita.instance import Instance, Integers
from formulations.okita.schedule import Schedule
from optsched.problem import Arrivals, LazyMapping, Problem, later

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

_ONLINE = "formulations.okita.online"
_ARRIVALS = Arrivals(
    times=lambda instance: instance.release_slot,
    select=Instance.select_jobs,
    job=later(_ONLINE, "job_of"),
    nothing=lambda instance: Schedule.build(),
    relabel=later(_ONLINE, "relabel"),
    decisions=later(_ONLINE, "decisions"),
    done=later(_ONLINE, "done"),
    unfinished=frozenset({"2a", "2e"}),
    state=later(_ONLINE, "State"),
    replan=later(_ONLINE, "replan"),
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
    formulations=LazyMapping.of(
        "formulations.okita",
        {
            "problem_2_columns": "exact.method:METHOD",
            "problem_2_aggregated": "encode:FORMULATIONS",
            "problem_2_logical": "encode:FORMULATIONS",
            "problem_2": "encode:FORMULATIONS",
            "problem_5": "one_slot:FORMULATIONS",
            "problem_7": "one_slot:FORMULATIONS",
            "problem_7_printed": "one_slot:FORMULATIONS",
        },
    ),
    reference="problem_2_columns",
    proof_model="problem_2_aggregated(exchange='hull')",
    construct=later("formulations.okita.one_job.greedy", "in_turn"),
    unit="money",
    bounds=LazyMapping.of(
        "formulations.okita",
        {
            "lb_columns": "exact.method:LB_COLUMNS",
            "lb_alone": "bounds:BOUNDS",
            "lb_sites": "bounds:BOUNDS",
        },
    ),
    measures=MEASURES,
    flow_times=flow_times,
    presets=STUDIES / "okita.toml",
    calendar=_CALENDAR,
    pictures={name: later("formulations.okita.plots", name) for name in ("gantt", "utilisation")},
    arrivals=_ARRIVALS,
    certify=later("formulations.okita.theorems", "certify"),
    sample={"jobs": 2, "sites": 2, "horizon": 3},
)
"""What ``optsched`` knows of the problem; its heuristics come from a separate entry point."""
