"""Optima proven in exact arithmetic: found in floating point, checked with whole numbers."""

from optsched.proof.exact_model import ProofError
from optsched.proof.finding import find
from optsched.proof.tree import NoPointError, NotProvenError
from optsched.proof.verifying import verify

__all__ = ["NoPointError", "NotProvenError", "ProofError", "find", "verify"]
