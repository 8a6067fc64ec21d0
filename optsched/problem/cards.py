"""Cards by name: formulations, exact methods, bounds and heuristics, each loaded when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import Any, Self, TypeVar

T = TypeVar("T")


class Cards(Mapping[str, T]):
    """A mapping whose names are known before the modules of its cards are loaded.

    Args:
        sources: what gives the card of each name.

    Example:
        >>> bounds = Cards.of("formulations.okita", {"lb_alone": "bounds:BOUNDS"})
        >>> list(bounds), bounds["lb_alone"].name
        (['lb_alone'], 'lb_alone')
    """

    def __init__(self, sources: Mapping[str, Callable[[], T]]) -> None:
        self._sources = sources
        self._loaded: dict[str, T] = {}

    @classmethod
    def of(cls, package: str, places: Mapping[str, str]) -> Self:
        """Return cards that are in modules of a package.

        Args:
            package: its full name.
            places: by a card's name, the module and what holds the card there, alone or beside
                others: ``"bounds:BOUNDS"``.
        """
        return cls(
            {name: partial(_load, f"{package}.{place}", name) for name, place in places.items()}
        )

    def changed(self, change: Callable[[T], T]) -> Cards[T]:
        """Return the cards as ``change`` makes them, each when it is asked for."""
        return Cards({name: partial(_changed, self, name, change) for name in self})

    def __getitem__(self, name: str) -> T:
        if name not in self._loaded:
            self._loaded[name] = self._sources[name]()
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)

    def __contains__(self, name: object) -> bool:
        return name in self._sources  # without loading it


def _load(place: str, name: str) -> Any:
    module, _, holder = place.partition(":")
    found = getattr(import_module(module), holder)
    every = found if isinstance(found, tuple) else (found,)
    return next(card for card in every if card.name == name)


def _changed(cards: Mapping[str, T], name: str, change: Callable[[T], T]) -> T:
    return change(cards[name])
