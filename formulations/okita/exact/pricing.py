"""Pricing of whole schedules of a job, for branch and price over them.

The coupling rows are limits of sites, in every slot: the capacities, and their roundings. A job's
cheapest schedules are looked for by labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from formulations.okita.horizon import Windows
from formulations.okita.instance import Floats, Instance, Integers
from formulations.okita.one_job.labels import cheapest_by_labels
from formulations.okita.one_job.prices import free_terms, priced_terms
from formulations.okita.one_job.terms import JobTerms, Path, transfer_cost
from formulations.okita.one_job.units import ByUnits
from optsched.decomposition import Column, Duals, Priced
from optsched.decomposition.columns import Feature

OFFERED = 4
"""Most columns that pricing offers at a time for one job."""

_WORKERS, _SERVER = "y", "s"  # kinds of feature

ENDS: Feature = "e"
"""Feature: 1 + the position of the slot in which a schedule is said to complete. It may be later
than its last slot and cost accordingly: then what completes late is a limit on costs alone, which
pricing takes at no effort, and no schedule is lost."""


@dataclass(frozen=True, eq=False)
class SiteLimits:
    """What workers and servers at a site take of something limited, in every slot alike."""

    site: Integers
    """Shape (limits,)."""
    room: Floats
    worker: Floats
    """Taken by a worker of a job, shape (jobs, limits)."""
    server: Floats
    """Taken by its server."""

    @classmethod
    def of(cls, instance: Instance) -> SiteLimits:
        """The capacities, by site, resource."""
        return cls(
            np.repeat(np.arange(instance.sites), instance.resources),
            instance.capacity.reshape(-1).astype(float),
            np.tile(instance.worker_demand, instance.sites).astype(float),
            np.tile(instance.ps_demand, instance.sites).astype(float),
        )

    @cached_property
    def _at(self) -> Floats:
        sites = np.arange(self.site.max(initial=-1) + 1)
        return np.asarray(self.site[:, None] == sites, dtype=float)

    def charged(self, i: int, price: Floats) -> tuple[Floats, Floats]:
        """What a worker and the server of a job pay, each by slot, site, money.

        Args:
            i: the job.
            price: of each limit, shape (slots, limits), money.
        """
        return (price * self.worker[i]) @ self._at, (price * self.server[i]) @ self._at

    def worth(self, price: Floats) -> Floats:
        """Of all that is limited, by slot, site, money."""
        return np.asarray((price * self.room) @ self._at)

    def and_also(self, more: SiteLimits) -> SiteLimits:
        """These and others."""
        return SiteLimits(
            np.concatenate([self.site, more.site]),
            np.concatenate([self.room, more.room]),
            np.hstack([self.worker, more.worker]),
            np.hstack([self.server, more.server]),
        )


@dataclass(frozen=True, eq=False)
class SitePrices:
    """What limits cost, slot by slot; beyond the slots that have prices nothing."""

    limits: SiteLimits
    release_slot: Integers
    """Of each job, shape (jobs,)."""
    price: Floats
    """Shape (slots, limits), money."""

    @cached_property
    def of_jobs(self) -> tuple[tuple[Floats, Floats], ...]:
        """What a worker and the server of each job pay from its first slot on, by slot, site."""
        first = enumerate((self.release_slot - 1).tolist())
        return tuple(self.limits.charged(i, self.price[t:]) for i, t in first)

    def charged(self, i: int, terms: JobTerms, weight: float = 1.0) -> JobTerms:
        """Terms of a job that pays these prices as well; the others count by a weight."""
        first, slots = int(self.release_slot[i]) - 1, len(terms.flow_cost)
        price = np.zeros((slots, self.price.shape[1]))
        known = self.price[first : first + slots]
        price[: len(known)] = known
        return priced_terms(terms, *self.limits.charged(i, price), weight)


@dataclass(frozen=True, eq=False)
class Pricing:
    """The cheapest schedules of a job at any prices of limits."""

    instance: Instance
    searches: Sequence[ByUnits]
    windows: Windows
    limits: SiteLimits
    offered: list[tuple[int, Path]] = field(default_factory=list)
    """Jobs and schedules offered so far."""
    _made: dict[tuple[int, int, bytes, bytes, bytes], Column] = field(default_factory=dict)

    @cached_property
    def slots(self) -> int:
        """Slots 1 .. slots have capacity rows."""
        return int(self.windows.last.max())

    @cached_property
    def _free(self) -> tuple[JobTerms, ...]:
        length = self.windows.last - self.instance.release_slot + 1
        return tuple(
            free_terms(self.instance, i, int(length[i])) for i in range(self.instance.jobs)
        )

    def room(self) -> Floats:
        """Right-hand sides of the coupling rows: limits by slot."""
        return np.tile(self.limits.room, self.slots)

    def known(self) -> Iterator[Column]:
        """Everything offered so far that keeps to the slots, as columns."""
        length = self.windows.last - self.instance.release_slot + 1
        seen: set[tuple[int, bytes, bytes, bytes]] = set()
        for i, path in self.offered:
            if path.last >= length[i] or not self.counts(i, path):
                continue
            whole = _padded(path, int(length[i]))
            key = i, whole.workers.tobytes(), whole.server.tobytes(), whole.flow.tobytes()
            if key not in seen:
                seen.add(key)
                yield self.column(i, whole)

    def column(self, i: int, path: Path, earliest: int = 0) -> Column:
        """A schedule as a column: what it costs and what it holds.

        Args:
            i: the job.
            path: its schedule.
            earliest: first position at which it may be said to complete.
        """
        key = i, earliest, path.workers.tobytes(), path.server.tobytes(), path.flow.tobytes()
        if key not in self._made:
            self._made[key] = self._made_anew(i, path, earliest)
        return self._made[key]

    def _made_anew(self, i: int, path: Path, earliest: int) -> Column:
        instance, limits = self.instance, self.limits
        runs = np.flatnonzero(path.server >= 0)
        held = path.workers[:, limits.site] * limits.worker[i]
        serves = limits.site == path.server[runs, None]
        held[runs] += serves * limits.server[i]
        flat = held.reshape(-1)
        used = np.flatnonzero(flat)
        first = int(instance.release_slot[i]) - 1
        slot, site = np.nonzero(path.workers)
        features: dict[Feature, int] = {
            (_WORKERS, int(r), int(t) + first): int(path.workers[t, r])
            for t, r in zip(slot, site, strict=True)
        }
        features.update(((_SERVER, int(path.server[t]), int(t) + first), 1) for t in runs)
        end = max(path.last, earliest)
        features[ENDS] = end + 1
        late = float(self._free[i].flow_cost[end])
        return Column(
            block=i,
            cost=late + transfer_cost(instance, i, path),
            rows=used + first * len(limits.site),
            values=flat[used],
            features=features,
            payload=path,
        )

    def __call__(self, block: int, duals: Duals) -> Priced:
        """Schedules of one job and a bound on their prices; the least price itself if asked for."""
        terms = self.terms(block, duals.rows, duals.lower, duals.upper, duals.weight)
        search, limit = self.searches[block], duals.threshold
        paths, bound = cheapest_by_labels(search, terms, limit, thorough=duals.exact)
        return self._priced(block, paths[:OFFERED], bound, duals)

    def terms(
        self,
        i: int,
        rows: Floats,
        lower: Mapping[Feature, int],
        upper: Mapping[Feature, int],
        weight: float = 1.0,
    ) -> JobTerms:
        """What a job is planned on: prices of rows, limits on features; how much costs count."""
        base = self._limited(i, lower, upper)
        return ending(self.prices(rows).charged(i, base, weight), lower, upper)

    def least(self, i: int, terms: JobTerms) -> float:
        """What a job pays at least on some terms, money; infinite where it has no schedule."""
        return cheapest_by_labels(self.searches[i], terms)[1]

    def paid(self, rows: Floats) -> Floats:
        """Prices of rows as what the limits cost, shape (slots, limits), money."""
        return np.maximum(-rows.reshape(self.slots, -1), 0.0)

    def prices(self, rows: Floats) -> SitePrices:
        """The same by slot, for the terms of a job."""
        return SitePrices(self.limits, self.instance.release_slot, self.paid(rows))

    def counts(self, i: int, path: Path) -> bool:
        """Whether a schedule is one of those that bounds speak of: of no idle workers."""
        return self.searches[i].levels.reaches(path.workers)

    def _priced(self, block: int, paths: Sequence[Path], bound: float, duals: Duals) -> Priced:
        earliest = duals.lower.get(ENDS, 1) - 1
        columns = [self.column(block, path, earliest) for path in paths]
        self.offered.extend((block, path) for path in paths)
        return Priced(columns, bound)

    def _limited(
        self, i: int, lower: Mapping[Feature, int], upper: Mapping[Feature, int]
    ) -> JobTerms:
        """The free terms within branching's limits on workers and servers."""
        base = self._free[i]
        if not (lower or upper):
            return base
        least, most = base.least.copy(), base.most.copy()
        server, must = base.server_price.copy(), base.must_run.copy()
        first = int(self.instance.release_slot[i]) - 1
        for kind, site, t, few in _conditions(lower, first):
            must[t] |= few > 0
            if kind == _WORKERS:
                least[t, site] = max(least[t, site], few)
            elif few > 0:
                server[t, np.arange(len(server[t])) != site] = np.inf
        for kind, site, t, many in _conditions(upper, first):
            if kind == _WORKERS:
                most[t, :, site] = np.minimum(most[t, :, site], many)
            elif many < 1:
                server[t, site] = np.inf
        return replace(base, least=least, most=most, server_price=server, must_run=must)


def _conditions(limits: Mapping[Feature, int], first: int) -> Iterator[tuple[str, int, int, int]]:
    """Kind, site, position of the slot and limit of workers and servers branching speaks of."""
    for feature, limit in limits.items():
        if feature == ENDS:
            continue
        assert isinstance(feature, tuple)
        kind, site, slot = feature
        yield kind, site, slot - first, limit


def ending(terms: JobTerms, lower: Mapping[Feature, int], upper: Mapping[Feature, int]) -> JobTerms:
    """The same within branching's limits on the slot of completion."""
    early, late = lower.get(ENDS, 1), upper.get(ENDS, len(terms.flow_cost))
    if early <= 1 and late >= len(terms.flow_cost):
        return terms
    flow_cost = terms.flow_cost.copy()
    flow_cost[: early - 1] = np.inf
    flow_cost[late:] = np.inf
    return replace(terms, flow_cost=flow_cost)


def _padded(path: Path, slots: int) -> Path:
    """The same schedule over another number of slots, at least as many as it uses."""
    workers: Integers = np.zeros((slots, path.workers.shape[1]), dtype=np.int64)
    server = np.full(slots, -1)
    kept = min(slots, len(path.server))
    workers[:kept], server[:kept] = path.workers[:kept], path.server[:kept]
    return replace(path, workers=workers, server=server)
