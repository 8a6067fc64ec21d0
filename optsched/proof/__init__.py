"""Proofs of optima: found in floating point, verified in exact arithmetic."""

from optsched.proof.exact_model import ProofError
from optsched.proof.finding import find
from optsched.proof.tree import NoPointError, NotProvenError
from optsched.proof.verifying import verify

__all__ = ["NoPointError", "NotProvenError", "ProofError", "find", "verify"]
