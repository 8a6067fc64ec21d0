"""The folder of real traces that some sweeps measure."""

from __future__ import annotations

import os
from pathlib import Path

from optsched.errors import InputError
from optsched.evaluation.runs import UnmeasuredError

DATA = "OPTSCHED_DATA"
"""Environment variable that names the folder."""


def point_to(folder: Path | None) -> None:
    """Name the folder to this process and to those it starts; None leaves it as it is.

    Raises:
        InputError: no such folder.
    """
    if folder is not None:
        if not folder.is_dir():
            raise InputError.of("--data", str(folder), "a folder")
        os.environ[DATA] = str(folder.resolve())


def data_folder(*parts: str) -> Path:
    """A folder of traces below the one that ``--data`` or ``OPTSCHED_DATA`` names.

    Raises:
        UnmeasuredError: none is named.
        InputError: the one named has no such folder.
    """
    root = os.environ.get(DATA)
    if not root:
        raise UnmeasuredError(f"needs {'/'.join(parts)}: give its folder by --data or {DATA}")
    folder = Path(root).joinpath(*parts)
    if not folder.is_dir():
        raise InputError.of(DATA, root, f"a folder that holds {'/'.join(parts)}")
    return folder
