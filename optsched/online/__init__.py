"""Online means online: policies that are handed one job at a time, and algorithms held to it.

``simulate`` drives a policy: a class with ``arrive(job, state)``, or ``slot(state)`` where it
decides slot by slot. ``anticipation`` tells whether any algorithm looks ahead, by changing what
comes later. ``reoptimise`` is the rival that solves the exact model anew on every arrival.
``online_lower_bound`` is what not knowing the future costs any algorithm, on a tree of scenarios,
and ``information_relaxation`` a bound on it that never has more than one scenario in a model.
"""

from optsched.online.anticipation import Anticipation, anticipation
from optsched.online.information_relaxation import InformationRelaxation, information_relaxation
from optsched.online.lower_bound import OnlineLowerBound, online_lower_bound, stopping_scenarios
from optsched.online.reoptimise import reoptimise, reoptimise_heuristic
from optsched.online.simulator import Policy, Rerun, is_policy, policy_heuristic, simulate
from optsched.online.state import State

__all__ = [
    "Anticipation",
    "InformationRelaxation",
    "OnlineLowerBound",
    "Policy",
    "Rerun",
    "State",
    "anticipation",
    "information_relaxation",
    "is_policy",
    "online_lower_bound",
    "policy_heuristic",
    "reoptimise",
    "reoptimise_heuristic",
    "simulate",
    "stopping_scenarios",
]
