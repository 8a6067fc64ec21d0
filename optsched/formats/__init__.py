"""A model in other tools' terms: MPS and LP files, scipy, PuLP, MathOpt; and MPS files as models.

Nonlinear blocks are lowered to linear rows first; rotated cones are refused.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optsched.errors import InputError
from optsched.formats.arguments import ScipyArguments
from optsched.formats.lp import lp_text
from optsched.formats.mps import mps_text
from optsched.formats.names import Names, name_all

if TYPE_CHECKING:
    from optsched.model.model import Model

__all__ = ["Names", "ScipyArguments", "to_mathopt", "to_pulp", "to_scipy", "write"]

_WRITERS = {".mps": mps_text, ".lp": lp_text}


def write(model: Model, path: str | Path) -> dict[str, str]:
    """Write an MPS (free format) or LP file.

    Names are made of letters, digits and underscores: ``y[0, 3]`` becomes ``y_0_3``.

    Args:
        model: what to write.
        path: ends in ".mps" or ".lp".

    Returns:
        From each name in the file to the model's own.

    Raises:
        InputError: another ending.
        UnsupportedError: the model has rotated cones.
    """
    file = Path(path)
    if file.suffix.lower() not in _WRITERS:
        raise InputError.of("path", str(path), "must end in " + " or ".join(_WRITERS))
    compiled = model.compile()
    names = name_all(compiled)
    text = _WRITERS[file.suffix.lower()](compiled, names, _title(model))
    file.write_text(text, encoding="ascii")
    return names.original()


def to_scipy(model: Model) -> ScipyArguments:
    """Arguments of ``scipy.optimize.milp`` and ``linprog``."""
    compiled = model.compile()
    return ScipyArguments(compiled, name_all(compiled))


def to_pulp(model: Model) -> Any:
    """A ``pulp.LpProblem``, to be solved by whatever PuLP drives.

    Raises:
        ImportError: PuLP is not installed.
    """
    from optsched.formats.objects import pulp_problem

    compiled = model.compile()
    return pulp_problem(compiled, name_all(compiled), _title(model))


def to_mathopt(model: Model) -> Any:
    """An ``ortools.math_opt.python.mathopt.Model``."""
    from optsched.formats.objects import mathopt_model

    compiled = model.compile()
    return mathopt_model(compiled, name_all(compiled), _title(model))


def _title(model: Model) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", "_", model.name).strip("_") or "model"
