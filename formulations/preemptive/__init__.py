"""Preemptive scheduling of distributed training jobs in an edge-cloud (Wang et al., 2022).

``PROBLEM`` is what ``optsched`` finds by its entry point, ``STORAGE`` the same with limited
storage; the modules beside it are meant to be
read next to the paper, one per numbered problem.
"""

from formulations import STUDIES
from formulations.preemptive.bounds import (
    chunk_flow_time,
    lb_alone,
    lb_ext,
    lb_lp4,
    lb_lp4_plus,
    lb_paper,
    lb_theta,
    rounded_up,
)
from formulations.preemptive.check import check, cost
from formulations.preemptive.instance import Instance
from formulations.preemptive.lagrangian import lb_lagrangian
from formulations.preemptive.lp_kappa import lp_kappa
from formulations.preemptive.metrics import (
    communication_time,
    makespan,
    preemptions,
    utilisation,
)
from formulations.preemptive.network import problem_4_flow
from formulations.preemptive.offline import COMPACT, OFFLINE
from formulations.preemptive.price_guided import PRICE_GUIDED
from formulations.preemptive.prices import lb_prices
from formulations.preemptive.problem_2 import decode_problem_2, problem_2
from formulations.preemptive.problem_2_no_migration import (
    decode_no_migration,
    encode_no_migration,
    problem_2_no_migration,
    problem_2_no_migration_time_free,
)
from formulations.preemptive.problem_4 import problem_4, problem_4_aggregated
from formulations.preemptive.problem_6 import problem_6
from formulations.preemptive.problem_10 import problem_10
from formulations.preemptive.problem_11 import problem_11
from formulations.preemptive.schedule import Schedule
from formulations.preemptive.storage import STORAGE
from formulations.preemptive.workload import WorkloadOptions, generate
from optsched.problem import Answer, Bound, ExactMethod, Formulation, Problem, later

__all__ = ["PROBLEM", "STORAGE", "Instance", "Schedule"]

_PAPER = "Wang et al., Preemptive Scheduling for Distributed ML Jobs in Edge-Cloud Networks"

_FORMULATIONS = (
    OFFLINE,
    COMPACT,
    PRICE_GUIDED,
    Formulation(
        "problem_2", problem_2, "problem (2)",
        "total completion time, work may migrate; row by row as printed, with parameter servers",
        decode_problem_2,
    ),
    Formulation(
        "problem_2_no_migration", problem_2_no_migration, "problem (2), Section III-B",
        "total completion time, chunks stay on their worker; time-indexed",
        decode_no_migration, encode_no_migration,
    ),
    Formulation(
        "problem_2_no_migration_time_free", problem_2_no_migration_time_free,
        "problem (2), Section III-B",
        "total completion time, chunks stay on their worker; demand-bound condition, no slots",
        decode_no_migration, encode_no_migration, solver="cpsat",
    ),
    Formulation("problem_4", problem_4, "problem (4)",
                "average fractional flow time, every chunk and worker named"),
    Formulation("problem_4_aggregated", problem_4_aggregated, "problem (4)",
                "average fractional flow time, identical chunks and workers counted"),
    ExactMethod("problem_4_flow",
                lambda instance, options, *, rates="fast": Answer(
                    problem_4_flow(instance, rates=rates)),
                "problem (4)",
                "average fractional flow time at one speed per job, as a min-cost flow",
                relaxation=True, solver="cpsat"),
    Formulation("problem_6", problem_6, "problem (6)",
                "dual of the linear relaxation of (4), corrected"),
    Formulation("lp_kappa", lp_kappa, "Theorem 3, corrected",
                "(4) less (4e) with the processing time charged again, over 1 + epsilon"),
    Formulation("problem_10", problem_10, "problem (10)",
                "source of the NP-hardness proof: identical machines, sum of completion times",
                solver="cpsat"),
    Formulation("problem_11", problem_11, "problem (11)",
                "(6) with every rate divided by 1 + epsilon: the dual of the offline machine"),
)  # fmt: skip

_BOUNDS = (
    Bound("lb_paper", lb_paper, "Lemma 1, Section V-C",
          "(4) with the fast speed everywhere: the paper's own yardstick, for the chunks' mean",
          measure=chunk_flow_time),
    Bound("lb_lp4", lb_lp4, "problem (4)", "linear relaxation of (4)"),
    Bound("lb_alone", lb_alone, "closed form", "every job as if it were the only one"),
    Bound("lb_lp4_plus", lb_lp4_plus, "problem (4)",
          "linear relaxation of (4), mean age corrected to completion"),
    Bound("lb_theta", lambda instance: rounded_up(instance, lb_theta(instance)), "problem (4)",
          "per job the greater of lb_lp4_plus and lb_alone"),
    Bound("lb_lagrangian", lambda instance: rounded_up(instance, lb_lagrangian(instance)),
          "problem (2)", "Lagrangian relaxation of the workers' capacities"),
    Bound("lb_prices", lb_prices, "problem (2)",
          "prices of worker time by type, exact to the last digit, at the size of a whole trace"),
    Bound("lb_ext", lambda instance: rounded_up(instance, lb_ext(instance)), "problem (2)",
          "completion-indexed linear program, for small instances"),
)  # fmt: skip

PROBLEM = Problem(
    name="preemptive",
    summary="preemptive scheduling of distributed training jobs in an edge-cloud",
    source=_PAPER,
    instance_type=Instance,
    schedule_type=Schedule,
    check=check,
    cost=cost,
    generate=generate,
    generator_options=WorkloadOptions,
    formulations={f.name: f for f in _FORMULATIONS},
    reference="offline",
    unit="slots",
    bounds={b.name: b for b in _BOUNDS},
    check_options=lambda schedule: {"speed": schedule.speed},
    reference_check={"slotted": True},
    measures={
        "preemptions": preemptions,
        "communication": communication_time,
        "utilisation": utilisation,
        "makespan": makespan,
    },
    pictures={
        name: later("formulations.preemptive.plots", name)
        for name in ("gantt", "utilisation", "queue")
    },
    presets=STUDIES / "preemptive.toml",
    certify=later("formulations.preemptive.certify", "certify"),
)
"""What ``optsched`` knows of the problem; its heuristics come from an entry point of their own."""
