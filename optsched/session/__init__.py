"""A model on a live solver, edited and solved again."""

from optsched.session.live import Session

__all__ = ["Session"]
