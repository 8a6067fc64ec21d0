"""Build the API reference: ``python docs/build.py [folder]``, by default into out/docs."""

from __future__ import annotations

import pkgutil
import sys
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pdoc

PACKAGES = ("optsched", "formulations", "heuristics")


def modules() -> Iterator[str]:
    """Every public module: a package's ``__all__`` would hide the modules inside it."""
    for package in PACKAGES:
        yield package
        path = import_module(package).__path__
        for found in pkgutil.walk_packages(path, package + "."):
            if not any(part.startswith("_") for part in found.name.split(".")):
                yield found.name


def build(folder: Path) -> None:
    """Write the reference as HTML."""
    # of names under ``if TYPE_CHECKING``, and of modules their package names, too
    warnings.filterwarnings("ignore", category=UserWarning, module="pdoc")
    pdoc.render.configure(docformat="google", math=True, search=True)
    pdoc.pdoc(*modules(), output_directory=folder)


if __name__ == "__main__":
    build(Path(sys.argv[1] if len(sys.argv) > 1 else "out/docs"))
