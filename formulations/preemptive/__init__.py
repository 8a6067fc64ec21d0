"""Preemptive scheduling of distributed training jobs in an edge-cloud (Wang et al., 2022).

``PROBLEM`` is what ``optsched`` finds by its entry point, ``STORAGE`` the same with limited storage
(Section VI). The modules are meant to be read beside the paper:

| paper | file |
|---|---|
| (1), the system and the jobs; Table II | ``instance``, ``classes``; ``generator``, ``workload`` |
| (2a)-(2j), checked on a schedule | ``check`` with ``rows`` and ``sweep``; ``schedule`` |
| (2): (2a) to (2k), work may migrate | ``problem_2_4_literal``, blocks of these names; \
  workers counted ``problem_2``: ``problem_2``, ``problem_2_compact`` |
| (2), chunks stay on their worker | ``problem_2_no_migration`` |
| (3), (4): (4a) to (4h), average fractional flow time | ``problem_2_4_literal``, blocks of these \
  names; without what never binds ``problem_4``; as a min-cost flow ``network`` |
| (5), prices of chunks; Lemmas 1 to 5, Theorems 3 and 4 | ``theorems`` |
| (6): (6a), (6b), the dual of (4) | ``problem_6``, corrected and printed |
| (7): (7a) to (7e), storage | ``storage/problem_7`` on ``chunks``; checked by ``check_storage`` |
| (8) and its dual (9): (9a), (9b) | ``storage/problem_8_9`` |
| (10): (10a) to (10c), Theorem 1 (NP-hardness) | ``problem_10``, with the reduction of its proof |
| (11): (11a), (11b), speed augmentation; Theorem 3, corrected | ``problem_11``: ``problem_11``, \
  ``lp_kappa`` |
| Section V, measures and figures | ``metrics``, ``plots`` |
| online: what a policy sees, replanning | ``online``, ``storage/online`` |

``PROBLEM.equation("2d")`` and ``STORAGE.equation("7a")`` say where a number is, ``optsched problems
preemptive --equations`` (and ``preemptive_storage``) where all are.

``time_indexed`` says for all of these models where work may be placed (``grid``), and names the
workers (``decode``). ``bounds`` holds the lower bounds that need no search. ``exact`` is ours: the
methods for the optimum of (2).
"""

from dataclasses import replace
from functools import partial

import numpy as np

from formulations import STUDIES
from formulations.common.calendar import Calendar
from formulations.preemptive.check import check, completion_times, cost, flow_times
from formulations.preemptive.generator import StorageOptions, generate_with_storage
from formulations.preemptive.instance import Instance, Integers
from formulations.preemptive.metrics import MEASURES
from formulations.preemptive.schedule import Schedule
from formulations.preemptive.workload import WorkloadOptions, generate, repair
from optsched.problem import Arrivals, LazyMapping, Problem, later

__all__ = ["PROBLEM", "STORAGE", "Instance", "Schedule"]


def _later(instance: Instance, slots: Integers) -> Instance:
    release, end = instance.release_time + slots, instance.horizon
    if end is not None:
        end = max(1, end + int(slots[np.abs(slots).argmax()]))
    return replace(instance, release_time=release, horizon=end)


_CALENDAR = Calendar(
    release=lambda instance: instance.release_time,
    span=later("formulations.preemptive.time_indexed.grid", "longest"),
    moved=_later,
    schedule_type=Schedule,
)

_ONLINE = "formulations.preemptive.online"
_ARRIVALS = Arrivals(
    times=lambda instance: instance.release_time,
    select=Instance.select_jobs,
    job=Instance.job,
    nothing=later(_ONLINE, "nothing"),
    relabel=later(_ONLINE, "relabel"),
    decisions=later(_ONLINE, "decisions"),
    done=completion_times,
    unfinished=frozenset({"2b", "2j", "4a"}),
    state=later(_ONLINE, "State"),
    unfold=later(_ONLINE, "unfold"),
    replan=later("formulations.preemptive.exact.method", "replan"),
)

PROBLEM = Problem(
    name="preemptive",
    summary="preemptive scheduling of distributed training jobs in an edge-cloud",
    source="N. Wang, R. Zhou, L. Jiao, R. Zhang, B. Li, Z. Li: Preemptive Scheduling for "
    "Distributed Machine Learning Jobs in Edge-Cloud Networks. IEEE Journal on Selected Areas in "
    "Communications 40(8), 2411-2425, 2022, doi:10.1109/JSAC.2022.3180772",
    instance_type=Instance,
    schedule_type=Schedule,
    check=check,
    cost=cost,
    generate=generate,
    generator_options=WorkloadOptions,
    formulations=LazyMapping.of(
        "formulations.preemptive",
        {
            "offline": "exact.method:OFFLINE",
            "by_market": "exact.by_component:BY_MARKET",
            "price_guided": "exact.guided:PRICE_GUIDED",
            "problem_2_compact": "problem_2:FORMULATIONS",
            "problem_2": "problem_2:FORMULATIONS",
            "problem_2_no_migration": "problem_2_no_migration:FORMULATIONS",
            "problem_2_no_migration_time_free": "problem_2_no_migration:FORMULATIONS",
            "problem_2_literal": "problem_2_4_literal:FORMULATIONS",
            "problem_4_literal": "problem_2_4_literal:FORMULATIONS",
            "problem_4": "problem_4:FORMULATIONS",
            "problem_4_aggregated": "problem_4:FORMULATIONS",
            "problem_4_flow": "network:FORMULATIONS",
            "problem_6": "problem_6:FORMULATIONS",
            "problem_6_printed": "problem_6:FORMULATIONS",
            "problem_10": "problem_10:FORMULATIONS",
            "problem_11": "problem_11:FORMULATIONS",
            "lp_kappa": "problem_11:FORMULATIONS",
        },
    ),
    reference="offline",
    proof_model="problem_2_compact",
    construct=later("formulations.preemptive.time_indexed.decode", "in_turn"),
    unit="slots",
    bounds=LazyMapping.of(
        "formulations.preemptive",
        {
            "lb_paper": "bounds:BOUNDS",
            "optimum_4": "bounds:BOUNDS",
            "lb_lp4": "bounds:BOUNDS",
            "lb_alone": "bounds:BOUNDS",
            "lb_lp4_plus": "bounds:BOUNDS",
            "lb_theta": "bounds:BOUNDS",
            "lb_ext": "bounds:BOUNDS",
            "lb_prices": "exact.lagrangian:PRICES",
        },
    ),
    check_options=lambda schedule: {"speed": schedule.speed},
    reference_check={"slotted": True},
    interpretation=lambda instance: "" if instance.is_integral else "times taken up to whole slots",
    measures=MEASURES,
    flow_times=flow_times,
    pictures={
        name: later("formulations.preemptive.plots", name)
        for name in ("gantt", "utilisation", "queue")
    },
    presets=STUDIES / "preemptive.toml",
    calendar=_CALENDAR,
    certify=later("formulations.preemptive.theorems", "certify"),
    arrivals=_ARRIVALS,
    repair=repair,
    sample={"jobs": 2, "servers": 2, "types": 1, "span": 2, "time_scale": 0.01},
)
"""What ``optsched`` knows of the problem; its heuristics come from a separate entry point."""

STORAGE = replace(
    PROBLEM,
    name="preemptive_storage",
    summary="preemptive scheduling in an edge-cloud whose servers have limited storage",
    source=PROBLEM.source + ", Section VI",
    check=partial(check, storage=True),
    generate=generate_with_storage,
    generator_options=StorageOptions,
    formulations=LazyMapping.of(
        "formulations.preemptive",
        {
            "problem_7_compact": "storage.problem_7:FORMULATIONS",
            "problem_7": "storage.problem_7:FORMULATIONS",
            "problem_2_compact": "problem_2:WITHOUT_STORAGE",
            "problem_8": "storage.problem_8_9:FORMULATIONS",
            "problem_8_while_training": "storage.problem_8_9:FORMULATIONS",
            "problem_9": "storage.problem_8_9:FORMULATIONS",
        },
    ),
    reference="problem_7_compact",
    proof_model="",
    bounds=LazyMapping.of(
        "formulations.preemptive",
        {"lb_alone": "bounds:BOUNDS", "lb_prices": "exact.lagrangian:WITHOUT_STORAGE"},
    ),
    measures={},
    presets=STUDIES / "preemptive_storage.toml",
    certify=later("formulations.preemptive.theorems", "certify_with_storage"),
    arrivals=replace(
        _ARRIVALS, replan=later("formulations.preemptive.storage.online", "replan"), unfold=None
    ),
)
"""(7) and its relaxations; its heuristics come from a separate entry point."""
