"""Optima proven in exact arithmetic: found in floating point, checked with whole numbers."""

from optsched.proof.exact_model import ProofError
from optsched.proof.finding import find
from optsched.proof.tree import NotProvenError
from optsched.proof.verifying import verify

__all__ = ["NotProvenError", "ProofError", "find", "verify"]
