"""Data collection and resource allocation for training at the edge (Chen et al.): DRP and DSRP.

``PROBLEM`` is DRP (5), ``DSRP`` the same with services that take storage (22); both share the
instance. The modules beside it are meant to be read next to the paper.
"""

from functools import partial

from formulations import STUDIES
from formulations.drp import exact, relaxation
from formulations.drp.check import bandwidth_cost, check, check_dsrp, cost, utilisation
from formulations.drp.decode import decode, decode_share, encode, encode_services
from formulations.drp.exact import solve_problem_5, solve_problem_22
from formulations.drp.fixed_share import optimum
from formulations.drp.generator import GeneratorOptions, generate
from formulations.drp.instance import Instance
from formulations.drp.problem_5 import (
    drp_eps,
    drp_lin,
    lin,
    lp1,
    problem_5,
    problem_5_cone,
    problem_5_projected,
    soc,
)
from formulations.drp.problem_22 import (
    dsrp_eps,
    dsrp_lin,
    lin_services,
    lp2,
    problem_22,
    problem_22_cone,
    problem_22_projected,
    soc_services,
)
from formulations.drp.prune import lp1_first
from formulations.drp.relaxation import TOLERANCE, soc_bound
from formulations.drp.schedule import Schedule
from optsched.problem import Answer, Bound, ExactMethod, Formulation, Problem, later

__all__ = ["DSRP", "PROBLEM", "Instance", "Schedule"]

_PAPER = (
    "Chen et al., Joint Data Collection and Resource Allocation for Distributed Machine Learning "
    "at the Edge"
)
_decode_services = partial(decode, services=True)

_DRP = (
    ExactMethod(
        "problem_5_projected", solve_problem_5, "problem (5), [P4]",
        "resources eliminated, a 2 by 2 matrix condition per server: the model for scale; "
        "relaxation, choice of jobs and local search first, branch and bound for what is left",
        exact.HONOURS,
    ),
    Formulation("problem_5_oa", problem_5_projected, "problem (5), [P4]",
                "the same model, handed to the solver or to outer approximation as it is",
                decode, encode),
    Formulation("problem_5_cone", problem_5_cone, "problem (5), (C1)",
                "a second-order cone per job and server", decode, encode),
    Formulation("problem_5", problem_5, "problem (5)",
                "as printed, the deadline rational", decode, encode),
    Formulation("drp_eps", drp_eps, "problem (5) with (12), (13)",
                "one communication share for all jobs: a restriction of (5)",
                decode_share, encode),
    Formulation("drp_lin", drp_lin, "[LIN]",
                "a_j + b_j <= 1: a restriction of (5) without a parameter", decode, encode),
    Formulation("lp1", lp1, "LP1, (6) to (13)",
                "relaxation of drp_eps; no bound on (5)"),
    Formulation("lp1_first", lp1_first, "LP1 after PRUNE",
                "what the paper's evaluation calls optimal; no bound on (5)"),
    Formulation("lin", lin, "[LIN]", "relaxation of drp_lin; no bound on (5)"),
    ExactMethod("soc",
                lambda instance, options, *, tolerance=TOLERANCE: Answer(
                    soc(instance, tolerance=tolerance, options=options)),
                "[P3]", "second-order-cone relaxation of (5)", relaxation.HONOURS, relaxation=True),
)  # fmt: skip

_SERVICES = (
    ExactMethod(
        "problem_22_projected", solve_problem_22, "problem (22), [P5]",
        "resources eliminated, a 2 by 2 matrix condition per server: the model for scale; "
        "relaxation, choice of jobs and local search first, branch and bound for what is left",
        exact.HONOURS,
    ),
    Formulation("problem_22_oa", problem_22_projected, "problem (22), [P5]",
                "the same model, handed to the solver or to outer approximation as it is",
                _decode_services, encode_services),
    Formulation("problem_22_cone", problem_22_cone, "problem (22), (C1)",
                "a second-order cone per job (or node) and server",
                _decode_services, encode_services),
    Formulation("problem_22", problem_22, "problem (22)",
                "as printed, the deadline rational", _decode_services, encode_services),
    Formulation("dsrp_eps", dsrp_eps, "problem (22) with (30), (31)",
                "one communication share for all jobs: a restriction of (22)",
                partial(decode_share, services=True), encode_services),
    Formulation("dsrp_lin", dsrp_lin, "[LIN]",
                "a_j + b_j <= 1: a restriction of (22) without a parameter",
                _decode_services, encode_services),
    Formulation("lp2", lp2, "LP2, (23) to (31)", "relaxation of dsrp_eps; no bound on (22)"),
    Formulation("lin", lin_services, "[LIN]", "relaxation of dsrp_lin; no bound on (22)"),
    ExactMethod("soc",
                lambda instance, options, *, tolerance=TOLERANCE: Answer(
                    soc_services(instance, tolerance=tolerance, options=options)),
                "[P5] relaxed", "second-order-cone relaxation of (22)", relaxation.HONOURS,
                relaxation=True),
)  # fmt: skip

_MEASURES = {
    "gbit_per_s_per_job": lambda instance, s: bandwidth_cost(instance, s).total / 1e9,
    "largest_load": lambda instance, s: max(utilisation(instance, s).values()),
}

PROBLEM = Problem(
    name="drp",
    summary="data collection and resource allocation for training at the edge",
    source=_PAPER,
    instance_type=Instance,
    schedule_type=Schedule,
    check=check,
    cost=cost,
    generate=generate,
    generator_options=GeneratorOptions,
    formulations={f.name: f for f in _DRP},
    reference="problem_5_projected",
    proof_model="problem_5_oa(angles=2, covers=False)",
    unit="jobs",
    sense="maximise",
    bounds={
        "soc": Bound("soc", soc_bound, "[P3]", "whole jobs of the second-order-cone relaxation"),
        "lp1_first": Bound(
            "lp1_first",
            lambda instance: optimum(lp1_first(instance)),
            "LP1 after PRUNE",
            "what the paper's evaluation calls optimal; no bound on (5)",
            proven=False,
        ),
    },
    measures=_MEASURES,
    pictures={"map": later("formulations.drp.plots", "draw_map")},
    presets=STUDIES / "drp.toml",
)
"""DRP; its heuristics come from an entry point of their own."""

DSRP = Problem(
    name="dsrp",
    summary="data collection, resource allocation and service placement at the edge",
    source=_PAPER,
    instance_type=Instance,
    schedule_type=Schedule,
    check=check_dsrp,
    cost=cost,
    generate=generate,
    generator_options=GeneratorOptions,
    formulations={f.name: f for f in _SERVICES},
    reference="problem_22_projected",
    proof_model="problem_22_oa(angles=2, covers=False)",
    unit="jobs",
    sense="maximise",
    bounds={
        "soc": Bound(
            "soc",
            partial(soc_bound, services=True),
            "[P5] relaxed",
            "whole jobs of the second-order-cone relaxation",
        ),
        "lp2": Bound(
            "lp2",
            lambda instance: optimum(lp2(instance)),
            "LP2, (23) to (31)",
            "the paper's yardstick; no bound on (22)",
            proven=False,
        ),
    },
    measures=_MEASURES,
    pictures={"map": later("formulations.drp.plots", "draw_map")},
    presets=STUDIES / "dsrp.toml",
)
"""DSRP; its heuristics come from an entry point of their own."""
