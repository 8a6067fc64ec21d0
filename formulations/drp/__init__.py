"""Data collection and resource allocation for training at the edge (Chen et al.): DRP and DSRP.

``PROBLEM`` is DRP (5), ``DSRP`` the same with services that take storage (22); both share the
instance. The modules beside it are meant to be read next to the paper.

================================ ==================================================================
the paper                        file
================================ ==================================================================
the system, (1) to (4)           ``instance``, ``loads``; random ones: ``generator``, ``topology``
(5): (5a) to (5i)                ``problem_5``, blocks of these names; checked by ``check``
LP1: (6) to (13)                 ``lp1_lp2``: ``lp_literal``, blocks "12", "13"; without resources
                                 ``lp1``; PRUNE, (14) to (16): ``prune``
(22): (22a) to (22l)             ``problem_22``, blocks of these names; checked by ``check``
LP2: (23) to (25), (30), (31)    ``lp1_lp2``: ``lp_literal``; without resources ``lp2``
(26) to (29), filtering          ``r_dsr_filtering``
resources eliminated (ours)      ``problem_p3_p5``
what the paper states            ``theorems``
figures                          ``plots``
================================ ==================================================================

``PROBLEM.equation("5d")`` and ``DSRP.equation("22c")`` say where a number is, ``optsched problems
drp --equations`` (and ``dsrp``) where all are.
"""

from dataclasses import replace

from formulations import STUDIES
from formulations.drp.check import MEASURES, check, check_dsrp, cost
from formulations.drp.generator import GeneratorOptions, generate
from formulations.drp.instance import Instance
from formulations.drp.schedule import Schedule
from optsched.problem import LazyMapping, Problem, later

__all__ = ["DSRP", "PROBLEM", "Instance", "Schedule"]

PROBLEM = Problem(
    name="drp",
    summary="data collection and resource allocation for training at the edge",
    source="M. Chen, H. Wang, Z. Meng, H. Xu, Y. Xu, J. Liu, H. Huang: Joint Data Collection and "
    "Resource Allocation for Distributed Machine Learning at the Edge. IEEE Transactions on Mobile "
    "Computing, 2020, doi:10.1109/TMC.2020.3045436",
    instance_type=Instance,
    schedule_type=Schedule,
    check=check,
    cost=cost,
    generate=generate,
    generator_options=GeneratorOptions,
    formulations=LazyMapping.of(
        "formulations.drp",
        {
            "problem_5_projected": "exact.method:SOLVE_5",
            "problem_5_oa": "models:DRP",
            "problem_5_cone": "models:DRP",
            "problem_5": "models:DRP",
            "drp_eps": "models:DRP",
            "drp_lin": "models:DRP",
            "lp1": "models:DRP",
            "lp1_literal": "models:DRP",
            "lp1_first": "models:DRP",
            "lin": "models:DRP",
            "soc": "problem_p3_p5:SOC",
        },
    ),
    reference="problem_5_projected",
    proof_model="problem_5_oa(angles=2, covers=False)",
    unit="jobs",
    sense="maximise",
    bounds=LazyMapping.of(
        "formulations.drp", {"soc": "problem_p3_p5:SOC_BOUND", "lp1_first": "prune:LP1_FIRST"}
    ),
    measures=MEASURES,
    pictures={"map": later("formulations.drp.plots", "draw_map")},
    presets=STUDIES / "drp.toml",
    certify=later("formulations.drp.theorems", "certify"),
    sample={"jobs": 2, "nodes_per_job": 2},
)
"""DRP; its heuristics come from a separate entry point."""

DSRP = replace(
    PROBLEM,
    name="dsrp",
    summary="data collection, resource allocation and service placement at the edge",
    check=check_dsrp,
    formulations=LazyMapping.of(
        "formulations.drp",
        {
            "problem_22_projected": "exact.method:SOLVE_22",
            "problem_22_oa": "models:DSRP",
            "problem_22_cone": "models:DSRP",
            "problem_22": "models:DSRP",
            "dsrp_eps": "models:DSRP",
            "dsrp_lin": "models:DSRP",
            "lp2": "models:DSRP",
            "lp2_literal": "models:DSRP",
            "lin": "models:DSRP",
            "soc": "problem_p3_p5:SOC_SERVICES",
        },
    ),
    reference="problem_22_projected",
    proof_model="problem_22_oa(angles=2, covers=False)",
    bounds=LazyMapping.of(
        "formulations.drp", {"soc": "problem_p3_p5:SOC_SERVICES_BOUND", "lp2": "lp1_lp2:LP2"}
    ),
    presets=STUDIES / "dsrp.toml",
    certify=later("formulations.drp.theorems", "certify_dsrp"),
)
"""DSRP; its heuristics come from a separate entry point."""
