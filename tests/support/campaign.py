"""Many random models, each against enumeration and several back ends; disagreements shrunk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from support.enumeration import counted_case
from support.random_models import RANDOM_KINDS, random_recipe
from support.recipe import Recipe, build
from support.shrink import shrink
from support.structured_models import structured_recipe

from optsched.model import Model
from optsched.testing import check_case
from optsched.testing.case import ConformanceResult, Word


@dataclass(frozen=True)
class CampaignResult:
    """What one model showed."""

    seed: int
    results: tuple[ConformanceResult, ...]
    kinds: frozenset[str] = field(default_factory=frozenset)
    """Kinds of block in it."""
    recipe: Recipe | None = None
    """The model, shrunk, where something was wrong."""

    @property
    def wrong(self) -> list[ConformanceResult]:
        """What was wrong, if anything."""
        return [v for v in self.results if v.word is Word.WRONG]


def recipe_of(seed: int, kinds: Sequence[str] = RANDOM_KINDS) -> Recipe:
    """The model of that number: with continuous variables and fractions in turn."""
    settings: dict[str, Any] = {"continuous": seed % 3 == 1, "fractional": seed % 4 == 3}
    return random_recipe(np.random.default_rng(seed), kinds=kinds, **settings)


def structured_recipe_of(seed: int) -> Recipe:
    """The model of that number, of any of the families."""
    return structured_recipe(np.random.default_rng(seed))


def examine(
    seed: int, solvers: Sequence[str], draw: Callable[[int], Recipe] = recipe_of
) -> CampaignResult:
    """Draw a model, enumerate it and ask every solver named.

    An enumeration that the model's own check contradicts is a verdict too.
    """
    recipe = draw(seed)
    model, scale = build(recipe), recipe.get("scale")
    results = judge(model, solvers, f"model {seed}", scale)
    shown = frozenset(block.kind for block in model.blocks.values())
    wrong = {v.solver for v in results if v.word is Word.WRONG}
    if not wrong:
        return CampaignResult(seed, results, shown)

    def still_wrong(smaller: Recipe) -> bool:
        results = judge(build(smaller), sorted(wrong & set(solvers)), "", scale)
        return any(v.word is Word.WRONG for v in results)

    return CampaignResult(seed, results, shown, shrink(recipe, still_wrong))


def judge(
    model: Model, solvers: Sequence[str], name: str, scale: float | None = None
) -> tuple[ConformanceResult, ...]:
    """Every solver's answer against enumeration; ``scale`` as for ``counted_case``.

    Raises:
        ModelError: the model cannot be enumerated.
    """
    try:
        one = counted_case(name, model, scale)
    except AssertionError as contradiction:
        return (ConformanceResult(name, "enumeration", Word.WRONG, str(contradiction)),)
    return tuple(check_case(one, solver) for solver in solvers)


def rotation(solvers: Sequence[str], seed: int) -> list[str]:
    """The first solver and one of the others in turn."""
    first, others = solvers[0], solvers[1:]
    return [first, others[seed % len(others)]] if others else [first]
