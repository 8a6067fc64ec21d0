"""Random statements about tasks: resources, precedence, ways to do them, set-up times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from support.drawing import Drawing
from support.recipe import Affine

Tasks = dict[str, Any]
"""An interval statement."""


def _tasks(d: Drawing, name: str, count: int) -> Tasks:
    """Tasks of which the planted point keeps start, duration and end."""
    start = [d.affine(max_terms=1, whole=True) for _ in range(count)]
    duration: list[Affine] = []
    for _ in range(count):
        terms: Affine = [float(d.count(0, 3))]
        if d.rng.random() < 0.4:
            terms = d.affine(max_terms=1, whole=True)
            terms[0] += max(0.0, -d.at(terms))
        duration.append(terms)
    end = [[s[0] + t[0], *s[1:], *t[1:]] for s, t in zip(start, duration, strict=True)]
    if d.rng.random() < 0.3:  # an end of its own, which the statement ties to the rest
        free = d.affine(max_terms=1, whole=True)
        end[0] = [free[0] + d.at(end[0]) - d.at(free), *free[1:]]
    presence = d.literals(count) if d.rng.random() < 0.6 else None
    return {"kind": "interval", "name": name, "start": start, "duration": duration,
            "end": end, "presence": presence}  # fmt: skip


def _present(d: Drawing, tasks: Tasks) -> list[bool]:
    """Whether each task is there at the planted point."""
    if tasks["presence"] is None:
        return [True] * len(tasks["start"])
    return [d.point[name, index] == 1 for name, index in tasks["presence"]]


def _interval(d: Drawing, name: str, size: int) -> dict[str, Any]:
    """Tasks, and the resource they share."""
    tasks = _tasks(d, f"{name}:tasks", size + 1)
    d.statements.append(tasks)
    demand: list[Affine] = [[float(d.count(0, 2))] for _ in tasks["start"]]
    if d.rng.random() < 0.3:
        terms = d.affine(max_terms=1, whole=True)
        demand[0] = [terms[0] - d.range(terms)[0], *terms[1:]]
    there = _present(d, tasks)
    load = [
        sum(
            d.at(q)
            for s, e, q, here in zip(tasks["start"], tasks["end"], demand, there, strict=True)
            if here and d.at(s) <= d.at(moment) < d.at(e)
        )
        for moment in tasks["start"]
    ]
    capacity: Affine = [float(max(load) + d.count(-1, 1))]
    if d.rng.random() < 0.3:
        capacity = d.affine(max_terms=1, whole=True)
        capacity[0] += max(load) - d.at(capacity)
    return {"kind": "cumulative", "tasks": tasks["name"], "demand": demand, "capacity": capacity}


def _profile(d: Drawing, name: str, size: int) -> dict[str, Any]:
    """Tasks, and a resource of which each demands more or less with its age."""
    tasks = _tasks(d, f"{name}:tasks", size + 1)
    d.statements.append(tasks)
    longest = [max(0, int(d.range(duration)[1])) for duration in tasks["duration"]]
    demand = [[float(d.count(0, 3)) for _ in range(ages)] for ages in longest]
    load: dict[float, float] = defaultdict(float)
    parts = zip(tasks["start"], tasks["duration"], demand, _present(d, tasks), strict=True)
    for start, duration, row, here in parts:
        for age in range(int(d.at(duration)) if here else 0):
            load[d.at(start) + age] += row[age]
    capacity = [max(load.values(), default=0.0) + d.count(-1, 1)]
    return {"tasks": tasks["name"], "demand": demand, "capacity": capacity}


def _precedence(d: Drawing, name: str, size: int) -> dict[str, Any]:
    pair = [_tasks(d, f"{name}:{word}", size) for word in ("first", "then")]
    d.statements += pair
    points = [("start", "end")[d.count(0, 1)] for _ in pair]
    lag = [d.affine(max_terms=1, whole=True) for _ in range(size)]
    for i, terms in enumerate(lag):
        before, after = (d.at(tasks[point][i]) for tasks, point in zip(pair, points, strict=True))
        terms[0] += after - before - d.at(terms) - d.count(0, 2)
    return {"first": pair[0]["name"], "then": pair[1]["name"], "lag": lag,
            "from": points[0], "to": points[1]}  # fmt: skip


def _alternative(d: Drawing, name: str, size: int) -> dict[str, Any]:
    """One task, and ways of which the planted point has the right number."""
    task = _tasks(d, f"{name}:task", 1)
    d.statements.append(task)
    ways = _tasks(d, f"{name}:ways", size + 1)
    for _ in range(9):
        ways["presence"] = d.literals(size + 1)
        if sum(_present(d, ways)) == _present(d, task)[0]:
            break
    for i, here in enumerate(_present(d, ways)):
        for point in ("start", "end"):
            if here:
                ways[point][i][0] += d.at(task[point][0]) - d.at(ways[point][i])
        if here and d.rng.random() < 0.8:
            ways["duration"][i] = [d.at(ways["end"][i]) - d.at(ways["start"][i])]
    return {"task": task["name"], "ways": ways}


def _no_overlap(d: Drawing, name: str, size: int) -> dict[str, Any]:
    """Tasks one after the other at the planted point, in an order at random."""
    count = size + 1
    start = [d.affine(max_terms=1, whole=not d.continuous) for _ in range(count)]
    lengths = [float(d.count(0, 2)) for _ in range(count)]
    setup = [[float(d.count(0, 1)) for _ in range(count)] for _ in range(count)]
    place = {int(task): at for at, task in enumerate(d.rng.permutation(count))}
    clock = float(d.count(-1, 1))
    for task in sorted(place, key=place.__getitem__):
        start[task][0] += clock - d.at(start[task])
        clock += lengths[task] + 1
    pairs = [(i, j) for i in range(count) for j in range(i + 1, count)]
    for k, (i, j) in enumerate(pairs):
        d.own((name, k), 0, 1, float(place[i] < place[j]), True)
    return {"start": start, "lengths": lengths, "setup": setup}


TASKS: dict[str, Callable[[Drawing, str, int], dict[str, Any]]] = {
    "interval": _interval,
    "cumulative_profile": _profile,
    "precedence": _precedence,
    "alternative": _alternative,
    "no_overlap": _no_overlap,
}
