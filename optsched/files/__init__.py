"""Export models to MPS and LP files, scipy, PuLP and MathOpt; read files as models.

Nonlinear blocks are lowered to linear rows first, unless a file is asked to state them natively.
Rotated cones are refused, except for a quadratic objective in a file.
"""

from __future__ import annotations

import re
from pathlib import Path

from optsched.errors import InputError
from optsched.files.beyond_rows import split
from optsched.files.lp import lp_text
from optsched.files.mps import mps_text
from optsched.files.names import name_all
from optsched.model import Model

_WRITERS = {".mps": mps_text, ".lp": lp_text}


def write(model: Model, path: str | Path, *, native: bool = False) -> dict[str, str]:
    """Write an MPS (free format) or LP file.

    Names are made of letters, digits and underscores: ``y[0, 3]`` becomes ``y_0_3``; those of a
    model read from a file stay as they were there, where every reader accepts them.

    An MPS file is a minimisation, because not every reader follows a word on the sense: a model to
    be maximised is written with the negative of its objective, and comes back so. An LP file keeps
    the sense. Numbers of 1e20 and more mean infinity to those who read a file.

    Args:
        model: its blocks are lowered to rows; sums of squares that are minimised are a quadratic
            objective.
        path: ends in ".mps" or ".lp".
        native: say what the format can, for readers that know it: indicators, special ordered
            sets, semi-continuous and semi-integer variables. HiGHS 1.12 reads the last two, CBC
            2.10 sets, OR-tools' ModelBuilder 9.15 the indicators of MPS files.

    Returns:
        From each name in the file to the model's own.

    Raises:
        InputError: another ending.
        ModelError: a block that must be lowered lacks the bounds for it.
        UnsupportedError: a rotated cone that is no quadratic objective.
    """
    file = Path(path)
    if file.suffix.lower() not in _WRITERS:
        raise InputError.of("path", str(path), "must end in " + " or ".join(_WRITERS))
    compiled, beyond = split(model, native=native)
    ending = file.suffix.lower()
    names = name_all(compiled, beyond.set_blocks, mps=ending == ".mps")
    text = _WRITERS[ending](compiled, names, title(model.name), beyond)
    file.write_text(text, encoding="ascii")
    return names.original()


def title(name: str) -> str:
    """A model's name as every format takes it."""
    return re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") or "model"
