"""Lower the blocks that a solver does not support to blocks that it does, in the end to rows.

The file of each kind of block says what it becomes and how; the result is lowered in turn. Rotated
cones have no exact lowering. They are left to solvers that support them, and to outer
approximation.
"""

from __future__ import annotations

import math
from typing import TypeVar

from optsched.errors import ModelError
from optsched.model.base import Block, Linear, ModelBase

AnyModel = TypeVar("AnyModel", bound=ModelBase)


def lower(model: AnyModel, native: frozenset[str]) -> AnyModel:
    """The model with every block lowered that is neither linear nor of a native kind.

    Variables it adds come after the model's own, and their names start with the block's.

    Raises:
        ModelError: a block lacks the bounds its rows need; the message names the variable.
        UnsupportedError: a kind has no exact linear form.
    """
    if model.kinds <= native:
        return model
    lowered = model.copy()
    while passes := sorted(
        {type(b) for b in lowered.blocks.values() if _is_open(b, native)},
        key=lambda kind: (-_steps(kind), kind.kind),
    ):
        for block in [b for b in lowered.blocks.values() if type(b) is passes[0]]:
            lower_block(lowered, block)
    return lowered


def _is_open(block: Block, native: frozenset[str]) -> bool:
    return block.kind != Linear.kind and block.kind not in native


def _steps(kind: type[Block]) -> float:
    """How many passes lead from a kind to linear rows; infinitely many where none does."""
    if kind is Linear:
        return 0
    return 1 + max((_steps(target) for target in kind.becomes), default=math.inf)


def lower_block(model: ModelBase, block: Block) -> None:
    """Lower one block of a model; its rows stand where it stood."""
    before = model.blocks
    place = list(before).index(block.name)
    model.blocks = {name: b for name, b in before.items() if name != block.name}
    block.lower(model)
    entries = list(model.blocks.items())
    old, new = entries[: len(before) - 1], entries[len(before) - 1 :]
    for _, one in new:
        if not isinstance(one, block.becomes):
            raise ModelError(f"block {block.name!r}: a {block.kind} does not say that it becomes "
                             f"{one.kind}")  # fmt: skip
    model.blocks = dict(old[:place] + new + old[place:])
