"""Pods arriving at a cluster with GPUs: the allocation ratio of simple policies.

The set-up of Weng et al. (USENIX ATC 2023): the pod list is topped up with pods drawn from itself
until their GPUs reach a multiple of the cluster's, shuffled, and placed one by one. Pods never
leave; one that fits nowhere is dropped. A pod fits a node when CPU and memory do and so many
distinct GPUs each have its share free.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from formulations.aerialedge.instance import Booleans, Floats, Integers
from formulations.common.traces.alibaba_gpu import GpuNodes, GpuPods
from optsched.errors import InputError

GpuPolicy = Literal["random", "best_fit"]

_WHOLE = 1000  # thousandths of one GPU
_CPU_SCALE, _GPU_SCALE = 128_000, 8_000  # of a large node: by which BestFit weighs what is left


@dataclass(frozen=True, eq=False)
class Allocation:
    """What was demanded and what was allocated after each arrival, in shares of all GPUs."""

    arrived: Floats
    """Shape (pods,)."""
    allocated: Floats
    """Shape (pods,)."""

    def at(self, share: float) -> float:
        """Allocated share when so much of the cluster's GPUs has been asked for."""
        k = int(np.searchsorted(self.arrived, share - 1e-12))
        return float(self.allocated[min(k, len(self.allocated) - 1)])


def topped_up(
    pods: GpuPods, nodes: GpuNodes, rng: np.random.Generator, *, demand: float = 1.3
) -> GpuPods:
    """The pods, with more drawn from them, until so many times the GPUs are asked for; shuffled.

    Raises:
        InputError: no pod asks for a GPU, or ``demand`` is not positive.
    """
    gpu = pods.total_gpu_milli
    if not gpu.any():
        raise InputError.of("pods", "no GPU asked for", "at least one pod with a GPU")
    if not demand > 0:
        raise InputError.of("demand", demand, "a number > 0")
    target = demand * _WHOLE * int(nodes.gpus.sum())
    chosen = [np.arange(len(pods))]
    total = int(gpu.sum())
    while total < target:
        drawn = rng.integers(0, len(pods), len(pods))
        reached = total + np.cumsum(gpu[drawn])
        drawn = drawn[: int(np.searchsorted(reached, target)) + 1]
        chosen.append(drawn)
        total += int(gpu[drawn].sum())
    return pods.select(rng.permutation(np.concatenate(chosen)))


class _Machines:
    """Free CPU, memory and thousandths of every GPU."""

    def __init__(self, nodes: GpuNodes) -> None:
        self.cpu, self.mem = nodes.cpu_milli.copy(), nodes.mem_mib.copy()
        width = max(int(nodes.gpus.max(initial=0)), 1)
        self.gpu = np.where(np.arange(width) < nodes.gpus[:, None], _WHOLE, 0)
        self.free = self.gpu.sum(axis=1)

    def fits(self, cpu: int, mem: int, number: int, share: int) -> Booleans:
        room = (self.cpu >= cpu) & (self.mem >= mem)
        if number == 0:
            return np.asarray(room)
        return np.asarray(room & ((self.gpu >= share).sum(axis=1) >= number))

    def put(
        self,
        node: int,
        cpu: int,
        mem: int,
        number: int,
        share: int,
        rng: np.random.Generator | None,
    ) -> None:
        """Take GPUs with room: any drawn by ``rng``, or else those with the least of it."""
        self.cpu[node] -= cpu
        self.mem[node] -= mem
        if number:
            row = self.gpu[node]
            room = np.flatnonzero(row >= share)
            if rng is None:
                room = room[np.argsort(row[room], kind="stable")]
            else:
                room = rng.permutation(room)
            row[room[:number]] -= share
            self.free[node] -= number * share


def replay(
    pods: GpuPods, nodes: GpuNodes, policy: GpuPolicy, rng: np.random.Generator
) -> Allocation:
    """Place pods in their order.

    Args:
        pods: in order of arrival.
        nodes: the cluster, with at least one GPU.
        policy: "random", a node drawn from those with room, and GPUs drawn from those of it;
            "best_fit", the node with least of 0.5 (CPU left) / 128 cores + 0.5 (GPU left) / 8, and
            on it the GPUs with the least room.
        rng: draws under "random".

    Raises:
        InputError: an unknown policy, or a cluster without GPUs.
    """
    if policy not in get_args(GpuPolicy):
        raise InputError.of("policy", policy, "must be one of " + ", ".join(get_args(GpuPolicy)))
    total = _WHOLE * int(nodes.gpus.sum())
    if not total:
        raise InputError.of("nodes", "no GPU", "at least one GPU")
    machines = _Machines(nodes)
    rules: dict[str, Callable[[Integers, int, int], int]] = {
        "random": lambda room, cpu, gpu: int(rng.choice(room)),
        "best_fit": lambda room, cpu, gpu: int(
            room[
                np.argmin(
                    (machines.cpu[room] - cpu) / _CPU_SCALE
                    + (machines.free[room] - gpu) / _GPU_SCALE
                )
            ]
        ),
    }
    choose = rules[policy]
    placed = np.zeros(len(pods), dtype=np.int64)
    wanted = pods.total_gpu_milli
    rows = zip(pods.cpu_milli, pods.mem_mib, pods.num_gpu, pods.gpu_milli, strict=True)
    for p, (cpu, mem, number, share) in enumerate(rows):
        room = np.flatnonzero(machines.fits(cpu, mem, number, share))
        if len(room):
            node = choose(room, cpu, int(wanted[p]))
            machines.put(node, cpu, mem, number, share, rng if policy == "random" else None)
            placed[p] = wanted[p]
    return Allocation(np.cumsum(wanted) / total, np.cumsum(placed) / total)
