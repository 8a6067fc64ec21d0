"""Rounds at geometrically growing times (Algorithm 1) and the choice of one job in a round.

The scheduler is made from the system alone and is handed one job at a time, so that it cannot
know the future. Round tau = 1, 2, 4, ... takes place at the end of slot tau, among jobs that
arrived before it, and fills the window tau + 1..2 tau, which no earlier round has touched.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from formulations.batch.domain_reduction import Choices, job_choices
from formulations.batch.instance import Instance, Integers, Job, System
from formulations.batch.problem_9 import Pick, ServerView, best_offer
from formulations.batch.schedule import Schedule
from heuristics.batch.ledger import PriceLedger
from heuristics.batch.printed_costs import PrintedAnswer, cost_c_printed, cost_d_printed
from heuristics.batch.rules import Rules
from heuristics.common.batches import in_batches
from optsched.errors import InputError

NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Decision:
    """The best schedule of a job in a round, accepted or not."""

    start: int
    end: int
    cost: float
    together: bool
    workers: Integers
    """y, shape (servers,)."""
    ps: int


class RoundScheduler:
    """A_online on one system: ``arrive`` for each job as it comes, ``hold`` for each round.

    Args:
        system: servers and prices.
        rules: the variant.
    """

    def __init__(self, system: System, rules: Rules) -> None:
        self._system = system
        self._rules = rules
        self._waiting: dict[int, Job] = {}
        self._choices: dict[int, Choices] = {}
        self._decided: dict[int, Decision] = {}

    @property
    def waiting(self) -> int:
        """Jobs that have arrived and are not scheduled."""
        return len(self._waiting)

    def arrive(self, job: Job) -> None:
        """Take in a job."""
        found = job_choices(job)
        self._choices[job.id] = found if self._rules.one_server else found.take(~found.fast)
        self._waiting[job.id] = job

    def hold(self, tau: int) -> list[int]:
        """Round tau: accept what can be, postpone the rest (Algorithm 2).

        Returns:
            The jobs accepted.

        Raises:
            InputError: no round, however long, would ever accept a job.
        """
        jobs = [job for job in self._waiting.values() if job.release_slot < tau]
        ledger = PriceLedger(self._system, tau)
        accepted = [job.id for job in self._in_order(jobs, ledger) if self._consider(job, ledger)]
        for id in accepted:
            del self._waiting[id]
        if jobs and not accepted and all(self._could_run(job, tau) for job in jobs):
            allowed = 'rules under which some job runs in an empty system: cost_d = "exact"'
            raise InputError.of("cost_d", self._rules.cost_d, allowed)
        return accepted

    @staticmethod
    def _could_run(job: Job, tau: int) -> bool:
        """Whether the window is so long that only the rules can be in the way."""
        return tau > max(job.work[0], job.release_slot + int(job.upload_delay.max()))

    def _in_order(self, jobs: list[Job], ledger: PriceLedger) -> Iterator[Job]:
        """The jobs of a round, each once."""
        if self._rules.job_order == "weight_per_cost":
            yield from self._by_weight_per_cost(jobs, ledger)
            return
        work = self._rules.job_order == "shortest_work"
        yield from sorted(
            jobs, key=lambda job: (job.work[1] if work else 0, job.release_slot, job.id)
        )

    def _by_weight_per_cost(self, jobs: list[Job], ledger: PriceLedger) -> Iterator[Job]:
        """Largest w_j / cost at present prices first; costs only rise, so old ones are bounds."""
        heap = [(0.0, -job.weight, job.release_slot, job.id, job) for job in jobs]
        heapq.heapify(heap)
        while heap:
            job = heapq.heappop(heap)[-1]
            decision = self._best(job, ledger)
            bill = np.inf if decision is None else decision.cost / job.weight
            entry = (bill, -job.weight, job.release_slot, job.id, job)
            if heap and entry[:4] > heap[0][:4] and np.isfinite(bill):
                heapq.heappush(heap, entry)
            else:
                yield job

    def _consider(self, job: Job, ledger: PriceLedger) -> bool:
        """Accept or postpone one job."""
        if self._rules.printed:
            return self._line_by_line(job, ledger)
        decision = self._best(job, ledger)
        if decision is None:
            return False
        if self._rules.selection == "paper" and not self._value(job) - decision.cost > 0:
            return False
        ledger.book(job, decision.start, decision.end, decision.workers, decision.ps)
        self._decided[job.id] = decision
        return True

    def _value(self, job: Job) -> float:
        if self._rules.value_rule == "scaled":
            return self._system.worker_price_cap * job.work[0]
        return job.weight if self._rules.value_rule == "weight" else 1.0

    def _best(self, job: Job, ledger: PriceLedger) -> Decision | None:
        """A_maxsche's step for one job: the best schedule inside the window."""
        tau = ledger.tau
        chosen = self._choices[job.id]
        chosen = chosen.take(chosen.duration <= tau)
        market, rows = self._market(job, ledger)
        if not len(chosen) or not len(rows):
            return None
        starts = range(tau + 1, 2 * tau + 1)
        starts = starts if self._rules.start_rule == "any" else starts[:1]
        if "printed" in (self._rules.cost_c, self._rules.cost_d):
            return self._printed(market, chosen, starts, rows)
        found = best_offer(market, chosen, starts, earliest=self._rules.selection == "earliest")
        if found is None:
            return None
        pick, offers = found
        y, ps = offers.placement(pick.choice)
        return self._decision(pick, chosen, y, ps, rows)

    def _market(self, job: Job, ledger: PriceLedger) -> tuple[ServerView, Integers]:
        """What the job sees in this round, of which servers."""
        reached = job.release_slot + job.upload_delay
        release = np.maximum(reached, ledger.tau + 1)
        if self._rules.release_test == "printed":
            release = np.where(reached < ledger.tau, ledger.tau + 1, NEVER)
        return ledger.market(job, release)

    def _decision(
        self, pick: Pick, chosen: Choices, y: Integers, ps: int, rows: Integers
    ) -> Decision:
        workers = np.zeros(self._system.servers, dtype=np.int64)
        workers[rows] = y
        fast = bool(chosen.fast[pick.choice])
        return Decision(pick.start, pick.end, pick.cost, fast, workers, int(rows[ps]))

    def _printed(
        self, market: ServerView, chosen: Choices, starts: range, rows: Integers
    ) -> Decision | None:
        """The same with printed subroutines, their schedules billed at their own cost."""
        earliest = self._rules.selection == "earliest"
        literal = {True: self._rules.cost_c == "printed", False: self._rules.cost_d == "printed"}
        exact = chosen.take(~np.where(chosen.fast, literal[True], literal[False]))
        found = best_offer(market, exact, starts, earliest=earliest) if len(exact) else None
        options: list[tuple[tuple[float, ...], Decision]] = []
        if found is not None:
            pick, offers = found
            y, ps = offers.placement(pick.choice)
            options.append((self._key(pick, exact), self._decision(pick, exact, y, ps, rows)))
        for k in range(len(chosen)):
            fast = bool(chosen.fast[k])
            if not literal[fast]:
                continue
            subroutine = cost_c_printed if fast else cost_d_printed
            for start in starts:
                duration = int(chosen.duration[k])
                view = _from_slot(market, start)
                if duration > view.slots:
                    break
                answer = subroutine(view, int(chosen.workers[k]), duration)
                if answer is not None:
                    pick = Pick(k, start, start + duration - 1, answer.cost(view, duration))
                    decision = self._decision(pick, chosen, answer.workers, answer.ps, rows)
                    options.append((self._key(pick, chosen), decision))
        return min(options, key=lambda option: option[0])[1] if options else None

    def _line_by_line(self, job: Job, ledger: PriceLedger) -> bool:
        """Lines 3 to 20 of Algorithm 2, errors included, with COST_C and COST_D as printed.

        Line 8 sets min_cost only where COST_D is the cheaper; it is read as the lesser cost, since
        jobs that no server suits were accepted otherwise. Line 17 takes the last l, that of D_j
        workers, not l*. Lines 15 to 19 stand inside the loop over completion slots, which changes
        nothing that lines 5 and 6 ask for: the job is booked in every turn, and an l that is empty
        undoes its schedule.
        """
        utility = 0.0
        for _ in range(ledger.tau + 1):
            market, rows = self._market(job, ledger)
            last: tuple[PrintedAnswer | None, bool, int] = (None, True, 0)
            for n in range(1, job.num_chunks + 1):
                found = [
                    (subroutine(market, n, slots), fast, slots)
                    for subroutine, fast in ((cost_c_printed, True), (cost_d_printed, False))
                    for slots in (job.duration(n, fast),)
                    if len(rows) and slots <= market.slots
                ]
                costs = [one.claimed if one is not None else np.inf for one, _, _ in found]
                last = found[int(np.argmin(costs))] if found else (None, True, 0)
                utility = max(utility, 1 - min(costs, default=np.inf))
            if utility > 0:
                self._set(job, ledger, *last, rows)
        return utility > 0

    def _set(
        self,
        job: Job,
        ledger: PriceLedger,
        answer: PrintedAnswer | None,
        fast: bool,
        slots: int,
        rows: Integers,
    ) -> None:
        """Lines 17 and 18: the schedule becomes l, whatever it was, and l is booked."""
        self._decided.pop(job.id, None)
        if answer is None:
            return
        y = np.zeros(self._system.servers, dtype=np.int64)
        y[rows] = answer.workers
        start, end, ps = ledger.tau + 1, ledger.tau + slots, int(rows[answer.ps])
        ledger.book(job, start, end, y, ps)
        self._decided[job.id] = Decision(start, end, answer.claimed, fast, y, ps)

    def _key(self, pick: Pick, chosen: Choices) -> tuple[float, ...]:
        k = pick.choice
        first = (pick.cost, pick.end) if self._rules.selection == "paper" else (
            pick.end, pick.cost)  # fmt: skip
        return (*first, int(chosen.workers[k]), int(not chosen.fast[k]), pick.start)

    def schedule(self) -> Schedule:
        """What has been decided so far."""
        ids = sorted(self._decided)
        rows = [(j, d.start, d.end, d.together, d.ps) for j in ids for d in (self._decided[j],)]
        places = [
            (i, s, int(self._decided[j].workers[s]))
            for i, j in enumerate(ids)
            for s in np.flatnonzero(self._decided[j].workers).tolist()
        ]
        return Schedule.build(runs=rows, placements=places)


def _from_slot(market: ServerView, start: int) -> ServerView:
    """The market from a later slot on."""
    skip = start - market.first
    return ServerView(
        start,
        market.worker_price[:, skip:],
        market.ps_price[:, skip:],
        market.workers[:, skip:],
        market.services[:, skip:],
        market.release,
    )


def in_rounds(instance: Instance, rules: Rules) -> Schedule:
    """Hand the jobs over as time passes, round by round, until all are scheduled.

    Raises:
        InputError: the rules never accept some job.
    """
    scheduler = RoundScheduler(instance.system, rules)

    def hold(tau: float, following: float) -> bool:
        scheduler.hold(int(tau))
        return scheduler.waiting > 0

    in_batches(instance.arrivals(), lambda job, tau: job.release_slot < tau, scheduler.arrive, hold)
    return scheduler.schedule()
