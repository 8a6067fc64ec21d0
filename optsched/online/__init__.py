"""Online algorithms: policies that get one job at a time, tests for look-ahead, lower bounds.

``simulate`` runs a policy: a class with ``arrive(job, state)``, or with ``slot(state)`` if it
decides slot by slot. ``anticipation`` tests whether any algorithm looks ahead, by changing later
jobs. ``reoptimise`` solves the exact model again at every arrival. ``online_lower_bound`` is the
least ratio of any online algorithm on a tree of scenarios. ``information_relaxation`` bounds it
with one scenario per model.
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
