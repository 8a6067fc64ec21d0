"""A model in other tools' terms: MPS and LP files, scipy, PuLP, MathOpt; and MPS files as models.

Nonlinear blocks are lowered to linear rows first; rotated cones are refused.
"""

from __future__ import annotations

import re
from pathlib import Path

from optsched.errors import InputError
from optsched.formats.lp import lp_text
from optsched.formats.mps import mps_text
from optsched.formats.names import name_all
from optsched.model.matrix_form import MatrixForm

_WRITERS = {".mps": mps_text, ".lp": lp_text}


def write(compiled: MatrixForm, path: str | Path, name: str) -> dict[str, str]:
    """Write an MPS (free format) or LP file.

    Names are made of letters, digits and underscores: ``y[0, 3]`` becomes ``y_0_3``.

    Args:
        compiled: linear rows only.
        path: ends in ".mps" or ".lp".
        name: of the model.

    Returns:
        From each name in the file to the model's own.

    Raises:
        InputError: another ending.
    """
    file = Path(path)
    if file.suffix.lower() not in _WRITERS:
        raise InputError.of("path", str(path), "must end in " + " or ".join(_WRITERS))
    names = name_all(compiled)
    text = _WRITERS[file.suffix.lower()](compiled, names, title(name))
    file.write_text(text, encoding="ascii")
    return names.original()


def title(name: str) -> str:
    """A model's name as every format takes it."""
    return re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") or "model"
