"""Conformance tests for authors of back ends and of kinds of block.

``check_backend("mine")`` runs every case of the catalogue, random models judged by enumeration
and solves that are cut short, and reports what came of each. In pytest, parametrise over
``conformance_cases()`` and ``ENDINGS`` with ``ids=str`` and assert on ``check_case`` and
``check_ending``.
"""

from optsched.evaluation.check_online import check_online
from optsched.solvers.backend import Feature
from optsched.testing.case import ConformanceCase, complaint
from optsched.testing.catalogue import conformance_cases
from optsched.testing.conformance import (
    check_backend,
    check_case,
    counted_case,
    random_case,
)
from optsched.testing.endings import ENDINGS, LimitCase, check_ending, check_endings
from optsched.testing.enumeration import Optimum, enumerate_optimum
from optsched.testing.projection import Projection, project
from optsched.testing.random_models import RANDOM_KINDS, random_model, random_recipe
from optsched.testing.recipe import Recipe, build
from optsched.testing.results import ConformanceReport, ConformanceResult, Word

__all__ = [
    "ENDINGS",
    "RANDOM_KINDS",
    "ConformanceCase",
    "ConformanceReport",
    "ConformanceResult",
    "Feature",
    "LimitCase",
    "Optimum",
    "Projection",
    "Recipe",
    "Word",
    "build",
    "check_backend",
    "check_case",
    "check_ending",
    "check_endings",
    "check_online",
    "complaint",
    "conformance_cases",
    "counted_case",
    "enumerate_optimum",
    "project",
    "random_case",
    "random_model",
    "random_recipe",
]
