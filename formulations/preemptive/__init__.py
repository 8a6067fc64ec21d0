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
| (7): (7a) to (7e), storage | ``problem_7`` on ``storage/chunks``; checked by ``storage/check`` |
| (8) and its dual (9): (9a), (9b) | ``problem_8_9`` |
| (10): (10a) to (10c), Theorem 1 (NP-hardness) | ``problem_10``, with the reduction of its proof |
| (11): (11a), (11b), speed augmentation; Theorem 3, corrected | ``problem_11``: ``problem_11``, \
  ``lp_kappa`` |
| Section V, measures and figures | ``metrics``, ``plots`` |
| online: what a policy sees, replanning | ``online``, ``storage/online`` |

``PROBLEM.equation("2d")`` and ``STORAGE.equation("7a")`` say where a number is, ``optsched problems
preemptive --equations`` (and ``preemptive_storage``) where all are.

``grid`` says where work may be placed and ``decode`` names the workers, for all of these models.
``bounds`` holds the lower bounds that need no search. ``exact`` is ours: the methods for the
optimum of (2).
"""

from dataclasses import replace
from functools import partial

import numpy as np

from formulations import STUDIES
from formulations.common.calendar import Calendar
from formulations.preemptive import (
    network,
    problem_2,
    problem_2_4_literal,
    problem_2_no_migration,
    problem_4,
    problem_6,
    problem_7,
    problem_8_9,
    problem_10,
    problem_11,
)
from formulations.preemptive.bounds import ALONE, BOUNDS
from formulations.preemptive.check import check, cost, flow_times
from formulations.preemptive.decode import in_turn
from formulations.preemptive.exact.by_component import BY_MARKET
from formulations.preemptive.exact.guided import PRICE_GUIDED
from formulations.preemptive.exact.lagrangian import PRICES
from formulations.preemptive.exact.method import OFFLINE
from formulations.preemptive.generator import StorageOptions, generate_with_storage
from formulations.preemptive.grid import longest
from formulations.preemptive.instance import Instance, Integers
from formulations.preemptive.metrics import MEASURES
from formulations.preemptive.online import ARRIVALS, replan
from formulations.preemptive.schedule import Schedule
from formulations.preemptive.storage import online as storage_online
from formulations.preemptive.workload import WorkloadOptions, generate, repair
from optsched.problem import Problem, later

__all__ = ["PROBLEM", "STORAGE", "Instance", "Schedule"]

_MODULES = (
    problem_2, problem_2_no_migration, problem_2_4_literal, problem_4, network, problem_6,
    problem_10, problem_11,
)  # fmt: skip


def _later(instance: Instance, slots: Integers) -> Instance:
    release, end = instance.release_time + slots, instance.horizon
    if end is not None:
        end = max(1, end + int(slots[np.abs(slots).argmax()]))
    return replace(instance, release_time=release, horizon=end)


_CALENDAR = Calendar(
    release=lambda instance: instance.release_time,
    span=longest,
    moved=_later,
    schedule_type=Schedule,
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
    formulations={
        f.name: f
        for f in (
            OFFLINE,
            BY_MARKET,
            PRICE_GUIDED,
            *(f for module in _MODULES for f in module.FORMULATIONS),
        )
    },
    reference="offline",
    proof_model="problem_2_compact",
    construct=in_turn,
    unit="slots",
    bounds={bound.name: bound for bound in (*BOUNDS, PRICES)},
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
    arrivals=replace(ARRIVALS, replan=partial(replan, OFFLINE, PRICE_GUIDED)),
    repair=repair,
    sample={"jobs": 2, "servers": 2, "types": 1, "span": 2, "time_scale": 0.01},
)
"""What ``optsched`` knows of the problem; its heuristics come from a separate entry point."""

_WITHOUT_STORAGE = replace(
    problem_2.COMPACT,
    summary="total completion time without limits of storage: a relaxation",
    decode=None,
    encode=None,
)

STORAGE = replace(
    PROBLEM,
    name="preemptive_storage",
    summary="preemptive scheduling in an edge-cloud whose servers have limited storage",
    source=PROBLEM.source + ", Section VI",
    check=partial(check, storage=True),
    generate=generate_with_storage,
    generator_options=StorageOptions,
    formulations={
        f.name: f
        for f in (
            *problem_7.FORMULATIONS,
            _WITHOUT_STORAGE,
            *problem_8_9.FORMULATIONS,
        )
    },
    reference="problem_7_compact",
    proof_model="",
    bounds={
        ALONE.name: ALONE,
        PRICES.name: replace(PRICES, summary=f"{PRICES.summary}; storage left out"),
    },
    measures={},
    presets=STUDIES / "preemptive_storage.toml",
    certify=later("formulations.preemptive.theorems", "certify_with_storage"),
    arrivals=replace(ARRIVALS, replan=storage_online.replan, unfold=None),
)
"""(7) and its relaxations; its heuristics come from a separate entry point."""
