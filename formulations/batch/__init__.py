"""Batch scheduling of machine-learning jobs in edge-cloud networks (She et al.).

``PROBLEM`` is (2), total flow time; ``COMPLETION`` the same system with total weighted completion
time, which the paper plots. The modules beside it are meant to be read next to the paper; ``exact``
is ours.

=============================== ===================================================================
the paper                       file
=============================== ===================================================================
the system and its jobs         ``instance``; Section V's random ones: ``generator``
the objective, (2a) to (2l)     ``check`` on a ``schedule``
(2): (2a) to (2l)               ``problem_2_literal``, blocks of these names; in rows R1 to R7
                                ``problem_2`` on ``time_indexed``; ``problem_2_intervals``
Lemma 2, bounds of lone jobs    ``domain_reduction``
(3): (3a), (3b)                 ``problem_2_literal``, blocks of these names; in rows R1 to R7
                                ``problem_3``; by intervals ``problem_2_intervals``
(4): (4a) to (4d)               ``problem_4``, blocks "4a" to "4c", variables "chi"
(5), its dual: (5a), (5b), (6)  ``problem_4``, block "5a", variables "eta", "lambda", "mu"
(7), (8), prices                ``prices``
(9): (9a) to (9c)               ``problem_2_literal``, blocks "9a", "9b" and those of (2); in rows
                                ``problem_9``; without a solver ``problem_9.best_offer``
guarantees of Section IV        ``theorems``
figures                         ``plots``, ``metrics``
jobs that arrive one by one     ``online``, with ``insertion``
=============================== ===================================================================

``PROBLEM.equation("2d")`` says where a number is, ``optsched problems batch --equations`` where all
are.
"""

from dataclasses import replace
from functools import partial

from formulations import STUDIES
from formulations.batch.check import check, cost, flow_times, weighted_completion
from formulations.batch.domain_reduction import longest
from formulations.batch.generator import GeneratorOptions, generate
from formulations.batch.instance import Instance, by_worker_type
from formulations.batch.metrics import MEASURES
from formulations.batch.schedule import Schedule
from formulations.common.calendar import Calendar
from optsched.problem import Arrivals, ExactMethod, Formulation, LazyMapping, Problem, later

__all__ = ["COMPLETION", "PROBLEM", "Instance", "Schedule"]


_ROUND = {
    "problem_3": "problem_3:FORMULATIONS",
    "problem_3_literal": "problem_2_literal:FORMULATIONS",
    "problem_3_intervals": "problem_2_intervals:FORMULATIONS",
    "problem_3_pooled": "problem_2_intervals:FORMULATIONS",
    "problem_4": "problem_4:FORMULATIONS",
    "problem_4_columns": "problem_4:FORMULATIONS",
    "problem_5": "problem_4:FORMULATIONS",
    "problem_9": "prices:FORMULATIONS",
    "problem_9_literal": "prices:FORMULATIONS",
}


def _of_jobs(objective: str, more: dict[str, str]) -> LazyMapping[Formulation | ExactMethod]:
    """Return the models of (2) with one objective, and others."""
    places = {
        "problem_2_offline": "exact.method",
        "problem_2": "problem_2",
        "problem_2_literal": "problem_2_literal",
        "problem_2_intervals": "problem_2_intervals",
        "problem_2_pooled": "problem_2_intervals",
        "problem_2_pooled_slots": "exact.columns",
        "problem_2_columns": "exact.columns",
    }
    own = {name: f"{module}:{objective}" for name, module in places.items()}
    return LazyMapping.of("formulations.batch", own | more)


_CALENDAR = Calendar(
    release=lambda instance: instance.release_slot,
    span=longest,
    moved=lambda instance, slots: replace(instance, release_slot=instance.release_slot + slots),
    schedule_type=Schedule,
    absolute=frozenset({"tau"}),
)

_ONLINE = "formulations.batch.online"
_ARRIVALS = Arrivals(
    times=lambda instance: instance.release_slot,
    select=Instance.select_jobs,
    job=Instance.job,
    nothing=later(_ONLINE, "nothing"),
    relabel=later(_ONLINE, "relabel"),
    decisions=later(_ONLINE, "decisions"),
    done=later(_ONLINE, "done"),
    unfinished=frozenset({"2e", "2j"}),
    state=later(_ONLINE, "State"),
    replan=later(_ONLINE, "replan"),
    unfold=later(_ONLINE, "unfold"),
)

PROBLEM = Problem(
    name="batch",
    summary="batch scheduling of machine-learning jobs in edge-cloud networks",
    source="J. She, N. Wang, R. Zhou, C. Tian: Online Scheduling of Machine Learning Jobs in "
    "Edge-Cloud Networks",
    instance_type=Instance,
    schedule_type=Schedule,
    check=check,
    cost=cost,
    generate=generate,
    generator_options=GeneratorOptions,
    formulations=_of_jobs("FLOW", _ROUND),
    reference="problem_2_offline",
    proof_model="problem_2",
    proof_relaxation="problem_2_pooled_slots",
    proof_parts=by_worker_type,
    construct=later("formulations.batch.insertion", "in_turn"),
    unit="slots",
    bounds=LazyMapping.of(
        "formulations.batch",
        {"alone": "domain_reduction:ALONE", "columns": "exact.columns:COLUMNS"},
    ),
    check_options=lambda schedule: {
        "allow_preemption": schedule.preemptive,
        "ignore_upload": schedule.ignores_upload,
    },
    measures=MEASURES,
    flow_times=flow_times,
    pictures={name: later("formulations.batch.plots", name) for name in ("gantt", "utilisation")},
    presets=STUDIES / "batch.toml",
    arrivals=_ARRIVALS,
    calendar=_CALENDAR,
    certify=later("formulations.batch.theorems", "certify"),
    sample={"jobs": 2, "servers": 2, "types": 1, "time_scale": 0.03},
)
"""(2); its heuristics come from a separate entry point."""

COMPLETION = replace(
    PROBLEM,
    name="batch_completion",
    summary="the same system, total weighted completion time",
    cost=weighted_completion,
    formulations=_of_jobs("COMPLETION", {}),
    bounds=LazyMapping.of("formulations.batch", {"alone": "domain_reduction:WEIGHTED_ALONE"}),
    presets=STUDIES / "batch_completion.toml",
    arrivals=replace(
        _ARRIVALS,
        replan=partial(later(_ONLINE, "replan"), objective="completion"),
        unfold=partial(later(_ONLINE, "unfold"), objective="completion"),
    ),
    calendar=replace(_CALENDAR, added=lambda instance, slots: float(instance.weight @ slots)),
)
"""What the paper's figures plot; its heuristics come from a separate entry point."""
