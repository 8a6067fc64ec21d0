"""What is loaded when it is first asked for: entries of a mapping, functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, Self, TypeVar

T = TypeVar("T")


class LazyMapping(Mapping[str, T]):
    """A mapping whose names are known before the modules of its entries are loaded.

    An entry is a formulation, an exact method or a bound.

    Args:
        sources: what gives the entry of each name.

    Example:
        >>> bounds = LazyMapping.of("formulations.okita", {"lb_alone": "bounds:BOUNDS"})
        >>> list(bounds), bounds["lb_alone"].name
        (['lb_alone'], 'lb_alone')
    """

    def __init__(self, sources: Mapping[str, Callable[[], T]]) -> None:
        self._sources = sources
        self._loaded: dict[str, T] = {}

    @classmethod
    def of(cls, package: str, places: Mapping[str, str]) -> Self:
        """Return entries that are in modules of a package.

        Args:
            package: its full name.
            places: by an entry's name, the module and what holds the entry there, alone or beside
                others: ``"bounds:BOUNDS"``.
        """
        return cls(
            {name: partial(_load, f"{package}.{place}", name) for name, place in places.items()}
        )

    def changed(self, change: Callable[[T], T]) -> LazyMapping[T]:
        """Return the entries as ``change`` makes them, each when it is asked for."""
        return LazyMapping({name: partial(_changed, self, name, change) for name in self})

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
    return next(one for one in every if one.name == name)


def _changed(entries: Mapping[str, T], name: str, change: Callable[[T], T]) -> T:
    return change(entries[name])


@dataclass(frozen=True)
class later:  # noqa: N801 - it is called like the function that it stands for
    """Stand for a function of a module that is imported when it is first called or looked at.

    Args:
        module: its full name.
        name: of the function.
    """

    module: str
    name: str

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        """The function, for its signature and its code."""
        function: Callable[..., Any] = getattr(import_module(self.module), self.name)
        return function

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function."""
        return self.__wrapped__(*arguments, **options)
