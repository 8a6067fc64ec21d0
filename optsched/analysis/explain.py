"""Explain why a model is infeasible by few rows and bounds that cannot all hold.

The search finds a minimal set of blocks, then of their entries, then of the bounds they need. Each
step is the divide and conquer of QuickXplain (Junker, AAAI 2004): it asks a solver about few
subsets when the conflict is small, works for any kind of block, and keeps what cannot be decided in
time. Rows of linear relaxations are first narrowed to the support of a Farkas certificate.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from optsched.errors import InputError, UnsupportedError
from optsched.model import Model, Variable, VariableType
from optsched.model.base import Linear
from optsched.model.expression import Floats, Shape
from optsched.model.variables import index_text
from optsched.model.words import Writer, number
from optsched.solve import solve
from optsched.solvers.backend import Backend, Solver
from optsched.solvers.highs.farkas import farkas_rows
from optsched.solvers.options import Options
from optsched.solvers.registry import installed
from optsched.solvers.solution import Status

Entries = NDArray[np.int64]
Bound = tuple[int, int]
"""Column, and 0 for its lower or 1 for its upper bound."""
Item = TypeVar("Item")

_SHOWN = 40  # members listed by ``str``


@dataclass(frozen=True)
class Member:
    """One statement of a conflict."""

    block: str
    """Name of the constraint block, or of the variable whose bound it is."""
    kind: str
    """Kind of the block, or "bound"."""
    index: tuple[int, ...]
    text: str
    """Such as ``2d[3]: y[0] + y[4] <= 1``."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """What was found out about a model's feasibility.

    Example:
        >>> from optsched import Model, explain
        >>> m = Model()
        >>> x = m.integer("x", upper=3)
        >>> m.add("more", x >= 4)
        >>> explain(m).status
        <Status.INFEASIBLE: 'infeasible'>
    """

    status: Status
    """INFEASIBLE; FEASIBLE; otherwise how the solver ended without deciding."""
    members: tuple[Member, ...] = ()
    """Statements that cannot all hold; integrality of variables goes without saying."""
    irreducible: bool = False
    """Whether it is proven that without any one member the others can hold."""
    core: Model | None = field(default=None, repr=False)
    """The model of the members alone, without objective; None unless infeasible."""
    solver: str = ""
    solves: int = 0
    """Subsets a solver was asked about."""
    seconds: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def blocks(self) -> tuple[str, ...]:
        """Names of the constraint blocks involved."""
        return tuple(dict.fromkeys(m.block for m in self.members if m.kind != "bound"))

    def __str__(self) -> str:
        if self.status is Status.FEASIBLE:
            return "The model is feasible: there is nothing to explain."
        if self.status is not Status.INFEASIBLE:
            return "\n".join(
                [f"{self.solver} did not decide whether the model is feasible.", *self.notes]
            )
        size = len(self.members)
        what = "This cannot hold:" if size == 1 else f"These {size} cannot all hold:"
        lines = [what, *(f"  {m.text}" for m in self.members[:_SHOWN])]
        if size > _SHOWN:
            lines.append(f"  ... and {size - _SHOWN} more")
        proof = (
            "Irreducible: without any one of them the others can hold"
            if self.irreducible
            else "Not proven minimal: some of them may not be needed"
        )
        lines.append(f"{proof} ({self.solver}, {self.solves} solves, {self.seconds:.2g} s).")
        return "\n".join([*lines, *self.notes])


def explain(
    model: Model, solver: Solver = "highs", *, time_limit: float | None = 60.0
) -> Explanation:
    """Explain an infeasible model by few rows and bounds that contradict each other.

    Args:
        model: its objective does not matter.
        solver: name of a back end that takes what the model contains, or one of your own.
        time_limit: wall seconds for all solves together; rows not tested by then stay in it.

    Raises:
        InputError: an unknown solver, or a time limit that is not positive.
        UnsupportedError: the solver cannot take what the model contains.

    Example:
        >>> from optsched import Model, explain
        >>> m = Model()
        >>> workers = m.integer("workers", shape=2, upper=3)
        >>> m.add("capacity", workers.sum() <= 4)
        >>> m.add("demand", workers >= [2, 3])
        >>> explanation = explain(m)
        >>> explanation.status
        <Status.INFEASIBLE: 'infeasible'>
        >>> print(explanation)
        These 3 cannot all hold:
          capacity: workers[0] + workers[1] <= 4
          demand[0]: workers[0] >= 2
          demand[1]: workers[1] >= 3
        Irreducible: without any one of them the others can hold (highs, 11 solves, ... s).
    """
    if time_limit is not None and not time_limit > 0:
        raise InputError.of("time_limit", time_limit, "seconds > 0, or None")
    search = _Search(model, installed(solver)[0], time_limit)
    status = search.whole()
    if status is not Status.INFEASIBLE:
        return Explanation(
            Status.FEASIBLE if status is Status.OPTIMAL else status,
            solver=search.solver,
            solves=search.solves,
            seconds=search.elapsed(),
            notes=tuple(search.notes),
        )
    return search.explain()


@dataclass(frozen=True, eq=False)
class _Part:
    """A subset of a model: entries by block, and bounds."""

    entries: dict[str, Entries]
    lower: Floats
    """Shape (columns,)."""
    upper: Floats
    """Shape (columns,)."""
    bounds: tuple[Bound, ...] = ()
    """Bounds that are members of the conflict."""


class _Search:
    def __init__(self, model: Model, engine: Backend, time_limit: float | None) -> None:
        self.model = model
        self.engine, self.solver = engine, engine.name
        self.time_limit = math.inf if time_limit is None else time_limit
        self.began = time.perf_counter()
        self.solves = 0
        self.undecided = 0
        self.notes: dict[str, None] = {}
        self.lower, self.upper, self.integer = model.domains()

    def elapsed(self) -> float:
        return time.perf_counter() - self.began

    def whole(self) -> Status:
        """How solving the whole model without its objective ends."""
        model = self.model.copy()
        model.minimize(0.0)
        self.solves += 1
        solution = solve(model, self.engine, options=self._options(self.time_limit))
        if solution.message:
            self.notes[solution.message] = None
        return solution.status

    def explain(self) -> Explanation:
        blocks = _minimal(list(self.model.blocks), lambda names: self._infeasible(self._of(names)))
        part = self._minimal_bounds(self._minimal_entries(self._of(blocks)))
        return Explanation(
            Status.INFEASIBLE,
            self._members(part),
            self.undecided == 0,
            self._build(part),
            self.solver,
            self.solves,
            self.elapsed(),
            tuple(self.notes),
        )

    # the three steps

    def _of(self, names: Sequence[str]) -> _Part:
        """Whole blocks."""
        sizes = {name: math.prod(self.model.blocks[name].shape) for name in names}
        return self._part({name: np.arange(n, dtype=np.int64) for name, n in sizes.items()})

    def _part(self, entries: Mapping[str, Entries]) -> _Part:
        ordered = {name: entries[name] for name in self.model.blocks if name in entries}
        return _Part(ordered, self.lower, self.upper)

    def _picked(self, places: Sequence[tuple[str, int]]) -> _Part:
        entries: dict[str, list[int]] = {}
        for name, entry in places:
            entries.setdefault(name, []).append(entry)
        return self._part({name: np.array(sorted(e)) for name, e in entries.items()})

    def _minimal_entries(self, part: _Part) -> _Part:
        part = self._narrowed(part)
        places = [(name, int(e)) for name, entries in part.entries.items() for e in entries]
        return self._picked(_minimal(places, lambda some: self._infeasible(self._picked(some))))

    def _narrowed(self, part: _Part) -> _Part:
        """Rows with a weight in a proof that the linear relaxation is infeasible, if it is."""
        if not all(isinstance(self.model.blocks[name], Linear) for name in part.entries):
            return part
        compiled = self._build(part).compile()
        rows = farkas_rows(compiled, self._left())
        if rows is None:
            return part
        kept = {
            name: part.entries[name][rows[first : first + len(part.entries[name])]]
            for name, (first, _) in compiled.row_blocks.items()
        }
        narrow = self._part({name: entries for name, entries in kept.items() if len(entries)})
        return narrow if self._status(narrow) is Status.INFEASIBLE else part

    def _minimal_bounds(self, part: _Part) -> _Part:
        """Drop bounds; those of variables in nonlinear blocks stay, as rows are made from them."""
        used = np.zeros(self.model.columns, dtype=bool)
        given = np.zeros(self.model.columns, dtype=bool)
        for name, entries in part.entries.items():
            block = self.model.blocks[name]
            for expression in block.restricted(entries).expressions():
                for terms in expression.terms:
                    used[terms.columns] = True
                    given[terms.columns] |= not isinstance(block, Linear)
        if not part.entries:  # no integer lies within the bounds of some variable
            used = self.integer & (np.ceil(self.lower) > np.floor(self.upper))
        if given.any():
            self.notes["Bounds of variables in nonlinear blocks are taken as given."] = None
        ends = (self.lower, self.upper)
        free = [np.flatnonzero(used & ~given & np.isfinite(end)).tolist() for end in ends]
        bounds = [(column, side) for side in (0, 1) for column in free[side]]

        def bounded(kept: Sequence[Bound]) -> _Part:
            fixed = given | ~used
            new = (np.where(fixed, ends[0], -np.inf), np.where(fixed, ends[1], np.inf))
            for column, side in kept:
                new[side][column] = ends[side][column]
            return replace(part, lower=new[0], upper=new[1], bounds=tuple(sorted(kept)))

        return bounded(_minimal(bounds, lambda kept: self._infeasible(bounded(kept))))

    # asking

    def _left(self) -> float:
        return self.time_limit - self.elapsed()

    def _infeasible(self, part: _Part) -> bool:
        """Whether a solver proves it. What stays open counts as feasible, so nothing is lost."""
        status = self._status(part)
        self.undecided += status not in (Status.INFEASIBLE, Status.OPTIMAL, Status.FEASIBLE)
        return status is Status.INFEASIBLE

    def _status(self, part: _Part) -> Status:
        if self._left() <= 0:
            self.notes["The time limit was reached."] = None
            return Status.NO_SOLUTION
        self.solves += 1
        # no single question may use up the time of all
        options = self._options(min(self._left(), max(1.0, self.time_limit / 10)))
        model = self._build(part)
        try:
            return solve(model, self.engine, options=options).status
        except UnsupportedError:  # the whole model was accepted: a bound it needs is gone
            self.notes[f"Some questions went to highs, as {self.solver} needs all bounds."] = None
            return solve(model, "highs", options=options).status

    def _options(self, seconds: float) -> Options:
        return Options(time_limit=seconds if math.isfinite(seconds) else None)

    def _build(self, part: _Part) -> Model:
        """The model of a subset, without objective."""
        model = self.model.copy(f"{self.model.name} (conflict)")
        model.minimize(0.0)
        model.blocks = {
            name: self.model.blocks[name].restricted(entries)
            for name, entries in part.entries.items()
        }
        if part.lower is not self.lower:
            model.variables = {
                name: _with_bounds(v, part.lower, part.upper) for name, v in model.variables.items()
            }
        return model

    # words

    def _members(self, part: _Part) -> tuple[Member, ...]:
        writer = Writer(self.model)
        members = []
        for name, entries in part.entries.items():
            block = self.model.blocks[name]
            for entry, text in zip(entries.tolist(), block.words(writer, entries), strict=True):
                label = name + index_text(entry, block.shape)
                index = _index(entry, block.shape)
                members.append(Member(name, block.kind, index, f"{label}: {text}"))
        for column, side in part.bounds:
            value = (self.lower, self.upper)[side][column]
            text = f"{writer.column(column)} {('>=', '<=')[side]} {number(float(value))}"
            v = writer.variable(column)
            if getattr(self.model.blocks.get(v.name), "result", None) is v:
                text += f" (follows from block {v.name!r})"
            index = _index(column - v.start, v.shape)
            members.append(Member(v.name, "bound", index, f"bound: {text}"))
        return tuple(members)


def _with_bounds(v: Variable, lower: Floats, upper: Floats) -> Variable:
    part = slice(v.start, v.start + v.size)
    sort = v.type if v.type is VariableType.CONTINUOUS else VariableType.INTEGER
    return v.with_domain(sort, *(np.reshape(bound[part], v.shape) for bound in (lower, upper)))


def _index(entry: int, shape: Shape) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(entry, shape)) if shape else ()


def _minimal(items: Sequence[Item], infeasible: Callable[[Sequence[Item]], bool]) -> list[Item]:
    """A subset that is infeasible while none of its proper subsets is known to be.

    Args:
        items: infeasible together.
        infeasible: asked about subsets.
    """

    def conflict(background: list[Item], grown: bool, rest: Sequence[Item]) -> list[Item]:
        if grown and infeasible(background):
            return []
        if len(rest) <= 1:
            return list(rest)
        middle = len(rest) // 2
        first, second = rest[:middle], rest[middle:]
        of_second = conflict([*background, *first], True, second)
        of_first = conflict([*background, *of_second], bool(of_second), first)
        return of_first + of_second

    return conflict([], True, items)
