"""Worst instances: searched for, made small, explained, and kept as certificates."""

from optsched.worst.case import Case, check_case, make_case
from optsched.worst.search import Search, worst
from optsched.worst.shrink import shrink
from optsched.worst.why import why

__all__ = ["Case", "Search", "check_case", "make_case", "shrink", "why", "worst"]
