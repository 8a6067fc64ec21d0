"""The objective and the constraints, evaluated on a schedule; knows no solver.

| number | index          | amount                                                            |
|--------|----------------|-------------------------------------------------------------------|
| L1     | request, round | rounds before its arrival                                         |
| L2     | round          | tokens beyond M                                                   |
| H1     | request        | runs beyond one, or 1 if none is complete; with ``restarts``:     |
|        |                | complete runs beyond one, rounds in which two runs overlap, or    |
|        |                | tokens generated after the complete run                           |
| run    | run            | 1: no such request, a negative start, or more tokens than o_i     |
"""

from __future__ import annotations

import numpy as np

from formulations.llm_inference.instance import Instance, Integers
from formulations.llm_inference.schedule import Schedule
from optsched.instances.arrays import ranges
from optsched.problem.violation import Violation


def completions(instance: Instance, schedule: Schedule) -> np.ndarray:
    """c_i, shape (requests,), rounds; infinite for a request that does not complete."""
    ends = np.full(instance.requests, np.inf)
    whole = schedule.tokens == instance.output[schedule.request]
    np.minimum.at(ends, schedule.request[whole], (schedule.start + schedule.tokens)[whole])
    return ends


def latencies(instance: Instance, schedule: Schedule) -> np.ndarray:
    """c_i - a_i, shape (requests,), rounds; infinite for a request that does not complete."""
    return np.asarray(completions(instance, schedule) - instance.arrival)


def cost(instance: Instance, schedule: Schedule) -> float:
    """Total latency, sum_i (c_i - a_i), rounds."""
    return float(latencies(instance, schedule).sum())


def loads(instance: Instance, schedule: Schedule) -> tuple[Integers, Integers]:
    """The rounds in which something runs, ascending, and the tokens that all runs hold in each."""
    run, round_ = ranges(schedule.start, schedule.start + schedule.tokens)
    held = instance.prompt[schedule.request[run]] + round_ - schedule.start[run] + 1
    rounds, at = np.unique(round_, return_inverse=True)
    load = np.zeros(len(rounds), dtype=np.int64)
    np.add.at(load, at, held)
    return rounds, load


def check(instance: Instance, schedule: Schedule, *, restarts: bool = False) -> list[Violation]:
    """List every violated constraint, as the module's table describes.

    Args:
        instance: the requests and the worker.
        schedule: what was decided.
        restarts: whether runs may be broken off; every run counts for the memory.
    """
    request, start, tokens = schedule.request, schedule.start, schedule.tokens
    known = (request >= 0) & (request < instance.requests)
    most = instance.output[np.where(known, request, 0)]
    bad = ~known | (start < 0) | (tokens < 1) | (tokens > most)
    if bad.any():  # what is out of range cannot be judged further
        return [Violation("run", {"run": int(k)}, 1.0) for k in np.flatnonzero(bad)]
    early = instance.arrival[request] - start
    found = [
        Violation("L1", {"request": int(request[k]), "round": int(start[k])}, float(early[k]))
        for k in np.flatnonzero(early > 0)
    ]
    rounds, load = loads(instance, schedule)
    over = load - instance.memory
    found += [
        Violation("L2", {"round": int(rounds[u])}, float(over[u])) for u in np.flatnonzero(over > 0)
    ]
    whole = tokens == most
    complete = np.bincount(request[whole], minlength=instance.requests)
    runs = complete if restarts else np.bincount(request, minlength=instance.requests)
    wrong = np.where(complete == 0, 1, runs - 1)
    found += [Violation("H1", {"request": int(i)}, float(wrong[i])) for i in np.flatnonzero(wrong)]
    order = np.lexsort((start, request))
    first, second = order[:-1], order[1:]
    beyond = np.where(request[first] == request[second], (start + tokens)[first] - start[second], 0)
    late = np.where((request[first] == request[second]) & whole[first], tokens[second], 0)
    return found + [
        Violation("H1", {"request": int(request[second[k]])}, float(max(beyond[k], late[k])))
        for k in np.flatnonzero(np.maximum(beyond, late) > 0)
        if restarts
    ]
