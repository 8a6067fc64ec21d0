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
from optsched.instances.arrays import ranges


@dataclass(frozen=True, eq=False)
class Levels:
    """Levels that a job's sites can reach without an idle worker."""

    job: int
    unit: int
    """Chunks per level."""
    needed: int
    """Levels of all sites at which all chunks are trained."""
    most: Integers
    """Of each site, shape (sites,)."""
    in_all: int
    """Most levels of all sites."""
    option_workers: Integers
    """Numbers of workers on one site without an idle one, ascending, shape (options,)."""
    option_levels: Integers
    """Levels that each advances, ascending, shape (options,)."""

    @classmethod
    def of(cls, instance: Instance, i: int) -> Levels:
        """Those of a job."""
        rate, work = int(instance.rate_numerator[i]), int(instance.work_per_chunk[i])
        total, useful = int(instance.total_chunks[i]), instance.useful_workers[i]
        unit = rate // work if rate % work == 0 else 1
        waste = -(-rate // work) - 1  # of a site, in chunks
        workers = np.arange(1, int(useful.max()) + 1)
        chunks = instance.chunks_done(i, workers)
        busy = chunks > instance.chunks_done(i, workers - 1)
        return cls(
            job=i,
            unit=unit,
            needed=-(-total // unit),
            most=np.where(useful > 0, (total + waste) // unit, 0),
            in_all=(total + instance.sites * waste) // unit,
            option_workers=workers[busy],
            option_levels=chunks[busy] // unit,
        )

    @cached_property
    def gains(self) -> Integers:
        """Levels that workers on one site advance, by their number; -1 where one would idle."""
        table = np.full(int(self.option_workers.max(initial=0)) + 1, -1)
        table[0] = 0
        table[self.option_workers] = self.option_levels
        return table

    def reaches(self, workers: Integers) -> bool:
        """Whether a deployment, shape (slots, sites), trains all chunks and no worker idles."""
        if workers.max() >= len(self.gains):
            return False
        gained = self.gains[workers]
        level = gained.sum(axis=0)
        ends = self.needed <= level.sum() <= self.in_all and (level <= self.most).all()
        return bool(gained.min() >= 0) and bool(ends)


@dataclass(frozen=True, eq=False)
class Lattice:
    """Points that a job's levels are; point 0 is the origin."""

    levels: Levels
    level: Integers
    """Levels by point, shape (points, sites)."""
    above: Integers
    """The point one level higher at a site, -1 if none, shape (sites, points)."""
    ends: Integers
    """Points at which all chunks are trained."""
    transport_floor: Floats
    """What transport costs at least, by entry of ``ends``, money."""
    transport_cost: Floats = field(repr=False)
    """What it costs, NaN until it is computed; written by the search."""


def lattice_points(levels: Levels) -> float:
    """How many points there are."""
    ways = np.zeros(levels.in_all + 1)
    ways[0] = 1.0
    for most in levels.most:
        total = np.cumsum(ways)
        shifted = np.concatenate([np.zeros(min(most + 1, len(ways))), total])[: len(ways)]
        ways = total - shifted
    return float(ways.sum())


def build_lattice(instance: Instance, levels: Levels) -> Lattice:
    """The lattice of a job, however large."""
    i, each = levels.job, levels.most
    level = np.zeros((1, 0), dtype=np.int64)
    for most in each:
        room = np.minimum(most, levels.in_all - level.sum(axis=1))
        owner, value = ranges(np.zeros(len(level)), room + 1)
        level = np.column_stack([level[owner], value])
    stride = np.concatenate([np.cumprod((each + 1)[::-1])[::-1][1:], [1]])
    key = level @ stride  # ascending, as points are in lexicographic order
    higher = key + stride[:, None]
    above = np.minimum(np.searchsorted(key, higher), len(key) - 1)
    above[(key[above] != higher) | (each[:, None] == level.T)] = -1
    room = level * levels.unit
    ends = np.flatnonzero(level.sum(axis=1) >= levels.needed)
    q = instance.unit_bandwidth_cost
    leaving = np.where(np.eye(instance.sites, dtype=bool), np.inf, q).min(axis=1)
    leaving = np.where(np.isfinite(leaving), leaving, 0.0) * instance.chunk_size_mb[i]
    exported = np.maximum(instance.num_chunks[i] - room[ends], 0)
    return Lattice(
        levels=levels,
        level=level,
        above=above,
        ends=ends,
        transport_floor=exported @ leaving,
        transport_cost=np.full(len(ends), np.nan),
    )
