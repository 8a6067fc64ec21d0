"""Online scheduling of unbiased distributed learning over edge sites (Okita).

``PROBLEM`` is what ``optsched`` finds by its entry point; the modules beside it are meant to be
read next to the paper, one per numbered problem.
"""

from formulations import STUDIES
from formulations.okita.bounds import BOUNDS
from formulations.okita.check import MEASURES, check, cost
from formulations.okita.columns import LB_COLUMNS, METHOD
from formulations.okita.encode import FORMULATIONS
from formulations.okita.generator import GeneratorOptions, generate
from formulations.okita.instance import Instance
from formulations.okita.online import ARRIVALS
from formulations.okita.relaxed_columns import LB_RELAXED_COLUMNS
from formulations.okita.schedule import Schedule
from optsched.problem import Problem, later

__all__ = ["PROBLEM", "Instance", "Schedule"]

PROBLEM = Problem(
    name="okita",
    summary="unbiased distributed learning over edge sites: latency, data and exchange costs",
    source="Online Scheduling of Unbiased Distributed Learning Jobs over Edge Networks (Okita)",
    instance_type=Instance,
    schedule_type=Schedule,
    check=check,
    cost=cost,
    generate=generate,
    generator_options=GeneratorOptions,
    formulations={f.name: f for f in (METHOD, *FORMULATIONS)},
    reference="problem_2_columns",
    proof_model="problem_2_aggregated(exchange='hull')",
    unit="money",
    bounds={bound.name: bound for bound in (LB_COLUMNS, LB_RELAXED_COLUMNS, *BOUNDS)},
    measures=MEASURES,
    presets=STUDIES / "okita.toml",
    pictures={name: later("formulations.okita.plots", name) for name in ("gantt", "utilisation")},
    arrivals=ARRIVALS,
)
"""What ``optsched`` knows of the problem; its heuristics come from an entry point of their own."""
