"""The problem with storage (Section VI): servers have room for so many chunks only."""

from __future__ import annotations

from functools import partial

from formulations import STUDIES
from formulations.preemptive.bounds import lb_alone, rounded_up
from formulations.preemptive.check import check, cost
from formulations.preemptive.instance import Instance
from formulations.preemptive.lagrangian import lb_lagrangian
from formulations.preemptive.prices import lb_prices
from formulations.preemptive.problem_2 import problem_2_compact
from formulations.preemptive.problem_7 import (
    decode_problem_7,
    decode_problem_7_compact,
    encode_problem_7_compact,
    problem_7,
    problem_7_compact,
)
from formulations.preemptive.problem_8 import problem_8
from formulations.preemptive.problem_9 import problem_8_while_training, problem_9
from formulations.preemptive.schedule import Schedule
from formulations.preemptive.storage_generator import StorageOptions, generate_with_storage
from optsched.problem import Bound, Formulation, Problem, later

_FORMULATIONS = (
    Formulation(
        "problem_7_compact", problem_7_compact, "problem (7)",
        "total completion time; stored chunks counted, monotone completion binaries: the model "
        "for scale",
        decode_problem_7_compact, encode_problem_7_compact,
    ),
    Formulation(
        "problem_7", problem_7, "problem (7)",
        "total completion time; every chunk, worker and slot named, storage held by job or chunk",
        decode_problem_7, solver="cpsat",
    ),
    Formulation("problem_2_compact", problem_2_compact, "problem (2)",
                "total completion time without limits of storage: a relaxation"),
    Formulation("problem_8", problem_8, "problem (8)",
                "average fractional flow time; every chunk, worker and slot named"),
    Formulation("problem_8_while_training", problem_8_while_training, "problem (9), its primal",
                "linear relaxation of (8) that charges storage only while a chunk is trained"),
    Formulation("problem_9", problem_9, "problem (9)",
                "the dual with prices of storage, rows from the end of the upload on"),
)  # fmt: skip

STORAGE = Problem(
    name="preemptive_storage",
    summary="preemptive scheduling in an edge-cloud whose servers have limited storage",
    source="Wang et al., Preemptive Scheduling for Distributed ML Jobs in Edge-Cloud Networks, "
    "Section VI",
    instance_type=Instance,
    schedule_type=Schedule,
    check=partial(check, storage=True),
    cost=cost,
    generate=generate_with_storage,
    generator_options=StorageOptions,
    formulations={f.name: f for f in _FORMULATIONS},
    reference="problem_7_compact",
    unit="slots",
    bounds={
        "lb_alone": Bound(
            "lb_alone", lb_alone, "closed form", "every job as if it were the only one"
        ),
        "lb_prices": Bound(
            "lb_prices",
            lb_prices,
            "problem (2)",
            "prices of worker time by type, exact to the last digit, storage left out",
        ),
        "lb_lagrangian": Bound(
            "lb_lagrangian",
            lambda instance: rounded_up(instance, lb_lagrangian(instance)),
            "problem (2)",
            "Lagrangian relaxation of the workers' capacities, storage left out",
        ),
    },
    check_options=lambda schedule: {"speed": schedule.speed},
    reference_check={"slotted": True},
    pictures={
        name: later("formulations.preemptive.plots", name)
        for name in ("gantt", "utilisation", "queue")
    },
    certify=later("formulations.preemptive.certify", "certify_with_storage"),
    presets=STUDIES / "preemptive_storage.toml",
)
"""(7) and its relaxations; its heuristics come from an entry point of their own."""
