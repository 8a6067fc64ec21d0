"""(2) market by market: completions that prices leave open, in the compact model.

Nothing but its own jobs' wishes for its workers connects a market with the others, as parameter
servers never bind: so their optima add up. In each, prices bound the optimum from below, and leave
every job few slots to complete with in a schedule that is little worse than the bound. The compact
model over these is small. What it finds within the total they were made for is optimal; where it
finds nothing, nothing of that total exists, and a larger one is looked at.
"""

from __future__ import annotations

import math
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from threading import Lock

import numpy as np

from formulations.preemptive.check import check, completion_times
from formulations.preemptive.decode import refuse_too_many_chunks
from formulations.preemptive.exact.completion_fixing import Ends
from formulations.preemptive.exact.components import Market
from formulations.preemptive.exact.dual_guided import guided_schedule
from formulations.preemptive.exact.lagrangian import PricedMarket, price
from formulations.preemptive.grid import build_grid
from formulations.preemptive.instance import Booleans, Instance, whole_slots
from formulations.preemptive.problem_2 import (
    compact_model,
    decode_problem_2_compact,
)
from formulations.preemptive.schedule import Schedule
from formulations.preemptive.sequential import in_turn
from optsched.jit import limit_left, limited
from optsched.problem.methods import GAPS, LIMITS, ExactMethod
from optsched.solve import solve
from optsched.solvers.answer import Answer, answering
from optsched.solvers.deadline import Deadline
from optsched.solvers.options import Options
from optsched.solvers.registry import backend
from optsched.solvers.solution import Limit, Progress, Solution, Status
from optsched.solvers.trajectory import Either, SearchProgress

PRICES_SHARE = 0.2
"""Part of the time for prices."""
EXCHANGE_SHARE = 0.4
"""Part of the time left for exchanging jobs between edge and cloud; it ends by itself before."""
BEYOND = 1.0
"""Seconds that loops without machine code may go on after the limit, so that there is a schedule
where one is found so quickly."""
FIRST_SHARE = 0.5
"""Part of a market's time for completions near the prices' bound, before those that a proof of the
best schedule known must look at."""
LARGE = 20
"""Jobs of a market from which on even the last slots to its bound take long to prove."""
NEAR = 0.002
"""Distance of schedule and bound there, of the ages, from which on only the proof is looked for."""
PROOF_SHARE = 0.5
"""Part of all time left that such a proof may take: cut short, it proves nothing."""
WHOLE = 1e-6
"""Distance to a whole number that is a solver's rounding."""


def by_market(
    instance: Instance,
    options: Options,
    *,
    solver: str | None = None,
    start: Schedule | None = None,
) -> Answer:
    """Solve (2) to proof, or to the limits.

    Args:
        instance: times are taken up to whole slots.
        options: limits, and what the back end heeds of the rest; as many markets are looked at
            at a time as there are ``threads``, which changes nothing but the time it takes.
        solver: back end.
        start: a schedule to begin with.
    """
    refuse_too_many_chunks(instance)
    search = _Search(instance, options, solver or "highs")
    late = None if options.time_limit is None else options.time_limit + BEYOND
    with answering(search.answer), limited(late), suppress(TimeoutError):
        search.run(start)
    return search.answer()


BY_MARKET = ExactMethod(
    "by_market", by_market, "problem (2)",
    "total completion time, market by market: completions that prices leave open, in "
    "problem_2_compact",
    LIMITS | GAPS | {"solver", "start", "threads", "seed", "log", "extra", "on_progress"},
)  # fmt: skip


class _Part:
    """One market: the best schedule of its jobs, and a bound, in slots of their ages."""

    def __init__(self, instance: Instance, market: Market, priced: PricedMarket) -> None:
        self.jobs = market.jobs
        self.instance = instance.select_jobs(market.jobs)
        self.grid = build_grid(self.instance)
        self.ends = Ends(self.grid, market, priced)
        self.low = math.ceil(priced.bound)
        self.best: Schedule | None = None
        self.high = math.inf
        self.most = int((self.grid.end_slot - self.grid.first_slot).sum())
        """Ages that no schedule worth having exceeds."""
        self.room: float = 1
        """What the next total looked at lies above the bound."""
        self.near = NEAR if len(self.jobs) >= LARGE else 0.0
        """Relative gap at which what is left to do is the proof."""
        self.given_up = False
        """Whether its solver ended without a proof for another reason than time."""
        self.visits = 0
        """How often it was looked at."""
        self.nodes = 0

    @property
    def to_prove(self) -> bool:
        """Whether nothing but the proof is looked for."""
        return math.isinf(self.room) and self.closed(self.near)

    def closed(self, gap: float) -> bool:
        """Whether schedule and bound meet, up to a relative gap, or there is no schedule."""
        if math.isinf(self.high):
            return self.low > self.most
        return self.high - self.low <= gap * self.high

    def offer(self, schedule: Schedule) -> None:
        """Take a schedule in whole slots that is better than the best."""
        ages = whole_slots(completion_times(self.instance, schedule)) - self.grid.first_slot
        if ages.sum() < self.high:
            self.best, self.high = schedule, int(ages.sum())

    def next_total(self) -> int:
        """The ages up to which schedules are looked for next."""
        return int(min(self.low + self.room, self.last_total()))

    def last_total(self) -> float:
        """The ages up to which there is a better schedule, or the best is proven."""
        return min(self.high - 1, self.most)

    def own_ends(self) -> Booleans:
        """The completions of the best schedule, if there is one, shape (windows,)."""
        job, slot = self.grid.windows
        if self.best is None:
            return np.zeros(len(job), dtype=bool)
        return np.asarray(slot + 1 == whole_slots(completion_times(self.instance, self.best))[job])


class _Search:
    """All markets."""

    def __init__(self, instance: Instance, options: Options, solver: str) -> None:
        self.instance, self.solver = instance, solver
        self.clock = SearchProgress(options)
        self.options = replace(options, stop=self.clock.stop, on_progress=None, absolute_gap=0.0)
        self.gap, self.absolute_gap = options.gap, options.absolute_gap
        begin = Fraction(int(whole_slots(instance.release_time).sum()))
        self.late = begin - sum(map(Fraction, instance.release_time.tolist()), Fraction(0))
        """What the jobs' ages leave out: from release to the first whole slot."""
        self.parts: list[_Part] = []
        self.open: list[_Part] = []
        """Those that wait to be looked at."""
        self.workers = 1
        self.lock, self.halt = Lock(), Either(self.clock.stop)

    @property
    def bound(self) -> float:
        """On the total completion time."""
        return float(sum(part.low for part in self.parts) + self.late)

    @property
    def value(self) -> float:
        """Of the best schedules together."""
        ages = sum(part.high for part in self.parts)
        return math.inf if math.isinf(ages) else float(int(ages) + self.late)

    def closed(self) -> bool:
        """Whether bound and value meet, up to the gaps asked for."""
        if all(part.closed(self.gap) for part in self.parts):
            return True
        return self.value - self.bound <= self.absolute_gap

    def run(self, start: Schedule | None) -> None:
        """Everything, as far as the limits allow; time that one market leaves is the others'."""
        proof = price(self.instance, time_limit=self.clock.within(PRICES_SHARE))
        markets = zip(proof.markets, proof.priced, strict=True)
        self.parts = [_Part(self.instance, market, priced) for market, priced in markets]
        self.offer(start)
        self.offer(in_turn(self.instance))
        time = Deadline(self.clock.within(EXCHANGE_SHARE), self.clock.stop)
        self.offer(guided_schedule(self.instance, proof, clock=time, seed=self.options.seed))
        self.open = [part for part in self.parts if not part.closed(self.gap)]
        self.workers = max(1, min(self.options.threads, len(self.open)))
        threads = max(1, self.options.threads // self.workers)
        self.options = replace(self.options, threads=threads)
        if self.workers == 1:
            self.work()
            return
        self.options = replace(self.options, stop=self.halt)  # which not every solver honours
        left = limit_left()

        def beside() -> None:
            with limited(left), suppress(TimeoutError):
                self.work()

        with ThreadPoolExecutor(self.workers) as pool:
            working = [pool.submit(beside) for _ in range(self.workers)]
            try:
                for ended in wait(working, return_when=FIRST_EXCEPTION).done:
                    ended.result()
            except BaseException as failure:
                self.halt.set()
                if not isinstance(failure, KeyboardInterrupt):
                    raise

    def offer(self, schedule: Schedule | None) -> None:
        """Give every market its part of a schedule, if it is one."""
        if schedule is not None and not check(self.instance, schedule, slotted=True):
            for part in self.parts:
                part.offer(schedule.of_jobs(part.jobs))
        self.clock.tell(self.bound, self.value)

    def work(self) -> None:
        """Look at one open market after the other, at those least often looked at first."""
        while not (self.closed() or self.over()):
            with self.lock:
                if not self.open:
                    return
                part = min(self.open, key=lambda part: (part.visits, len(part.jobs)))
                self.open.remove(part)
                others = sum(other.visits == part.visits for other in self.open)
            share = min(1.0, self.workers / (others + 1))
            if part.to_prove:
                share = max(share, PROOF_SHARE)
            self.decide(part, Deadline(self.clock.within(share), self.halt))
            part.visits += 1
            if not (part.closed(self.gap) or part.given_up):
                with self.lock:
                    self.open.append(part)

    def over(self) -> bool:
        """Whether to begin nothing more."""
        return self.clock.over() or self.halt.is_set()

    def decide(self, part: _Part, clock: Deadline) -> None:
        """Look for schedules of larger and larger totals, for some time.

        A large market whose schedule is near its bound waits for its proof until all are so far.
        """
        while not (part.closed(self.gap) or self.closed() or clock.over()):
            total = part.next_total()
            proves = total == part.last_total()
            share = 1.0 if proves else FIRST_SHARE
            if self.attempt(part, total, clock.within(share)):
                part.room *= 2
            elif proves:
                part.given_up = not (clock.over() or self.halt.is_set())
                return
            elif not part.closed(part.near):
                part.room = math.inf
            if part.closed(part.near) and math.isfinite(part.room):
                part.room = math.inf
                return

    def attempt(self, part: _Part, total: int, seconds: float | None) -> bool:
        """Look for a schedule of a market of that total or less; whether that was decided."""
        job, may_end = part.grid.windows[0], part.ends.within(total)
        if np.any(np.bincount(job[may_end], minlength=len(part.jobs)) == 0):
            part.low = total + 1
            self.clock.tell(self.bound)
            return True
        late = float((part.grid.first_slot - part.instance.release_time).sum())

        def hear(progress: Progress) -> None:  # a solver's word, until its answer is there
            if progress.bound is not None:
                low = min(math.ceil(progress.bound - late - WHOLE), total + 1, part.high)
                self.clock.tell(bound=self.bound + max(0, low - part.low))
            if progress.objective is not None and math.isfinite(self.value):
                less = max(0.0, part.high - (progress.objective - late))
                self.clock.tell(objective=self.value - less)

        options = replace(self.options, time_limit=seconds, on_progress=self.clock.live(hear))
        if total < part.last_total():  # a proof must look further, and wants the time
            options = replace(options, gap=max(options.gap, part.near))
        # completions of the best schedule are left in, so that a solution is never far
        model = compact_model(part.grid, may_end | part.own_ends())
        solution = solve(model, self.solver, options=options)
        part.nodes += solution.nodes or 0
        if solution.status is Status.ERROR:
            return False
        self.clock.catch_up(solution, hear)
        if solution.has_point:
            part.offer(decode_problem_2_compact(part.instance, solution))
        if solution.status is Status.INFEASIBLE:
            part.low = total + 1
        elif solution.bound is not None:
            part.low = max(part.low, min(math.ceil(solution.bound - late - WHOLE), total + 1))
        part.low = int(min(part.low, part.high))
        self.clock.tell(self.bound, self.value)
        return solution.status in (Status.OPTIMAL, Status.INFEASIBLE)

    def answer(self) -> Answer:
        """What was found, in the solver's words."""
        if not self.parts:
            return self.without_prices()
        bound, value = self.bound, self.value
        known = math.isfinite(value)
        ended: Limit | None = None
        if any(part.low > part.most for part in self.parts):
            status = Status.INFEASIBLE
        elif known and value <= bound:
            status = Status.OPTIMAL
        elif self.halt.is_set():
            status = Status.INTERRUPTED
        else:
            status = Status.FEASIBLE if known else Status.NO_SOLUTION
            ended = Limit.TIME if self.clock.over() else Limit.GAP if self.closed() else None
        proven = sum(part.closed(0.0) for part in self.parts)
        solution = Solution(
            status,
            objective=value if known else None,
            bound=None if status is Status.INFEASIBLE else bound,
            limit=ended,
            checked=known,
            nodes=sum(part.nodes for part in self.parts),
            solver=self.solver,
            version=backend(self.solver).version(),
            message=f"{proven} of {len(self.parts)} markets proven",
        )
        parts = [(part.jobs, part.best) for part in self.parts if part.best is not None]
        return Answer(self.clock.ended(solution), Schedule.merged(parts) if known else None)

    def without_prices(self) -> Answer:
        """What is known where there was no time for their machine code: nothing."""
        solution = Solution(
            Status.NO_SOLUTION,
            limit=Limit.TIME,
            solver=self.solver,
            version=backend(self.solver).version(),
            message="no time was left for machine code",
        )
        return Answer(self.clock.ended(solution))
