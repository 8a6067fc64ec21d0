"""Every model of DRP and of DSRP beside how its points are read."""

from functools import partial

from formulations.drp.decode import decode, decode_share, encode, encode_services
from formulations.drp.lp1_lp2 import (
    LP1_EQUATIONS,
    LP2_EQUATIONS,
    drp_eps,
    drp_lin,
    dsrp_eps,
    dsrp_lin,
    lin,
    lin_services,
    lp1,
    lp2,
    lp_literal,
)
from formulations.drp.problem_5 import EQUATIONS as EQUATIONS_5
from formulations.drp.problem_5 import problem_5, problem_5_cone
from formulations.drp.problem_22 import EQUATIONS as EQUATIONS_22
from formulations.drp.problem_22 import problem_22, problem_22_cone
from formulations.drp.problem_p3_p5 import problem_5_projected, problem_22_projected
from formulations.drp.prune import lp1_first
from optsched.problem.methods import Formulation

DRP = (
    Formulation("problem_5_oa", problem_5_projected, "problem (5), [P4]",
                "the same model, handed to the solver or to outer approximation as it is",
                decode, encode),
    Formulation("problem_5_cone", problem_5_cone, "problem (5), (C1)",
                "a second-order cone per job and server", decode, encode),
    Formulation("problem_5", problem_5, "problem (5)",
                "as printed, the deadline rational", decode, encode, equations=EQUATIONS_5),
    Formulation("drp_eps", drp_eps, "problem (5) with (12), (13)",
                "one communication share for all jobs: a restriction of (5)",
                decode_share, encode, admits=None),
    Formulation("drp_lin", drp_lin, "[LIN]",
                "a_j + b_j <= 1: a restriction of (5) without a parameter", decode, encode,
                admits=None),
    Formulation("lp1", lp1, "LP1, (6) to (13)",
                "relaxation of drp_eps; no bound on (5)"),
    Formulation("lp1_literal", partial(lp_literal, services=False), "LP1, (6) to (13)",
                "the same under the paper's numbers, resources as variables",
                equations=LP1_EQUATIONS),
    Formulation("lp1_first", lp1_first, "LP1 after PRUNE",
                "what the paper's evaluation calls optimal; no bound on (5)"),
    Formulation("lin", lin, "[LIN]", "relaxation of drp_lin; no bound on (5)"),
)  # fmt: skip

_decode = partial(decode, services=True)

DSRP = (
    Formulation("problem_22_oa", problem_22_projected, "problem (22), [P5]",
                "the same model, handed to the solver or to outer approximation as it is",
                _decode, encode_services),
    Formulation("problem_22_cone", problem_22_cone, "problem (22), (C1)",
                "a second-order cone per job (or node) and server", _decode, encode_services),
    Formulation("problem_22", problem_22, "problem (22)",
                "as printed, the deadline rational; resources by job", _decode, encode_services,
                equations=EQUATIONS_22),
    Formulation("dsrp_eps", dsrp_eps, "problem (22) with (30), (31)",
                "one communication share for all jobs: a restriction of (22)",
                partial(decode_share, services=True), encode_services, admits=None),
    Formulation("dsrp_lin", dsrp_lin, "[LIN]",
                "a_j + b_j <= 1: a restriction of (22) without a parameter",
                _decode, encode_services, admits=None),
    Formulation("lp2", lp2, "LP2, (23) to (31)", "relaxation of dsrp_eps; no bound on (22)"),
    Formulation("lp2_literal", partial(lp_literal, services=True), "LP2, (23) to (31)",
                "the same under the paper's numbers, resources as variables",
                equations=LP2_EQUATIONS),
    Formulation("lin", lin_services, "[LIN]", "relaxation of dsrp_lin; no bound on (22)"),
)  # fmt: skip
