"""Machines and pods of Alibaba's cluster-trace-gpu-v2023 (Weng et al., USENIX ATC 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from formulations.common.traces.jobs import TraceJobs
from formulations.common.traces.table import read_table


@dataclass(frozen=True, eq=False)
class _Amounts:
    """What machines have, or pods need; every array has an entry for each."""

    name: tuple[str, ...]
    cpu_milli: NDArray[np.int64]
    mem_mib: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.name)

    @property
    def cpu_cores(self) -> NDArray[np.float64]:
        """CPU cores."""
        return self.cpu_milli / 1000.0

    @property
    def mem_gib(self) -> NDArray[np.float64]:
        """Memory in GiB."""
        return self.mem_mib / 1024.0


@dataclass(frozen=True, eq=False)
class GpuNodes(_Amounts):
    """Machines; every array has shape (nodes,)."""

    gpus: NDArray[np.int64]

    def select(self, kept: NDArray[np.integer] | NDArray[np.bool_] | slice) -> GpuNodes:
        """Some of the machines."""
        names = np.array(self.name, dtype=object)[kept]
        return GpuNodes(tuple(names), self.cpu_milli[kept], self.mem_mib[kept], self.gpus[kept])


@dataclass(frozen=True, eq=False)
class GpuPods(_Amounts):
    """Pods in the order of the list; every array has shape (pods,)."""

    num_gpu: NDArray[np.int64]
    """GPUs a pod needs."""
    gpu_milli: NDArray[np.int64]
    """Thousandths of each of them."""

    @property
    def total_gpu_milli(self) -> NDArray[np.int64]:
        """Thousandths of GPUs in all."""
        return self.num_gpu * self.gpu_milli

    @property
    def gpus(self) -> NDArray[np.float64]:
        """GPUs in all, shares included."""
        return self.total_gpu_milli / 1000.0

    def select(self, kept: NDArray[np.integer] | NDArray[np.bool_] | slice) -> GpuPods:
        """Some of the pods, in that order; one may be named several times."""
        names = np.array(self.name, dtype=object)[kept]
        return GpuPods(
            tuple(names),
            self.cpu_milli[kept],
            self.mem_mib[kept],
            self.num_gpu[kept],
            self.gpu_milli[kept],
        )


def load_nodes(path: str | Path) -> GpuNodes:
    """Read a node list (CSV with ``sn, cpu_milli, memory_mib, gpu``, also compressed).

    Raises:
        InputError: the file cannot be read, lacks a column, or holds a value that is refused.
    """
    wanted = ("cpu_milli", "memory_mib", "gpu")
    table = read_table(Path(path), ("sn", *wanted))
    return GpuNodes(tuple(table.columns["sn"]), *map(table.whole, wanted))


def load_pods(path: str | Path) -> GpuPods:
    """Read a pod list (CSV with ``name, cpu_milli, memory_mib, num_gpu, gpu_milli``).

    Raises:
        InputError: the file cannot be read, lacks a column, or holds a value that is refused.
    """
    wanted = ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
    table = read_table(Path(path), ("name", *wanted))
    cpu, mem, number, share = map(table.whole, wanted)
    bad = (number > 0) & ((share < 1) | (share > 1000))
    table.refuse("gpu_milli", bad, "1..1000 for a pod with GPUs")
    return GpuPods(tuple(table.columns["name"]), cpu, mem, number, share)


def load_jobs(path: str | Path) -> TraceJobs:
    """Read the pods of a list with times as jobs: those that held GPUs, from creation on.

    A pod runs from ``scheduled_time`` to ``deletion_time``; one that shares a GPU counts as one.

    Raises:
        InputError: the file cannot be read, lacks a column, or holds a value that is refused.
    """
    wanted = ("num_gpu", "creation_time", "deletion_time")
    table = read_table(Path(path), (*wanted, "scheduled_time"))
    gpus, created, ended = map(table.whole, wanted)
    scheduled: NDArray[np.bool_] = table.columns["scheduled_time"] != ""
    started = table.whole("scheduled_time", kept=scheduled)
    ran = scheduled & (ended > started)
    kept = np.flatnonzero(ran & (gpus > 0))
    kept = kept[np.argsort(created[kept], kind="stable")]
    dropped = {
        "blank line": table.blank,
        "never scheduled": int(np.sum(~scheduled)),
        "no running time": int(np.sum(scheduled & ~ran)),
        "no GPU": int(np.sum(ran & (gpus == 0))),
    }
    submitted = (created[kept] - created[kept][:1]).astype(np.float64)
    running = (ended - started)[kept].astype(np.float64)
    names = np.full(len(kept), "openb")
    counted = {reason: count for reason, count in dropped.items() if count}
    return TraceJobs(submitted, running, gpus[kept], names, counted)
