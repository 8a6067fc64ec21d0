"""Old name of ``optsched.ratios``, ``measure``; it goes away with the next version."""

import warnings
from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name != "measure":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    told = f"{__name__}.measure is going away: use optsched.ratios"
    warnings.warn(told, DeprecationWarning, stacklevel=2)
    return import_module("optsched.study.former").measure  # which stands above this package
