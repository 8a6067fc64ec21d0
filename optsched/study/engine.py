"""Run a plan: send the runs that the store lacks to the executor, and store their results."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Literal

from optsched.errors import InputError
from optsched.evaluation.ratios import Row, best_start
from optsched.evaluation.runs import MethodRun
from optsched.parallel.local import AT_A_TIME, Executor, Finished, drain
from optsched.solvers.solution import Status
from optsched.study.layout import Layout, Made, Place, PlannedInstance, RunKey, Step
from optsched.study.pace import Pace, StudyProgress
from optsched.study.plan import Plan, Recipe
from optsched.study.reading import rows_of, runs_of
from optsched.study.store import Store
from optsched.study.worker import MakeInstance, Report, RunMethod, RunSweep, Task, work

Keep = Literal["none", "exact", "all"]
"""Whose schedules are kept; those of heuristics are quickly made again."""

SHORT = AT_A_TIME / 4
"""Mean wall seconds below which a method's runs go along with the making of their instance."""


@dataclass(eq=False)
class _Open:
    """A case whose runs are not all there."""

    number: int
    case: PlannedInstance
    layout: Layout
    made: Made = field(default_factory=lambda: Made(""))
    """Its instance, once there."""
    missing: set[Place] = field(default_factory=set)
    """Places of the steps without a result."""
    waiting: list[Step] = field(default_factory=list)
    """Solves that start from a heuristic's schedule, and proofs of what a solve finds."""


@dataclass(frozen=True)
class FinishedInstance:
    """An instance whose runs are all there."""

    number: int
    """In the plan."""
    rows: list[Row]
    """Its ratios."""


class Engine:
    """Runs a plan once; a result is in the store before it is told.

    Args:
        plan: what to run.
        store: what there is already, and where results go.
        executor: where to run it.
        keep: whose schedules to keep.
    """

    def __init__(self, plan: Plan, store: Store, executor: Executor, keep: Keep = "none") -> None:
        self.plan = plan
        self.store = store
        self.executor = executor
        self.keep = keep
        self._cases = deque(enumerate(plan.cases))
        self._tasks: deque[Task] = deque()
        self._fresh: list[Task] = []
        """Runs of instances just made, which go before others, while a worker has the instance."""
        self._making: dict[str, list[_Open]] = defaultdict(list)
        self._running: dict[RunKey, list[tuple[_Open, Step]]] = defaultdict(list)
        self._done: deque[_Open] = deque()
        """Cases whose runs are all there, until they are told."""
        self._pace = Pace(plan.layouts, plan.cases, store.took(), executor.size())

    def run(self) -> Generator[StudyProgress, None, None]:
        """Run to the end; yield after every result, and once at the start.

        Raises:
            InputError: a worker runs other code than this process; nothing of it is kept.
            ExecutorLostError: the executor is gone.
            KeyboardInterrupt: also if a solver has heard of it first.
        """
        self.store.set_plan(self.plan, self.executor.size())
        yield from self._refilled()
        with closing(drain(work, self._tasks, self.executor)) as batches:
            for batch in batches:
                with self.store.writing():
                    stops = [self._record(finished) for finished in batch]
                for stop in filter(None, stops):
                    raise stop
                self._pace.workers = self.executor.size()
                yield from self._refilled()

    def finished_instances(self) -> Generator[FinishedInstance, None, None]:
        """Run to the end as ``run`` does; yield each case once, when all its runs are there."""
        with closing(self.run()) as steps:
            for _ in steps:
                while self._done:
                    one = self._done.popleft()
                    yield FinishedInstance(one.number, self._rows(one))

    def add(self, case: PlannedInstance) -> None:
        """Ask for one more, between results: what came of others may lead to it."""
        number = len(self.plan.cases)
        self._cases.append((number, case))
        self.plan.cases.append(case)
        self._pace.expect(self.plan.layouts[case.grid], 1)
        self.store.add_cases(self.plan, number)

    # from cases to tasks

    def _refilled(self) -> Iterator[StudyProgress]:
        """Open cases and tell how far it is, again where cases are added on hearing it."""
        there = -1
        while there < len(self.plan.cases):
            there = len(self.plan.cases)
            self._refill()
            yield self._pace.progress()
            self._done.clear()

    def _refill(self) -> None:
        """Open cases until there is enough to do, also where many short runs go together."""
        self._tasks.extendleft(reversed(self._fresh))
        self._fresh.clear()
        while self._cases:
            layout = self.plan.layouts[self._cases[0][1].grid]
            unknown = any(math.isinf(self._pace.takes(step.key)) for step in _light(layout))
            # the first runs tell which are short
            if len(self._tasks) >= (4 if unknown else 64) * self.executor.window():
                break
            number, case = self._cases.popleft()
            one = _Open(number, case, layout)
            made = self.store.instance(case.recipe)
            if made is not None:
                self._begin(one, made)
                self._tasks.extend(self._fresh)
                self._fresh.clear()
                continue
            if case.recipe not in self._making:
                recipe = self.plan.recipes[case.recipe]
                self._tasks.append(MakeInstance(recipe, self._along(one, recipe)))
            self._making[case.recipe].append(one)

    def _along(self, one: _Open, recipe: Recipe) -> tuple[RunMethod, ...]:
        """Runs for which a worker has the instance at hand, where asking again costs more."""
        return tuple(
            RunMethod(
                step.run("", one.case.seed),
                self.plan.methods[step.key],
                recipe,
                look_ahead=one.case.look_ahead,
            )
            for step in _light(one.layout)
            if self.keep != "all" and self._pace.takes(step.key) < SHORT
        )

    def _begin(self, one: _Open, made: Made) -> None:
        """Ask for every run of a case; one whose instance cannot be made is finished."""
        one.made, steps = made, one.layout.steps
        if not made.digest:
            for step in steps:
                self._pace.finish(step.key)
            self._done.append(one)
            return
        one.missing = {step.place for step in steps}
        one.waiting = [
            step
            for step in steps
            if step.kind == "proof" or self.plan.methods[step.key].method.start
        ]
        for step in steps:
            if step not in one.waiting:
                self._ask(one, step)
        self._ask_waiting(one)

    def _ask_waiting(self, one: _Open) -> None:
        """Ask for the solves whose start is known: the best of the heuristics they name.

        And for the proofs whose claim is: the optimum that the solve of the same label found.
        """
        for step in list(one.waiting):
            if step.kind == "proof":
                if ("exact", step.label) not in one.missing:
                    one.waiting.remove(step)
                    found = self._runs(one)["exact", step.label]
                    optimal = found.status == Status.OPTIMAL
                    self._ask(one, step, claim=found.cost if optimal else None)
                continue
            names = self.plan.methods[step.key].method.start
            if any(("heuristic", name) in one.missing for name in names):
                continue
            one.waiting.remove(step)
            start = None
            comparison = one.layout.comparison
            key = step.run(one.made.digest, one.case.seed)
            if comparison is not None and not self.store.has(key):
                known = self._runs(one)
                usable = {name: known["heuristic", name] for name in names}
                start = best_start(comparison.sense, usable)
            self._ask(one, step, start)

    def _ask(
        self, one: _Open, step: Step, start: str | None = None, claim: float | None = None
    ) -> None:
        key = step.run(one.made.digest, one.case.seed)
        if self.store.has(key):
            self._tick(one, step)
            return
        if key not in self._running:
            asked, keep = self.plan.methods[step.key], self.keep in ("all", step.kind)
            if step.kind == "sweep":
                self._fresh.append(RunSweep(key, asked, one.case.cell))
            else:
                recipe = self.plan.recipes[one.case.recipe]
                ahead = one.case.look_ahead
                self._fresh.append(RunMethod(key, asked, recipe, start, keep, claim, ahead))
        self._running[key].append((one, step))

    def _tick(self, one: _Open, step: Step) -> None:
        """A run of the case is there."""
        one.missing.discard(step.place)
        self._pace.finish(step.key)
        if not one.missing:
            self._done.append(one)

    # from results to the store

    def _record(self, finished: Finished[Task, Report]) -> BaseException | None:
        """Keep a result; one that is none is a reason to stop."""
        task, report = finished.task, finished.value or Report(0.0)
        if report.refusal:
            return InputError.of("worker", report.refusal, "the code of the process that asks")
        if isinstance(task, MakeInstance):
            if finished.error and task.along:  # it may be a run that failed
                self._tasks.appendleft(MakeInstance(task.recipe))
                return None
            for one, told in zip(task.along, report.along, strict=False):
                known = replace(one, key=(report.digest, *one.key[1:]))
                stop = self._record(Finished(known, told))
                if stop is not None:
                    return stop
            self._record_instance(task, Made(report.digest, finished.error, report.took))
            return None
        run = report.run or MethodRun(Status.ERROR, message=finished.error)
        if run.status == Status.INTERRUPTED:
            return KeyboardInterrupt()  # heard by the solver; it says nothing of the method
        if not self.store.has(task.key):  # two recipes may give one instance
            self.store.put_run(task.key, run, report.took)
            self._pace.compute(task.key[1], task.asked.method.call, report.took)
        asking = self._running.pop(task.key, [])
        for case, step in asking:
            self._tick(case, step)
        for case, _ in asking:
            self._ask_waiting(case)
        return None

    def _record_instance(self, task: MakeInstance, made: Made) -> None:
        self.store.put_instance(task.recipe, made)
        for one in self._making.pop(task.recipe.key):
            self._begin(one, made)

    # from the store to rows

    def _runs(self, one: _Open) -> dict[Place, MethodRun]:
        """Return the finished runs of one instance."""
        there = self.store.runs(one.made.digest)
        return runs_of(one.layout, one.case, {one.case.recipe: one.made}, there)

    def _rows(self, one: _Open) -> list[Row]:
        return rows_of(one.layout, one.case, self._runs(one))


def _light(layout: Layout) -> list[Step]:
    """The steps that wait for no other and may be short."""
    return [step for step in layout.steps if step.kind in ("heuristic", "bound")]
