"""Dividing nodes of the tree over sets of servers.

By a count of services, by one service on one server, or by one job. Counts are preferred: how many
services servers hold says more than which ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from formulations.drp.exact.covering_sets import CoveringSets
from formulations.drp.exact.set_tree.counts import counts_of
from formulations.drp.exact.set_tree.nodes import WHOLE, Narrowing, Node, Relaxed
from formulations.drp.exact.set_tree.packing_program import Basis, PackingProgram
from formulations.drp.instance import Booleans, Floats, Instance, Integers
from formulations.drp.loads import visible

TRIED = 6
"""Candidates in a row that are no better than the best, after which no more are tried."""
MOST_TRIED = 16
"""Candidates that are tried at a node."""
COUNTED = 8.0
"""Times as much counts are worth as other divisions of the same gains."""
STEPS = 400
"""Steps of the simplex method, for a candidate's child."""
MANY = 16
"""New candidates from which on several threads try them: at the root, where others are idle."""
RELIABLE = 4
"""Trials of both children after which their mean tells what another would."""
FRACTION = 0.02
"""Distance from a whole number from which on something is a candidate of the first choice."""
FLAT = 1e-4
"""Jobs by which a bound may lie above what is wanted for trials to say nothing: then a node is
divided by what gained most elsewhere."""
_LEAST = 1e-6  # gain, so that a child that gains nothing is not all that counts


class _Solved(NamedTuple):
    """A node's program, and what is sought beyond it."""

    program: PackingProgram
    basis: Basis
    relaxed: Relaxed
    least: float
    """Number of jobs of interest."""
    go_on: Callable[[], bool]


class SetBranching:
    """What is known of dividing nodes.

    A division is a place in ``Relaxed.amount``: what stands there is at most the whole number
    below, or at least the one above. Counts come first, then, job by job, how far its service
    stands on each server, and how far it is trained.
    """

    def __init__(self, instance: Instance, sets: CoveringSets, threads: int = 1) -> None:
        """Prepare.

        Args:
            instance: the system, with a separate service for every job.
            sets: of all jobs.
            threads: that try candidates where these are many.
        """
        self._threads = threads
        jobs, servers = instance.num_jobs, instance.num_servers
        self.job, self.jobs, self.servers = sets.job, jobs, servers
        self.held: Booleans = np.zeros((len(sets.job), servers + 1), dtype=np.bool_)
        """Servers of each set; all sets have the last entry, which is training the job."""
        self.held[np.repeat(np.arange(len(sets.job)), np.diff(sets.start)), sets.server] = True
        self.held[:, servers] = True
        size = visible(instance.service_load)[instance.job_service]
        self.counts = counts_of(sets.job, self.held[:, :-1], size)
        self.narrowing = Narrowing(sets.job, self.held[:, :-1], size, self.counts)
        self._counts = len(self.counts.most)
        divisions = self._counts + jobs * (servers + 1)
        self._gained = np.zeros((2, divisions))  # per unit that an amount moves
        self._times = np.zeros((2, divisions))

    def amount(self, sets: Integers, weights: Floats) -> Floats:
        """Return the amount of each division, shape (divisions,), for sets chosen so far."""
        single = np.zeros((self.jobs, self.servers + 1))
        np.add.at(single, self.job[sets], weights[:, None] * self.held[sets])
        return np.concatenate([weights @ self.counts.of_set[sets], single.ravel()])

    def children(
        self, program: PackingProgram, relaxed: Relaxed, least: float, go_on: Callable[[], bool]
    ) -> list[Node]:
        """Divide a node by what gains most on both sides, as far as trials tell.

        Args:
            program: that of the relaxation, solved.
            relaxed: neither decided nor without a bound.
            least: number of jobs of interest.
            go_on: looked at between two trials; without more the best one known is taken.
        """
        basis, before = program.basis, len(relaxed.limits.number) + self.jobs
        chosen = self._choice(_Solved(program, basis, relaxed, least, go_on))
        column = np.flatnonzero(np.isin(relaxed.columns, relaxed.near))
        row = np.flatnonzero(~basis.loose()[before:])
        part = basis.part(column, np.concatenate([np.arange(before), before + row]))
        columns, rows = relaxed.columns[column], relaxed.rows.only(row)
        below = math.floor(relaxed.amount[chosen])
        children = []
        for there in (False, True):
            sets, must, limits = relaxed.sets, relaxed.must, relaxed.limits
            if chosen < self._counts:
                most = int(self.counts.most[chosen])
                limits = limits.within(chosen, *((below + 1, most) if there else (0, below)))
            else:
                job, server = self._place(chosen)
                out = (self.job[sets] == job) & (self.held[sets, server] != there)
                sets, must = sets[~out], must.copy()
                must[job] |= there
            children.append(Node(sets, must, limits, columns, rows, part, relaxed.urgent))
        return children

    def _place(self, division: int) -> tuple[int, int]:
        """Job and server of a division that is no count; the last server is training the job."""
        job, server = divmod(division - self._counts, self.servers + 1)
        return int(job), int(server)

    def _choice(self, solved: _Solved) -> int:
        """A division; counts that were never tried are all tried."""
        gap = solved.relaxed.bound - solved.least
        expected = self._expected(solved.relaxed.amount)
        found = self._candidates(solved.relaxed)
        if gap < FLAT:
            return int(found[np.argmax(self._scores(expected, math.inf)[found])])
        new = found[(found < self._counts) & (self._times[:, found].min(axis=0) == 0)]
        self._try_all(solved, new, expected)
        scores = self._scores(expected, gap)
        best, most, since, tried = -1, -1.0, 0, 0
        for d in found[np.argsort(-scores[found], kind="stable")].tolist():
            if since >= TRIED or tried >= MOST_TRIED or (best >= 0 and not solved.go_on()):
                break
            score = scores[d]
            if self._times[:, d].min() < RELIABLE and d not in new:
                tried += 1
                expected[:, d] = self._try(solved, d)
                score = self._scores(expected, gap)[d]
            since += 1
            if score > most * (1 + 1e-3):
                best, most, since = d, score, 0
        return best

    def _try_all(self, solved: _Solved, new: Integers, expected: Floats) -> None:
        """Try candidates, as long as it is to go on, and write what they gain."""
        threads = self._threads if len(new) >= MANY else 1
        # all twins before the first trial: one made during it would be of a program half changed
        programs = [solved.program, *(solved.program.twin() for _ in range(threads - 1))]

        def work(thread: int) -> None:
            mine = solved._replace(program=programs[thread])
            for d in new[thread::threads].tolist():
                if not solved.go_on():
                    break
                expected[:, d] = self._try(mine, d)

        if threads == 1:
            work(0)
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(work, range(threads)))

    def _candidates(self, relaxed: Relaxed) -> Integers:
        """Divisions that something is chosen in part of, shape (candidates,)."""
        distance = np.abs(relaxed.amount - np.round(relaxed.amount))
        for least in (FRACTION, WHOLE):
            found = np.flatnonzero(distance > least)
            if len(found):
                return found
        return self._open(relaxed)  # a whole point that cannot be placed: what is left to choose

    def _open(self, relaxed: Relaxed) -> Integers:
        """Jobs and servers, or jobs themselves, that sets leave open."""
        job = self.job[relaxed.sets]
        jobs = np.unique(job)
        starts, held = np.searchsorted(job, jobs), self.held[relaxed.sets]
        some = np.logical_or.reduceat(held, starts, axis=0)
        every = np.logical_and.reduceat(held, starts, axis=0) & relaxed.must[jobs, None]
        row, server = np.nonzero(some & ~every)
        found: Integers = self._counts + jobs[row] * (self.servers + 1) + server
        return found

    def _expected(self, amount: Floats) -> Floats:
        """What both children of each division are expected to gain, shape (2, divisions).

        By trials of it, or else of all others of its kind.
        """
        per_unit = self._gained / np.maximum(self._times, 1.0)
        for alike in (slice(0, self._counts), slice(self._counts, None)):
            gained, times = self._gained[:, alike], self._times[:, alike]
            mean = gained.sum(axis=1) / np.maximum(times.sum(axis=1), 1.0)
            per_unit[:, alike] = np.where(times > 0, per_unit[:, alike], mean[:, None])
        part = amount - np.floor(amount)
        return per_unit * np.stack([part, 1.0 - part])

    def _scores(self, gains: Floats, gap: float) -> Floats:
        """The product of what both children gain, shape (divisions,)."""
        scores: Floats = np.maximum(np.minimum(gains, gap), _LEAST).prod(axis=0)
        scores[: self._counts] *= COUNTED
        return scores

    def _try(self, solved: _Solved, division: int) -> Floats:
        """Solve both children, about, and remember what they gain, shape (2,), which is returned.

        Where a child ends, what it would have gained is known to be more, not how much.
        """
        relaxed = solved.relaxed
        part = float(relaxed.amount[division]) - math.floor(relaxed.amount[division])
        if division < self._counts:
            values = self._by_count(solved, division)
        else:
            values = [self._by_server(solved, division, there) for there in (False, True)]
        gap = relaxed.bound - solved.least
        gains = np.clip(relaxed.bound - np.array(values), 0.0, gap)
        per_unit = gains / np.maximum([part, 1.0 - part], 1e-3)
        mean = self._gained[:, division] / np.maximum(self._times[:, division], 1.0)
        self._gained[:, division] += np.where(gains < gap, per_unit, np.maximum(per_unit, mean))
        self._times[:, division] += 1
        return gains

    def _by_count(self, solved: _Solved, count: int) -> list[float]:
        """About the bounds of both children."""
        program, basis, relaxed, least, _ = solved
        below = math.floor(relaxed.amount[count])
        extra = relaxed.urgent * int(relaxed.must.sum())
        row = self.counts.of_set[relaxed.columns, count].astype(np.float64)
        limits = [(-math.inf, float(below)), (below + 1.0, math.inf)]
        return [v - extra for v in program.tried_beside(basis, row, limits, least + extra, STEPS)]

    def _by_server(self, solved: _Solved, division: int, there: bool) -> float:
        """About the bound of one child."""
        (job, server), (program, basis, relaxed, least, _) = self._place(division), solved
        extra = relaxed.urgent * int(relaxed.must.sum())
        columns = relaxed.columns
        mine, has = self.job[columns] == job, self.held[columns, server]
        gone = ~np.isin(columns, relaxed.sets)
        forbidden = np.flatnonzero(gone | (mine & (has != there)))
        urgent = there and not relaxed.must[job]
        dearer = np.flatnonzero(mine) if urgent else forbidden[:0]
        worth, extra = 1.0 + relaxed.urgent, extra + relaxed.urgent * urgent
        return program.tried(basis, forbidden, dearer, worth, least + extra, STEPS) - extra
