"""Adversarial instances: search, shrinking, explanation, and certificates."""

from optsched.adversary.case import Case, check_case, make_case
from optsched.adversary.hunt import Hunt
from optsched.adversary.online_bound import (
    OnlineBoundCase,
    check_online_bound_case,
    make_online_bound_case,
)
from optsched.adversary.search import Search, adversarial
from optsched.adversary.shrink import shrink
from optsched.adversary.why import why

__all__ = [
    "Case",
    "Hunt",
    "OnlineBoundCase",
    "Search",
    "adversarial",
    "check_case",
    "check_online_bound_case",
    "make_case",
    "make_online_bound_case",
    "shrink",
    "why",
]
