"""Conformance tests for authors of back ends and of kinds of block.

``check_backend("mine")`` runs every case of the catalogue and solves that are cut short, and
reports what came of each. In pytest, parametrise over
``conformance_cases()`` and ``ENDINGS`` with ``ids=str`` and assert on ``check_case`` and
``check_ending``.
"""

from optsched.evaluation.check_online import check_online
from optsched.solvers.backend import Feature
from optsched.testing.case import (
    ConformanceCase,
    ConformanceReport,
    ConformanceResult,
    Word,
    complaint,
)
from optsched.testing.catalogue import conformance_cases
from optsched.testing.conformance import (
    check_backend,
    check_case,
)
from optsched.testing.endings import ENDINGS, LimitCase, check_ending, check_endings
from optsched.testing.projection import Projection, project

__all__ = [
    "ENDINGS",
    "ConformanceCase",
    "ConformanceReport",
    "ConformanceResult",
    "Feature",
    "LimitCase",
    "Projection",
    "Word",
    "check_backend",
    "check_case",
    "check_ending",
    "check_endings",
    "check_online",
    "complaint",
    "conformance_cases",
    "project",
]
