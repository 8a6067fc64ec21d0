"""The parts of the exact methods, a module per paper, which ``ablation.py`` takes out in turn.

Each module has

- ``PARTS``: the parts by name;
- ``SIZES``: for each problem the options of its generator that make instances which decide
  something: neither solved at once without any part, nor open with all of them;
- ``JOBS_TIMES``: by how much the jobs of ``benchmarks/shapes`` are multiplied, for the same reason.

Sizes are chosen on seeds below 100; figures are of other seeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Part:
    """One part of an exact method, and what the method is without it."""

    problem: str
    method: str
    """Its name among the problem's formulations."""
    search: Mapping[str, Any] = field(default_factory=dict)
    """Values of the method's options, such as its search parameters, that switch the part off."""
    replaced: Mapping[str, Any] = field(default_factory=dict)
    """What stands in place of functions, methods and constants, by "module:name" or
    "module:class.name". A compiled function goes on calling the one it was compiled with."""
