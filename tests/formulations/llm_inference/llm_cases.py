"""Worked examples of LLM inference, and the optimum by enumeration of all starts."""

import itertools

import numpy as np

from formulations.llm_inference import Instance, Schedule
from formulations.llm_inference.check import check, cost
from formulations.llm_inference.generator import generate

FOUR = Instance.build(memory=6, arrival=[0, 1, 2, 2], prompt=[1, 1, 3, 2], output=[5, 2, 2, 1])
"""Optimum 16 with starts 5, 1, 3, 2."""
WAITING_HELPS = Instance.build(memory=7, arrival=[0, 2, 0], prompt=[1, 1, 1], output=[5, 2, 5])
"""Optimum 19 with starts 1, 2, 6; 20 if no request waits longer than those before it make it."""


NO_ORDER = Instance.build(memory=8, prompt=[2, 1, 1, 1], output=[2, 2, 7, 4])
"""Optimum 20; 21 if requests are inserted one by one, each as early as possible, in any order."""


def schedule_of(instance, starts):
    return Schedule.build(np.column_stack([np.arange(instance.requests), starts, instance.output]))


def brute_force(instance, horizon):
    """Least cost over all starts within a horizon; a start is tried unless the sum is too large."""
    ramps = [s + np.arange(1, o + 1) for s, o in zip(instance.prompt, instance.output, strict=True)]
    load, best = np.zeros(horizon, dtype=np.int64), np.inf

    def extend(i, total):
        nonlocal best
        if i == instance.requests:
            best = min(best, total)
            return
        for start in range(int(instance.arrival[i]), horizon - len(ramps[i]) + 1):
            latency = start + len(ramps[i]) - int(instance.arrival[i])
            if total + latency >= best:
                return
            held = load[start : start + len(ramps[i])]
            if (held + ramps[i] <= instance.memory).all():
                held += ramps[i]
                extend(i + 1, total + latency)
                held -= ramps[i]

    extend(0, 0)
    return best


def left_shifted(instance, *, chronological=True):
    """Least cost over all orders, each as early as those before it allow.

    Args:
        instance: with few requests.
        chronological: whether the order is that of the starts.
    """
    best = np.inf
    for order in itertools.permutations(range(instance.requests)):
        runs = []
        for i in order:
            start = int(instance.arrival[i])
            if chronological:
                start = max([start, *(run[1] for run in runs)])
            while any(
                v.constraint == "L2"
                for v in check(instance, Schedule.build([*runs, (i, start, instance.output[i])]))
            ):
                start += 1
            runs.append((i, start, instance.output[i]))
        best = min(best, cost(instance, Schedule.build(runs)))
    return best


def tiny(seed, requests=3):
    """A random instance with little memory."""
    rng = np.random.default_rng(seed)
    memory = int(rng.integers(5, 9))
    prompt = rng.integers(1, 3, requests)
    output = np.array([rng.integers(1, memory - s + 1) for s in prompt])
    return Instance.build(
        memory=memory, arrival=rng.integers(0, 4, requests), prompt=prompt, output=output
    )


def drawn(seed, **options):
    return generate(np.random.default_rng(seed), **options)
