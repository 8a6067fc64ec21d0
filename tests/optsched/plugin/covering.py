"""A problem as a third party would write it: buy the cheapest items whose sizes cover a demand.

Its distribution announces it by entry points, so it is found the way an installed package is.
A speed s counts every item s times, as speed augmentation does for an online algorithm.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from optsched.instances.document import PlainDocument
from optsched.model import Model
from optsched.problem import Bound, Heuristic, Problem
from optsched.problem.methods import ExactMethod, Formulation
from optsched.problem.violation import Violation
from optsched.solvers.answer import Answer
from optsched.solvers.solution import Solution, Status


class Cover(PlainDocument):
    price: list[float] = Field(description="of each item")
    size: list[float]
    demand: float = Field(ge=0)


class Choice(PlainDocument):
    taken: list[int] = Field(description="indices of the items bought")
    speed: float = Field(1.0, gt=0)


class GeneratorOptions(BaseModel):
    model_config = ConfigDict(frozen=True)

    items: int = Field(6, ge=1, le=1000, description="how many items")
    tightness: float = Field(0.5, gt=0, le=1, description="demand over total size")
    prices: tuple[int, int] | None = Field(None, description="lowest and highest price")


def generate(rng, items=6, tightness=0.5, prices=None):
    low, high = prices or (1, 19)
    price = rng.integers(low, high, size=items, endpoint=True).tolist()
    size = rng.integers(1, 20, size=items).tolist()
    return Cover(price=price, size=size, demand=int(tightness * sum(size)))


def check(instance, schedule, *, speed=1.0):
    violations = [
        Violation("2", {"item": item}, 1.0)
        for item in schedule.taken
        if not 0 <= item < len(instance.size)
    ]
    covered = speed * sum(instance.size[i] for i in schedule.taken if 0 <= i < len(instance.size))
    if covered < instance.demand - 1e-9:
        violations.append(Violation("1", {}, instance.demand - covered))
    return violations


def cost(instance, schedule):
    return float(sum(instance.price[item] for item in schedule.taken))


def knapsack(instance, *, spare=0.0):
    model = Model("covering")
    take = model.binary("take", shape=len(instance.size))
    model.minimize(take @ np.array(instance.price))
    model.add("1", take @ np.array(instance.size) >= instance.demand + spare)
    return model


def greedy(instance, rng, *, epsilon=0.0):
    """Cheapest per unit of size first, each item counted 1 + epsilon times."""
    order = np.argsort(np.array(instance.price) / np.array(instance.size), kind="stable")
    taken, missing = [], instance.demand
    for item in order.tolist():
        if missing <= 0:
            break
        taken.append(item)
        missing -= (1 + epsilon) * instance.size[item]
    return Choice(taken=taken, speed=1 + epsilon)


def everything(instance, rng):
    return Choice(taken=list(range(len(instance.size))))


def shuffled(instance, rng):
    taken, missing = [], instance.demand
    for item in rng.permutation(len(instance.size)).tolist():
        if missing <= 0:
            break
        taken.append(item)
        missing -= instance.size[item]
    return Choice(taken=taken)


def nothing(instance, rng):
    return Choice(taken=[])


def crashing(instance, rng):
    raise ZeroDivisionError("as heuristics under test sometimes do")


def killing(instance, rng):
    os._exit(3)


def fractional(instance):
    """Items may be cut: fill the demand by price per unit of size."""
    price, size = np.array(instance.price), np.array(instance.size)
    order = np.argsort(price / size)
    before = np.concatenate([[0.0], np.cumsum(size[order])[:-1]])
    used = np.clip(instance.demand - before, 0, size[order])
    return float(np.sum(used * (price / size)[order]))


def failing_bound(instance):
    raise ArithmeticError("no bound today")


PROBLEM = Problem(
    name="covering",
    summary="Buy the cheapest items that cover a demand.",
    source="a test",
    instance_type=Cover,
    schedule_type=Choice,
    check=check,
    cost=cost,
    generate=generate,
    generator_options=GeneratorOptions,
    formulations={
        "knapsack": Formulation(
            "knapsack",
            knapsack,
            "(1)-(2)",
            "one binary per item",
            decode=lambda instance, solution, spare=0.0: Choice(
                taken=np.flatnonzero(solution["take"] > 0.5).tolist()
            ),
            encode=lambda instance, schedule: {
                "take": np.isin(np.arange(len(instance.size)), schedule.taken).astype(float)
            },
        ),
        "relaxed": Formulation(
            "relaxed",
            lambda instance: knapsack(instance).relax(),
            "(1)",
            "items may be cut",
        ),
        "cutting": ExactMethod(
            "cutting",
            lambda instance, options: Answer(Solution(Status.OPTIMAL, bound=fractional(instance))),
            "(1)",
            "items may be cut, best value first",
            relaxation=True,
        ),
    },
    reference="knapsack",
    unit="euro",
    bounds={
        "fractional": Bound("fractional", fractional, "folklore", "items may be cut"),
        "halved": Bound(
            "halved",
            lambda instance: fractional(instance) / 2,
            "a test",
            "weaker",
            numerator=lambda instance, schedule: cost(instance, schedule) / 2,
        ),
        "failing": Bound("failing", failing_bound, "a test", "raises"),
    },
    heuristics={
        "greedy": Heuristic("greedy", greedy, "folklore", "best value first"),
        "everything": Heuristic("everything", everything, "folklore", "buys all", online=False),
    },
    check_options=lambda schedule: {} if schedule.speed == 1 else {"speed": schedule.speed},
    presets=Path(__file__).with_name("covering.toml"),
)

MORE = {
    "shuffled": Heuristic("shuffled", shuffled, "folklore", "in random order"),
    "nothing": Heuristic("nothing", nothing, "a test", "buys nothing"),
    "crashing": Heuristic("crashing", crashing, "a test", "raises"),
    "killing": Heuristic("killing", killing, "a test", "ends its process"),
}
