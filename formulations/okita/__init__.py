"""Online scheduling of unbiased distributed learning over edge sites (Okita).

``PROBLEM`` is what ``optsched`` finds by its entry point; the modules beside it are meant to be
read next to the paper, one per numbered problem.
"""

from formulations import STUDIES
from formulations.okita.bounds import lb_alone, lb_sites
from formulations.okita.check import (
    check,
    completion_slots,
    cost,
    data_costs,
    exchange_costs,
    flow_times,
    job_costs,
)
from formulations.okita.columns import column_bound, problem_2_columns
from formulations.okita.encode import encode_aggregated, encode_logical, encode_problem_2
from formulations.okita.generator import GeneratorOptions, generate
from formulations.okita.instance import Instance
from formulations.okita.problem_2 import decode_problem_2, problem_2
from formulations.okita.problem_2_aggregated import (
    decode_aggregated,
    problem_2_aggregated,
    problem_2_logical,
)
from formulations.okita.relaxed_columns import relaxed_column_bound
from formulations.okita.schedule import Schedule
from optsched.problem import GAPS, LIMITS, Bound, ExactMethod, Formulation, Problem, later

__all__ = ["PROBLEM", "Instance", "Schedule"]

_PAPER = "Online Scheduling of Unbiased Distributed Learning Jobs over Edge Networks (Okita)"

_FORMULATIONS = (
    ExactMethod(
        "problem_2_columns", problem_2_columns, "problem (2)",
        "branch and price over whole schedules of one job, priced by dynamic programming: the "
        "model for scale",
        LIMITS | GAPS | {"start"},
    ),
    Formulation(
        "problem_2_aggregated", problem_2_aggregated, "problem (2)",
        "transport added up over time, exchange cost as epigraph or hull; integer program",
        decode_aggregated, encode_aggregated,
    ),
    Formulation(
        "problem_2_logical", problem_2_logical, "problem (2)",
        "the same with the product of workers and server as it is, for constraint programming",
        decode_aggregated, encode_logical, solver="cpsat",
    ),
    Formulation(
        "problem_2", problem_2, "problem (2)",
        "row by row as printed: chunks moved in every slot, products of workers and server",
        decode_problem_2, encode_problem_2,
    ),
)  # fmt: skip

_BOUNDS = (
    Bound("lb_columns", lambda instance: column_bound(instance, seconds=60.0), "problem (2)",
          "Lagrangian bound of the capacities: columns are whole schedules of one job"),
    Bound("lb_relaxed_columns", lambda instance: relaxed_column_bound(instance, seconds=60.0),
          "problem (2)",
          "the same of a relaxation that takes chunks one by one: sees capacities at any size"),
    Bound("lb_alone", lb_alone, "problem (2) job by job", "every job as if it were the only one"),
    Bound("lb_sites", lb_sites, "closed form",
          "every job alone, counting the sites its server can visit; for any size"),
)  # fmt: skip

PROBLEM = Problem(
    name="okita",
    summary="unbiased distributed learning over edge sites: latency, data and exchange costs",
    source=_PAPER,
    instance_type=Instance,
    schedule_type=Schedule,
    check=check,
    cost=cost,
    generate=generate,
    generator_options=GeneratorOptions,
    formulations={f.name: f for f in _FORMULATIONS},
    reference="problem_2_columns",
    proof_model="problem_2_aggregated(exchange='hull')",
    unit="money",
    bounds={b.name: b for b in _BOUNDS},
    measures={
        "without_worst_job": lambda instance, s: float(
            job_costs(instance, s).sum() - job_costs(instance, s).max()
        ),
        "bandwidth": lambda instance, s: float(
            (data_costs(instance, s) + exchange_costs(instance, s)).sum()
        ),
        "mean_flow_time": lambda instance, s: float(flow_times(instance, s).mean()),
        "jobs_after_horizon": lambda instance, s: float(
            (completion_slots(instance, s) > instance.horizon).sum()
        ),
    },
    presets=STUDIES / "okita.toml",
    pictures={name: later("formulations.okita.plots", name) for name in ("gantt", "utilisation")},
)
"""What ``optsched`` knows of the problem; its heuristics come from an entry point of their own."""
