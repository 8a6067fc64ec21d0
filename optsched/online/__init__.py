"""Online means online: policies that are handed one job at a time, and algorithms held to it.

``simulate`` drives a policy: a class with ``arrive(job, state)``, or ``slot(state)`` where it
decides slot by slot. ``anticipation`` tells whether any algorithm looks ahead, by changing what
comes later. ``reoptimise`` is the rival that solves the exact model anew on every arrival.
"""

from optsched.online.anticipation import Anticipation, anticipation
from optsched.online.reoptimise import reoptimise, reoptimise_heuristic
from optsched.online.simulator import Policy, Rerun, is_policy, policy_heuristic, simulate
from optsched.online.state import State

__all__ = [
    "Anticipation",
    "Policy",
    "Rerun",
    "State",
    "anticipation",
    "is_policy",
    "policy_heuristic",
    "reoptimise",
    "reoptimise_heuristic",
    "simulate",
]
