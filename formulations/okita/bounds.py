"""Lower bounds on problem (2) that need no solver."""

from __future__ import annotations

from formulations.okita.horizon import site_bounds
from formulations.okita.instance import Floats, Instance
from formulations.okita.one_job.planner import Planner
from optsched.problem import Bound


def lb_sites(instance: Instance) -> float:
    """Sum of ``site_bounds``, money: for sizes at which nothing better can be had."""
    return float(site_bounds(instance).sum())


def job_bounds(instance: Instance) -> Floats:
    """F_i: the optimum of each job alone, or a bound on it where that is out of reach."""
    return Planner(instance).floors


def lb_alone(instance: Instance) -> float:
    """Every job as if it were the only one, money."""
    return float(job_bounds(instance).sum())


BOUNDS = (
    Bound("lb_alone", lb_alone, "problem (2) job by job", "every job as if it were the only one",
          quick=True),
    Bound("lb_sites", lb_sites, "closed form",
          "every job alone, counting the sites its server can visit; for any size"),
)  # fmt: skip
