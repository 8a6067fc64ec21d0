"""Worst instances: searched for, made small, explained, and kept as certificates."""

from optsched.worst.case import Case, check_case, make_case
from optsched.worst.pricing import PriceCase, check_price_case, make_price_case
from optsched.worst.search import Search, worst
from optsched.worst.shrink import shrink
from optsched.worst.why import why

__all__ = [
    "Case",
    "PriceCase",
    "Search",
    "check_case",
    "check_price_case",
    "make_case",
    "make_price_case",
    "shrink",
    "why",
    "worst",
]
