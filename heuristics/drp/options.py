"""Options that several algorithms share, refused before anything runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, get_args

from formulations.drp.instance import Instance
from formulations.drp.residual_capacity import Mode, share_of
from optsched.errors import FieldProblem, InputError


def checked_share(instance: Instance, mode: Mode, comm_share: float | None) -> float:
    """The communication share in use.

    Raises:
        InputError: ``mode`` is neither "eps" nor "exact", or the share is not in (0, 1).
    """
    require("mode", mode, get_args(Mode))
    return share_of(instance, comm_share)


def require(name: str, value: Any, allowed: Iterable[Any]) -> None:
    """Refuse a value that is not among those allowed.

    Raises:
        InputError: naming the option.
    """
    known = list(allowed)
    if value not in known:
        raise InputError([FieldProblem(name, value, "one of " + ", ".join(map(str, known)))])
