"""Batch scheduling of machine-learning jobs in edge-cloud networks.

``PROBLEM`` is (2), total flow time; ``COMPLETION`` the same system with total weighted completion
time, which the paper plots. The modules beside it are meant to be read next to the paper.
"""

from functools import partial

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
from optsched.problem import GAPS, LIMITS, Bound, ExactMethod, Formulation, Preset, Problem, later

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

_VARIANTS = (
    "a_online",
    'a_online(selection="earliest")',
    'a_online(selection="earliest", release_test="exact")',
    'a_online(selection="earliest", start_rule="any", release_test="exact")',
)
_NONE = ("a_online", "fifo", "drf", "batch_sche")
_SLOW = "preemptive(overhead_slots=1, ignore_upload=False)"
_JOBS = [50, 100, 150, 200, 250]
_SERVERS = [100, 150, 200, 250, 300]
_FIGURE_JOBS = {"jobs": _JOBS, "servers": [200]}
_FIGURE_SERVERS = {"jobs": [200], "servers": _SERVERS}


def _figure(grid: dict[str, list[int]], heuristics: tuple[str, ...], summary: str) -> Preset:
    """A figure at the paper's size, against the bound of column generation."""
    return Preset(
        grid=grid, seeds=3, heuristics=heuristics, bounds=("alone",),
        reference="problem_2_columns", time_limit=60.0,
        x=next(name for name, values in grid.items() if len(values) > 1), summary=summary,
    )  # fmt: skip


_PRESETS = {
    "quick": Preset(
        grid={"jobs": [5, 10, 15], "servers": [6], "types": [2], "time_scale": [0.05]},
        seeds=3,
        heuristics=(*_VARIANTS[:3], "batch_sche", "fifo", "drf", "preemptive"),
        bounds=("alone",),
        time_limit=20.0,
        x="jobs",
        summary="small contended instances: a first look in seconds",
    ),
    "figure_14": Preset(
        grid={"jobs": [5, 10, 15, 20], "servers": [20]},
        seeds=10,
        heuristics=_VARIANTS,
        bounds=("alone",),
        time_limit=60.0,
        x="jobs",
        summary="ratio of A_online against the number of jobs",
    ),
    "figure_14_servers": Preset(
        grid={"jobs": [15], "servers": [10, 20, 40, 80]},
        seeds=10,
        heuristics=_VARIANTS,
        bounds=("alone",),
        time_limit=60.0,
        x="servers",
        summary="ratio of A_online against the number of edge servers",
    ),
    "figure_14_contended": Preset(
        grid={"jobs": [5, 10, 15, 20], "servers": [20], "time_scale": [0.03]},
        seeds=10,
        heuristics=_VARIANTS,
        bounds=("alone",),
        time_limit=60.0,
        x="jobs",
        summary="the same with jobs short enough for the edge to matter",
    ),
    "figure_3": _figure(_FIGURE_JOBS, _NONE, "total completion time against the number of jobs"),
    "figure_4": _figure(_FIGURE_SERVERS, _NONE, "total completion time against edge servers"),
    "figure_7": _figure(
        _FIGURE_JOBS, ("a_online", "preemptive"), "preemption without overhead, against jobs"
    ),
    "figure_8": _figure(
        _FIGURE_SERVERS, ("a_online", "preemptive"), "preemption without overhead, against servers"
    ),
    "figure_9": _figure(
        _FIGURE_JOBS, ("a_online", _SLOW), "preemption with overhead, against jobs"
    ),
    "figure_10": _figure(
        _FIGURE_SERVERS, ("a_online", _SLOW), "preemption with overhead, against servers"
    ),
    "figure_11": _figure(
        {"jobs": [200], "servers": [200], "gradient_size_mb": [50, 150, 300, 450, 575]},
        ("a_online", "preemptive", _SLOW),
        "total completion time against the size of gradients",
    ),
    "figure_12": _figure(
        _FIGURE_JOBS, ("a_online", "preemptive"), "utilisation of the edge, against jobs"
    ),
    "figure_13": _figure(
        _FIGURE_SERVERS, ("a_online", "preemptive"), "utilisation of the edge, against servers"
    ),
}

_WEIGHTED = ('a_online(value_rule="weight")', 'batch_sche(value_rule="weight")')
_COMPLETION_PRESETS = {
    name: _PRESETS[name]
    for name in ("quick", "figure_3", "figure_4", "figure_14", "figure_14_servers")
} | {
    "figure_5": Preset(
        grid={
            "jobs": [200],
            "servers": [200],
            "weights": ["uniform"],
            "price_cap": [0.01, 0.1, 1.0, 10.0, 100.0],
        },
        seeds=3,
        heuristics=_WEIGHTED,
        reference="problem_2_columns",
        time_limit=60.0,
        x="price_cap",
        summary="total weighted completion time against the price cap F",
    ),
    "figure_6": Preset(
        grid={"jobs": [200], "servers": _SERVERS, "weights": ["uniform"]},
        seeds=3,
        heuristics=_WEIGHTED,
        reference="problem_2_columns",
        time_limit=60.0,
        x="servers",
        summary="total weighted completion time against the number of edge servers",
    ),
}

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
    presets=_PRESETS,
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
    presets=_COMPLETION_PRESETS,
)
"""What the paper's figures plot; its heuristics come from an entry point of their own."""
