"""How far a job can have come: chunks trained so far at each site, as points of a lattice.

A dynamic program over these points and the slots solves problem (2) for one job exactly. Transport
is settled at the end, for it depends only on what each site trains in all (Lemma 1); workers are
never idle (Lemma 2), which keeps the points few: all slots a site is used in but its last are
full (proof of Lemma 3), so a site wastes less than one worker's chunks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from formulations.okita.instance import Floats, Instance, Integers
from optsched.arrays import ranges

LARGEST_LATTICE = 50_000
"""Most points of a lattice that is searched at every turn: beyond, units of work come first."""

LARGEST_LATTICES = 1_000_000
"""Most points of all jobs' lattices together; up to there every job has one, however large."""


@dataclass(frozen=True, eq=False)
class Lattice:
    """Levels that a job's sites can reach; point 0 is the origin."""

    job: int
    unit: int
    """Chunks per level."""
    level: Integers
    """Levels by point, shape (points, sites)."""
    above: Integers
    """The point one level higher at a site, -1 if none, shape (sites, points)."""
    option_workers: Integers
    """Numbers of workers on one site without an idle one, ascending, shape (options,)."""
    option_levels: Integers
    """Levels that each advances, ascending, shape (options,)."""
    ends: Integers
    """Points at which all chunks are trained."""
    transport_floor: Floats
    """What transport costs at least, by entry of ``ends``, money."""
    transport_cost: Floats = field(repr=False)
    """What it costs, NaN until it is computed; written by the search."""

    @cached_property
    def _levels(self) -> Integers:
        """Levels that workers on one site advance, by their number; -1 where one would idle."""
        table = np.full(int(self.option_workers.max()) + 1, -1)
        table[self.option_workers] = self.option_levels
        table[0] = 0
        return table

    @cached_property
    def _ways_out(self) -> set[bytes]:
        return {row.tobytes() for row in self.level[self.ends].astype(np.int64)}

    def reaches(self, workers: Integers) -> bool:
        """Whether a deployment, shape (slots, sites), is a way to one of the ends."""
        if workers.max() >= len(self._levels):
            return False
        gained = self._levels[workers]
        return bool(gained.min() >= 0) and gained.sum(axis=0).tobytes() in self._ways_out


def lattice_points(instance: Instance, i: int) -> float:
    """Points of a job's lattice."""
    _, each, in_all = _size(instance, i)
    return _count(each, in_all)


def _size(instance: Instance, i: int) -> tuple[int, Integers, int]:
    """Chunks per level, most levels of each site, and of all."""
    rate, work = int(instance.rate_numerator[i]), int(instance.work_per_chunk[i])
    total = int(instance.total_chunks[i])
    unit = rate // work if rate % work == 0 else 1
    waste = -(-rate // work) - 1  # of a site, in chunks
    in_all = (total + instance.sites * waste) // unit
    useful = instance.useful_workers[i]
    return unit, np.where(useful > 0, (total + waste) // unit, 0), in_all


def build_lattice(instance: Instance, i: int) -> Lattice:
    """The lattice of a job, however large."""
    unit, each, in_all = _size(instance, i)
    total, useful = int(instance.total_chunks[i]), instance.useful_workers[i]
    level = np.zeros((1, 0), dtype=np.int64)
    for most in each:
        room = np.minimum(most, in_all - level.sum(axis=1))
        owner, value = ranges(np.zeros(len(level)), room + 1)
        level = np.column_stack([level[owner], value])
    stride = np.concatenate([np.cumprod((each + 1)[::-1])[::-1][1:], [1]])
    key = level @ stride  # ascending, as points are in lexicographic order
    higher = key + stride[:, None]
    above = np.minimum(np.searchsorted(key, higher), len(key) - 1)
    above[(key[above] != higher) | (each[:, None] == level.T)] = -1
    workers = np.arange(1, int(useful.max()) + 1)
    chunks = instance.chunks_done(i, workers)
    busy = chunks > instance.chunks_done(i, workers - 1)
    room = level * unit
    ends = np.flatnonzero(room.sum(axis=1) >= total)
    q = instance.unit_bandwidth_cost
    leaving = np.where(np.eye(instance.sites, dtype=bool), np.inf, q).min(axis=1)
    leaving = np.where(np.isfinite(leaving), leaving, 0.0) * instance.chunk_size_mb[i]
    exported = np.maximum(instance.num_chunks[i] - room[ends], 0)
    return Lattice(
        job=i,
        unit=unit,
        level=level,
        above=above,
        option_workers=workers[busy],
        option_levels=chunks[busy] // unit,
        ends=ends,
        transport_floor=exported @ leaving,
        transport_cost=np.full(len(ends), np.nan),
    )


def _count(each: Integers, in_all: int) -> float:
    """Points whose levels add up to at most ``in_all``."""
    ways = np.zeros(in_all + 1)
    ways[0] = 1.0
    for most in each:
        total = np.cumsum(ways)
        shifted = np.concatenate([np.zeros(min(most + 1, len(ways))), total])[: len(ways)]
        ways = total - shifted
    return float(ways.sum())
