"""The layout of a study in plain values, as it is planned, stored and read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from optsched.evaluation.ratios import ComparisonSpec
from optsched.evaluation.runs import MethodKind

NO_SEED = -1
"""Stands for the seed of a method whose result depends on none."""

Place = tuple[MethodKind, str]
"""Where a method stands in a comparison: its kind and label."""

RunKey = tuple[str, str, int]
"""A run: digest of the instance, key of the method, seed."""


@dataclass(frozen=True)
class Step:
    """A method of a grid."""

    kind: MethodKind
    label: str
    """What tables call it; unique among the grid's methods of its kind."""
    key: str
    """Digest of the problem, the method with its options, and the versions of all it depends on."""
    seeded: bool
    """Whether the result depends on the seed beside the instance."""

    @property
    def place(self) -> Place:
        """Where it stands in a comparison."""
        return self.kind, self.label

    def run(self, instance: str, seed: int) -> RunKey:
        """The run of this method on an instance, given by its digest."""
        return instance, self.key, seed if self.seeded else NO_SEED


@dataclass(frozen=True)
class Layout:
    """A grid, looked up: every step is done on every one of its cases."""

    problem: str
    unit: str
    """Of costs."""
    options: Sequence[str]
    """Generator options that were given."""
    comparison: ComparisonSpec | None
    """None for a sweep, whose rows are compared with nothing."""
    steps: Sequence[Step]

    def plain(self) -> dict[str, Any]:
        """What JSON can say."""
        return asdict(self)

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Layout:
        """The layout that ``plain`` came from."""
        known, comparison = plain["comparison"], None
        if known is not None:
            options = {call: groupable(given) for call, given in known["heuristics"].items()}
            comparison = ComparisonSpec(**{**known, "heuristics": options})
        steps = [Step(**step) for step in plain["steps"]]
        return cls(plain["problem"], plain["unit"], plain["options"], comparison, steps)


@dataclass(frozen=True)
class PlannedInstance:
    """One instance of a grid, with the seed heuristics run on it."""

    grid: int
    """Number of its layout."""
    recipe: str
    """Key of how the instance is made."""
    name: str
    """What tables call it."""
    seed: int
    cell: Mapping[str, Any]
    """Options of the generator; of a sweep, the arguments of its measurement."""
    look_ahead: bool = True
    """Whether foresight of online heuristics is looked for."""
    given: bool = False
    """Whether it needs no making, as ``cell`` is all of it."""


@dataclass(frozen=True)
class Made:
    """What came of making an instance."""

    digest: str
    """Of its content; empty if it could not be made."""
    message: str = ""
    took: float = 0.0


def groupable(values: Mapping[str, Any]) -> dict[str, Any]:
    """Decoded JSON with its lists as tuples, so that tables can group by them."""
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }
