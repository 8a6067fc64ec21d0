"""Most jobs of DSRP: bounds by whole services, schedules by inserting and exchanging jobs.

Between two neighbouring whole numbers a tree decides, over the sets of servers that a schedule of
as many jobs as the bound says may use.
"""

from __future__ import annotations

import math
from dataclasses import replace

from formulations.drp.decode import schedule_of
from formulations.drp.exact.covering_sets import CoveringSets, covering_sets
from formulations.drp.exact.incumbent import RELAXATION_SHARE, Search
from formulations.drp.exact.job_insertion import Insertion
from formulations.drp.exact.node_placement import place_nodes
from formulations.drp.exact.service_columns import ServiceColumns
from formulations.drp.exact.set_exchange.annealing import SetExchange
from formulations.drp.exact.set_exchange.tight_servers import PACKINGS, DearFirst
from formulations.drp.exact.set_tree.tree import End, SetTree, set_tree
from formulations.drp.exact.storage_cuts import StorageRows
from formulations.drp.exact.storage_relaxation import StorageRelaxation
from formulations.drp.instance import Integers
from formulations.drp.problem_p3_p5 import ANGLES, whole_jobs
from optsched.decomposition import ColumnSolution, GenerationOptions
from optsched.solvers.deadline import Deadline
from optsched.solvers.options import Options

INSERTION_SHARE = 0.05
"""Part of the time left that inserting jobs may take, where there are services."""
MOST_SPARE = 0.1
"""Jobs by which the bound may lie above a whole number for dear servers to be packed first."""
FILL_SHARE = 0.2
"""Part of the time left that packing them first may take."""
EXCHANGE_SHARE = 0.95
"""Part of the time left then that exchanging them may take."""
EXCHANGE_SECONDS = 60.0
"""Most of them where a tree can go on: what coolings do not find by then they rarely find."""
ROWS_SHARE = 0.15
"""Part of the time left in which rows are found for the tree."""
ROWS_SEEN = 2
"""Rounds of them that tell what the others will do."""
ROWS_ROUNDS = 12
"""Most rounds before the tree divides anything."""
CLOSE = 0.45
"""Jobs by which the bound may lie above a whole number then for the tree to come early."""
EARLY_SHARE, EARLY_SECONDS = 0.1, 2.0
"""Part of the time left, and most of it, that exchanging jobs may take before it then."""
EARLY_TREE = 0.2
"""Part of the time left that the tree may take then, and of itself that it has to end in it, to go
on."""
CLOSE_SHARE = 0.95
"""Part of the time left that the tree may take then."""
PLACING_SECONDS = 10.0
"""Longest look at where the nodes of jobs go whose services are placed."""
CUTS_SHARE = 0.4
"""Part of the time left in which storage may be cut."""
ALONE_SHARE = 0.7
"""Part of that time in which storage alone may be cut."""
ALONE_NEAR = 0.05
"""Jobs by which it may bound worse than all capacities do, to be cut first."""
CUTS_ROUNDS = 40
"""Most rounds of cuts, of either relaxation."""
CUTS_SEEN = 5
"""Rounds of cuts after which it is foreseen what the others will bring."""


class ServiceSearch(Search):
    """The search with services."""

    services = True

    def _run(self) -> None:
        """Price services, insert jobs at those prices; cut storage, exchange jobs at the new ones.

        Cuts come before exchanges only while they promise to save a job: then the time left is for
        as many jobs as the bound says, which exchanges find or, where its rows come close to it,
        a tree refutes.
        """
        columns = ServiceColumns(self.instance, ANGLES)
        relaxed = self._price(columns, RELAXATION_SHARE)
        part = Deadline(self.clock.within(INSERTION_SHARE), self.options.stop)
        jobs = Insertion(self.instance, self.rng, columns.rent)
        self._take(jobs.search(self.bound, lambda: not part.over()))
        relaxed = self._cut(columns, relaxed, CUTS_SEEN)
        sets = covering_sets(self.instance, columns.rent, columns.node_price)
        self._fill(columns, relaxed.bound, sets)
        while not self.met and not self.clock.over():
            tree = self._tree(columns, relaxed)
            if tree is None:
                self._exchange(sets, EXCHANGE_SHARE)
                self._cut(columns, relaxed, CUTS_ROUNDS)
                return
            if tree.bound - self.bound <= CLOSE:
                self._exchange(sets, EARLY_SHARE, EARLY_SECONDS)
                self._divide(tree, EARLY_TREE)
                if tree.done >= EARLY_TREE:
                    self._divide(tree, CLOSE_SHARE)
            self._exchange(sets, EXCHANGE_SHARE, EXCHANGE_SECONDS)
            if tree.bound >= self.bound and not self._divide(tree, 1.0):
                return

    def _tree(self, columns: ServiceColumns, relaxed: ColumnSolution) -> SetTree | None:
        """The tree for as many jobs as the bound says, its rows found; None: none can be made."""
        if relaxed.prices is None:
            return None
        target = int(self.bound)
        part = Deadline(self.clock.within(ROWS_SHARE), self.options.stop)
        threads = self.options.threads
        tree = set_tree(self.instance, columns, relaxed.prices, target, self._place, threads)
        if tree is not None:
            tree.cut(lambda: not part.over(), lambda bounds: promising(bounds, ROWS_SEEN))
            self.tell(self.best, min(self.bound, whole_jobs(tree.bound)))
        return tree

    def _divide(self, tree: SetTree, share: float) -> bool:
        """Go on with the tree; whether it said all that it can."""
        if self.met:
            return True
        part = Deadline(self.clock.within(share), self.options.stop)
        tree.cut(lambda: not part.over(), lambda bounds: len(bounds) < ROWS_ROUNDS)
        end = tree.search(lambda: not part.over())
        if tree.association is not None:
            self._take(tree.association)
        self.tell(self.best, min(self.bound, whole_jobs(tree.bound)))
        return end is End.REFUTED

    def _place(self, sets: CoveringSets, chosen: Integers) -> Integers | bool:
        """The nodes of some jobs on servers of their sets, exactly."""
        seconds = self.clock.within(1.0, PLACING_SECONDS)
        options = Options(time_limit=seconds, stop=self.options.stop)
        return place_nodes(self.instance, sets, chosen, options)

    def _cut(self, columns: ServiceColumns, relaxed: ColumnSolution, seen: int) -> ColumnSolution:
        """Cut storage: alone where it binds alone, then beside all else that services take."""
        part = Deadline(self.clock.within(CUTS_SHARE), self.options.stop)
        if relaxed.bound is None or self.met:
            return relaxed
        alone = part.within(ALONE_SHARE)
        if self._cut_alone(columns.storage, -relaxed.bound + ALONE_NEAR, alone, seen):
            relaxed = self._price(columns, 1.0)
        bounds: list[float] = []
        while relaxed.bound is not None and not self.met and not part.over():
            bounds.append(-relaxed.bound)
            if not promising(bounds, seen) or not columns.cut(relaxed.chosen):
                break
            relaxed = self._price(columns, 1.0)
        return relaxed

    def _cut_alone(
        self, storage: StorageRows, most: float, seconds: float | None, seen: int
    ) -> bool:
        """Cut the relaxation to storage, which is quick, unless it bounds by more than so much.

        Returns:
            Whether there are more cuts now.
        """
        part, bounds, rows = Deadline(seconds, self.options.stop), [], len(storage.server)
        alone = StorageRelaxation(self.instance, storage)
        while not self.met and not part.over():
            found = alone.solve(replace(self.options, time_limit=part.within(1.0)))
            if found is None or found.bound > most:
                break
            self.tell(self.best, min(self.bound, whole_jobs(found.bound)))
            bounds.append(found.bound)
            if not promising(bounds, seen) or not storage.cut(found.placed):
                break
        return len(storage.server) > rows

    def _take(self, assoc: Integers) -> None:
        """Keep an association of more jobs, if the checker agrees."""
        self.offer(schedule_of(self.instance, assoc, services=True))

    def _fill(self, columns: ServiceColumns, cost: float | None, sets: CoveringSets) -> None:
        """As many jobs as the bound says, dear servers first, where it is hardly above that."""
        spare = math.inf if cost is None else -cost - self.bound
        if self.met or spare > MOST_SPARE:
            return
        part = Deadline(self.clock.within(FILL_SHARE), self.options.stop)
        jobs = DearFirst(self.instance, sets, columns.rent, spare, self.rng, self.options.threads)
        assoc = jobs.search(int(self.bound), lambda: not part.over(), PACKINGS)
        if assoc is not None:
            self._take(assoc)

    def _exchange(self, sets: CoveringSets, share: float, most: float = math.inf) -> None:
        """One job more, again and again, on the sets of servers that are cheap at the prices."""
        if self.met:
            return
        part = Deadline(self.clock.within(share, most), self.options.stop)
        jobs = SetExchange(self.instance, sets, self.rng, self.options.threads)
        while (target := int(self.best.admit.sum()) + 1) <= self.bound and not part.over():
            assoc = jobs.search(target, lambda: not part.over())
            if assoc is None:
                break
            self._take(assoc)
            if self.best.admit.sum() < target:
                break

    def _price(self, columns: ServiceColumns, share: float) -> ColumnSolution:
        """The relaxation over whole services, within a share of the time left, and its bound."""
        seconds = self.clock.within(share)
        found = columns.solve(GenerationOptions(time_limit=seconds, stop=self.options.stop))
        if found.bound is not None:
            self.tell(self.best, min(self.bound, whole_jobs(-found.bound)))
            self.summary = f"whole services {-found.bound:.3f}"
        return found


def promising(bounds: list[float], seen: int) -> bool:
    """Whether more rounds of cuts save a whole job, if they do what the last ones did.

    Args:
        bounds: after each round until now.
        seen: last rounds that tell; with no more than these there is always another.
    """
    rounds, recent = CUTS_ROUNDS - len(bounds), bounds[-seen - 1 :]
    gain = (recent[0] - recent[-1]) / seen
    near = bounds[-1] - whole_jobs(bounds[-1])
    return rounds > 0 and (len(bounds) <= seen or gain * rounds > near)
