"""LB-PRICES: a proven bound at the size of a whole trace.

Of (2) only the capacities (2d) remain, per pool of workers that serve the same jobs, and they are
relaxed: their Lagrange multipliers are prices of worker time. At any prices, the least that each
job pays for its completion, summed up, less the price of all capacity, bounds the optimum from
below. Subgradient steps in floating point improve the prices; the bound that they prove is computed
in integers alone.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from threading import Event

import numpy as np

from formulations.preemptive.exact.components import Component, components
from formulations.preemptive.instance import Floats, Instance, Integers, whole_slots
from optsched.errors import InputError
from optsched.jit import stopwatch
from optsched.parallel.local import Executor, drain
from optsched.problem import Bound

STEPS = 300
"""Evaluations of the bound, unless told otherwise."""

FEW = 5_000
"""Pairs of a job and a worker up to which the servers' workers are priced apart."""

PATIENCE = 6
"""Non-improving steps after which the search returns to the best prices, to aim nearer."""


@dataclass(frozen=True, eq=False)
class PricedComponent:
    """The best prices found for a component, and what they prove."""

    bound: Fraction
    """On the sum of the jobs' ages at completion, slots; slots begin at whole ones if slotted."""
    price: Floats
    """Slots of completion time per slot of a worker, shape (pools, cells)."""
    age: Floats
    """At completion, in each job's cheapest way, slots; infinite for whole in the cloud."""
    best: Floats
    """Bound after each step."""
    seconds: Floats
    """Since the first step began."""


def proof(component: Component, price: Floats) -> tuple[Fraction, Integers]:
    """What prices prove, in exact arithmetic, and the jobs' ages at completion in time units."""
    whole = component.whole(price)
    value, age, _ = component.evaluate(whole)
    low = (1 << 31) - 1
    values = (int((value >> 31).sum()) << 31) + int((value & low).sum())
    length = np.diff(component.edges)
    for pool, workers in enumerate(component.capacity.tolist()):
        paid = np.flatnonzero(whole[pool])
        at = zip(whole[pool, paid].tolist(), length[paid].tolist(), strict=True)
        values -= workers * sum(p * units for p, units in at)
    values -= component.slack << component.price_bits
    return Fraction(values, 1 << (component.time_bits + component.price_bits)), age


def improve(
    component: Component,
    *,
    steps: int = STEPS,
    seconds: float = math.inf,
    stop: Event | None = None,
) -> PricedComponent:
    """Improve prices from zero, at which every job runs as if alone.

    Steps are of Polyak's kind towards a little more than the best bound so far, along a direction
    that remembers the last one.

    Args:
        component: what to price.
        steps: most evaluations.
        seconds: after which no further step is made; getting machine code comes on top.
        stop: set to make no further step.
    """
    began, made = time.perf_counter(), 0.0
    length = np.ldexp(np.diff(component.edges).astype(np.float64), -component.time_bits)
    supply = component.capacity[:, None] * length
    unit, whole_value = (
        2.0**-component.time_bits,
        2.0 ** -(component.time_bits + component.price_bits),
    )
    price = np.zeros(supply.shape)
    best, best_price, ahead, idle = -math.inf, price, 0.1 if component.slotted else 0.01, 0
    lucky, direction = 0, np.zeros(supply.shape)
    curve = []
    for _ in range(steps):
        whole = component.whole(price)
        with stopwatch() as watch:
            value, _, use = component.evaluate(whole)
        made += watch.compile_seconds  # machine code comes on top
        paid = np.ldexp(whole.astype(np.float64), -component.price_bits)
        level = float(value.sum(dtype=np.float64)) * whole_value - float((supply * paid).sum())
        if level > best:
            best, best_price, idle, lucky = level, price, 0, lucky + 1
            if lucky % PATIENCE == 0:
                ahead /= 0.7
        else:
            idle, lucky = idle + 1, 0
        curve.append((best, time.perf_counter() - began))
        if curve[-1][1] - made > seconds or (stop is not None and stop.is_set()):
            break
        if idle >= PATIENCE:
            price, ahead, idle = best_price, 0.7 * ahead, 0
            direction = np.zeros(supply.shape)
            continue
        direction = (use * unit - supply) / length + 0.7 * direction
        direction[(price <= 0) & (direction < 0)] = 0.0
        direction[:, -1] = 0.0
        squares = float((direction * direction * length).sum())
        if squares <= 0:
            break
        price = np.maximum(0.0, price + direction * ((1 + ahead) * best - level) / squares)
    bound, age = proof(component, best_price)
    ages = np.where(age < 0, np.inf, np.ldexp(age.astype(np.float64), -component.time_bits))
    return PricedComponent(bound, best_price, ages, *np.array(curve).T)


@dataclass(frozen=True, eq=False)
class PriceProof:
    """What prices prove of an instance, component by component."""

    slotted: bool
    components: Sequence[Component]
    priced: Sequence[PricedComponent]

    def bound(self, instance: Instance) -> float:
        """On the total completion time: no schedule costs less."""
        ages = sum((found.bound for found in self.priced), Fraction(0))
        if self.slotted:  # completion times are whole
            begin = int(whole_slots(instance.release_time).sum())
            released = sum(map(Fraction, instance.release_time.tolist()), Fraction(0))
            ages = math.ceil(ages + begin) - released
        nearest = float(ages)
        return nearest if Fraction(nearest) <= ages else math.nextafter(nearest, -math.inf)

    def curve(self) -> tuple[Floats, Floats]:
        """Seconds, all components added up, and the bound at that time, after each step."""
        steps = max(len(found.best) for found in self.priced)

        def total(name: str) -> Floats:
            columns = [getattr(found, name) for found in self.priced]
            padded = [np.pad(c, (0, steps - len(c)), mode="edge") for c in columns]
            return np.asarray(np.sum(padded, axis=0))

        return total("seconds"), total("best")


def price(
    instance: Instance,
    *,
    slotted: bool = True,
    by_server: bool = False,
    steps: int = STEPS,
    time_limit: float | None = None,
    stop: Event | None = None,
    executor: Executor | None = None,
) -> PriceProof:
    """Find good prices, each component on its own.

    Args:
        instance: any.
        slotted: see ``components``.
        by_server: see ``components``.
        steps: most evaluations per component. The proof depends on nothing else, unless time is up.
        time_limit: wall seconds for the steps, shared out among the components.
        stop: set to improve no further; an ``executor`` ignores it.
        executor: where the components are priced, one after the other or at the same time; None: in
            this process.

    Raises:
        InputError: fewer than one step, or a time limit below zero.
        RuntimeError: a process failed.
        TimeoutError: under a limit, there was no time for machine code.
    """
    if steps < 1:
        raise InputError.of("steps", steps, "an integer >= 1")
    if time_limit is not None and not time_limit >= 0:
        raise InputError.of("time_limit", time_limit, "a number of seconds >= 0")
    cut = components(instance, slotted=slotted, by_server=by_server)
    here = stop if executor is None else None  # it goes into no other process
    at_a_time = 1 if executor is None else executor.size()
    left = math.inf if time_limit is None else time_limit
    share = left * min(at_a_time, len(cut)) / len(cut)
    priced: dict[int, PricedComponent] = {}
    # the largest first, so that none is waited for at the end
    largest = sorted(range(len(cut)), key=lambda i: -len(cut[i].jobs))
    tasks = deque((i, cut[i], steps, share, here) for i in largest)
    if executor is None:
        priced = {task[0]: _improved(task) for task in tasks}
    else:
        for batch in drain(_improved, tasks, executor):
            for finished in batch:
                if finished.value is None:
                    raise RuntimeError(f"pricing failed: {finished.error}")
                priced[finished.task[0]] = finished.value
    return PriceProof(slotted, cut, [priced[i] for i in range(len(cut))])


def _improved(task: tuple[int, Component, int, float, Event | None]) -> PricedComponent:
    _, component, steps, seconds, stop = task
    return improve(component, steps=steps, seconds=seconds, stop=stop)


def lb_prices(instance: Instance) -> float:
    """LB-PRICES of (2) after ``STEPS`` steps; by server if that is cheap.

    Time is continuous unless all times are whole slots, so that the bound holds for schedules
    between slots, too. An instance's horizon is ignored.
    """
    by_server = instance.jobs * instance.workers <= FEW
    return price(instance, slotted=instance.is_integral, by_server=by_server).bound(instance)


PRICES = Bound(
    "lb_prices", lb_prices, "problem (2)",
    "prices of worker time by type, exact to the last digit, at the size of a whole trace",
    as_given=True,
)  # fmt: skip
WITHOUT_STORAGE = replace(PRICES, summary=f"{PRICES.summary}; storage left out")
