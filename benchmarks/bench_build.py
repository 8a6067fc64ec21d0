"""From arrays to a model that the solver could start on, by us and by other tools.

``time_indexed`` and ``placement`` are in ``building/``, as every tool states them; the fifteen
classics are in ``classic_models/``, each beside the tool that states it best.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from types import ModuleType

import classics
import pytest
from building import placement, time_indexed, tools
from classic_models import ours, theirs

MODELS = pytest.mark.parametrize(
    "model", [time_indexed, placement], ids=["time_indexed", "placement"]
)
LARGE = [pytest.param(size, marks=pytest.mark.long) for size in (100_000, 1_000_000)]
MOST_BY_OBJECT = 100_000
"""Size up to which tools that make an object of every variable take part."""


@MODELS
@pytest.mark.parametrize("size", [20, 10_000, *LARGE])
def bench_build(beside, model: ModuleType, size: int) -> None:
    """Up to HiGHS; PuLP up to its own problem in memory."""
    arrays = model.instance(size)
    names = ["raw", "raw_columns", "linopy", *(("pulp", "pyomo") if size <= MOST_BY_OBJECT else ())]
    others = {name: partial(getattr(model, f"build_{name}"), arrays) for name in names}
    beside(
        lambda: tools.optsched_to_highs(model.model(arrays)),
        rounds=25 if size == 20 else 5,
        **others,
    )


@MODELS
@pytest.mark.parametrize("tool", ["mathopt", "cp_model"])
def bench_hand_over(beside, model: ModuleType, tool: str) -> None:
    """Up to the protocol buffer of MathOpt or of CP-SAT."""
    arrays = model.instance(10_000)
    to = {"mathopt": tools.optsched_to_mathopt, "cp_model": tools.optsched_to_cpsat}[tool]
    by_hand = partial(getattr(model, f"build_{tool}"), arrays)
    beside(lambda: to(model.model(arrays)), rounds=5, **{tool: by_hand})


@pytest.mark.parametrize("name", theirs.TOOLS)
def bench_classic(beside, name: str) -> None:
    """Stated, lowered to what the solver knows, and assembled."""
    tool, make = theirs.TOOLS[name], getattr(ours, name)

    def their_form() -> None:
        module = import_module(tool)
        classics.their_form(module, getattr(theirs, name)(module))

    beside(lambda: classics.our_form(make, tool), rounds=25, **{tool: their_form})
