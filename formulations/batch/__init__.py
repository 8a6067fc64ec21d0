"""Batch scheduling of machine-learning jobs in edge-cloud networks.

``PROBLEM`` is (2), total flow time; ``COMPLETION`` the same system with total weighted completion
time, which the paper plots. The modules beside it are meant to be read next to the paper.
"""

from functools import partial

from formulations import STUDIES
from formulations.batch.check import check, cost, weighted_completion
from formulations.batch.choices import lb_alone, weighted_alone
from formulations.batch.generator import GeneratorOptions, generate
from formulations.batch.instance import Instance
from formulations.batch.intervals import (
    decode_problem_2_intervals,
    encode_problem_2_intervals,
    problem_2_intervals,
    problem_2_pooled,
    problem_3_intervals,
    problem_3_pooled,
)
from formulations.batch.metrics import (
    completion,
    completion_over_alone,
    in_cloud,
    makespan,
    utilisation,
)
from formulations.batch.offline import problem_2_offline
from formulations.batch.pooled_columns import lb_columns, problem_2_columns
from formulations.batch.problem_2 import (
    Objective,
    decode_problem_2,
    encode_problem_2,
    problem_2,
)
from formulations.batch.problem_3 import problem_3
from formulations.batch.problem_4 import problem_4, problem_4_columns, problem_5
from formulations.batch.schedule import Schedule
from optsched.problem import GAPS, LIMITS, Bound, ExactMethod, Formulation, Problem, later

__all__ = ["COMPLETION", "PROBLEM", "Instance", "Schedule"]

_PAPER = "Batch scheduling of machine-learning jobs in edge-cloud networks"


def _of_jobs(objective: Objective) -> tuple[Formulation | ExactMethod, ...]:
    """The models of (2) with one objective."""
    return (
        ExactMethod(
            "problem_2_offline", partial(problem_2_offline, objective=objective), "problem (2)",
            "pooled servers by branch and price, split back exactly, then the model by server, or "
            "cuts on the pooled one: the method for scale",
            LIMITS | GAPS | {"start", "threads", "seed", "log"}, solver="cpsat",
        ),
        Formulation(
            "problem_2", partial(problem_2, objective=objective), "problem (2)",
            "a binary per start, efficient worker counts; row by row",
            decode_problem_2, encode_problem_2,
        ),
        Formulation(
            "problem_2_intervals", partial(problem_2_intervals, objective=objective),
            "problem (2)", "tasks in time with variable demands, server by server; no slots",
            decode_problem_2_intervals, encode_problem_2_intervals, solver="cpsat",
        ),
        Formulation(
            "problem_2_pooled", partial(problem_2_pooled, objective=objective), "problem (2)",
            "relaxation: one cumulative per type of worker and parameter server", solver="cpsat",
        ),
        ExactMethod(
            "problem_2_columns", partial(problem_2_columns, objective=objective), "problem (2)",
            "relaxation: whole schedules in fractions, servers of a type pooled",
            LIMITS, relaxation=True,
        ),
    )  # fmt: skip


_ROUND: tuple[Formulation | ExactMethod, ...] = (
    Formulation("problem_3", problem_3, "problem (3)",
                "most jobs inside the window tau + 1..2 tau; a binary per start"),
    Formulation("problem_3_intervals", problem_3_intervals, "problem (3)",
                "the same as tasks in time, server by server", solver="cpsat"),
    Formulation("problem_3_pooled", problem_3_pooled, "problem (3)",
                "relaxation: one cumulative per type", solver="cpsat"),
    Formulation("problem_4", problem_4, "problem (4)",
                "the round over all schedules listed; tiny instances"),
    ExactMethod("problem_4_columns", problem_4_columns, "problem (4)",
                "its linear relaxation by column generation, priced by (9)",
                LIMITS, relaxation=True),
    Formulation("problem_5", problem_5, "problem (5)",
                "the dual of the relaxation of (4); tiny instances"),
)  # fmt: skip

_MEASURES = {
    "completion": completion,
    "completion_over_alone": completion_over_alone,
    "utilisation": utilisation,
    "in_cloud": in_cloud,
    "makespan": makespan,
}

PROBLEM = Problem(
    name="batch",
    summary="batch scheduling of machine-learning jobs in edge-cloud networks",
    source=_PAPER,
    instance_type=Instance,
    schedule_type=Schedule,
    check=check,
    cost=cost,
    generate=generate,
    generator_options=GeneratorOptions,
    formulations={f.name: f for f in (*_of_jobs("flow"), *_ROUND)},
    reference="problem_2_offline",
    proof_model="problem_2",
    unit="slots",
    bounds={
        "alone": Bound("alone", lb_alone, "closed form", "every job as if it were the only one"),
        "columns": Bound(
            "columns", lb_columns, "problem (2)",
            "linear relaxation over whole schedules, servers of a type pooled",
        ),
    },
    check_options=lambda schedule: {
        "allow_preemption": schedule.preemptive,
        "ignore_upload": schedule.ignores_upload,
    },
    measures=_MEASURES,
    pictures={
        name: later("formulations.batch.plots", name) for name in ("gantt", "utilisation")
    },
    presets=STUDIES / "batch.toml",
)  # fmt: skip
"""(2); its heuristics come from an entry point of their own."""

COMPLETION = Problem(
    name="batch_completion",
    summary="the same system, total weighted completion time",
    source=_PAPER,
    instance_type=Instance,
    schedule_type=Schedule,
    check=check,
    cost=weighted_completion,
    generate=generate,
    generator_options=GeneratorOptions,
    formulations={f.name: f for f in _of_jobs("completion")},
    reference="problem_2_offline",
    proof_model="problem_2",
    unit="slots",
    bounds={
        "alone": Bound(
            "alone", weighted_alone, "closed form", "every job as if it were the only one"
        )
    },
    check_options=PROBLEM.check_options,
    measures=_MEASURES,
    pictures=PROBLEM.pictures,
    presets=STUDIES / "batch_completion.toml",
)
"""What the paper's figures plot; its heuristics come from an entry point of their own."""
