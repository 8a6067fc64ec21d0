"""What several tests of proofs share."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from optsched.model import MatrixForm
from optsched.proof import ProofError, verify


def accepted(form: MatrixForm, proofs: Iterable[dict[str, Any]]) -> list[Fraction | None]:
    """The bounds of those proofs that the verifier accepts."""
    bounds = []
    for proof in proofs:
        try:
            bounds.append(verify(form, proof))
        except ProofError:
            continue
    return bounds
