"""Workloads: Table III rebuilt, mixed sizes that are hard to pack, traces, and benchmark files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, create_model

from formulations.aerialedge.benchmark_files import load_benchmark
from formulations.aerialedge.instance import UNIT, Floats, Instance, Integers, Objective
from formulations.aerialedge.tables import DRONES, Nodes, node_capacities
from optsched.errors import InputError
from optsched.instances.document import Document, Size, validated
from optsched.instances.streams import streams

HARD_CPU = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0, 1.2)
"""Cores a task of the hard generator may ask for."""
HARD_MEM = (0.2, 2.0)
"""GiB."""
HARD_NODE = (2.0, 3.0)
"""Cores and GiB of its nodes."""
TIME_SIGMA = 0.8
"""Sigma of log-normal execution times."""


class _GeneratorFields(Document):
    """Options of ``generate``."""

    kind: Literal["hard", "table3"] = Field(
        "hard", description="mixed sizes, or the workload of one row of Table III"
    )
    tasks: Size = Field(40, description="hard: tasks")
    jobs: Size = Field(5, description="hard: jobs the tasks are spread over")
    node_count: Size | None = Field(None, description="hard: nodes; one per task if not given")
    drone: Annotated[int, Field(ge=1, le=6)] = Field(6, description="table3: row of Table III")
    nodes: Nodes = Field("decoded", description="table3: what the nodes of the drone are")
    objective: Objective = Field("count", description="what counts as one opened node")


GeneratorOptions = create_model(  # "from" is a keyword, so that no class body can name it
    "GeneratorOptions",
    __base__=_GeneratorFields,
    **{
        "from": (
            Path | None,
            Field(None, description="read this .vbp or .mvp file instead of drawing anything"),
        )
    },  # type: ignore[call-overload]
)


def generate(rng: np.random.Generator, **options: Any) -> Instance:
    """Draw an instance, or read one from a benchmark file.

    Args:
        rng: source of all randomness.
        options: the fields of ``GeneratorOptions``.

    Raises:
        InputError: an option is unknown or out of range, or the file cannot be read.
    """
    chosen = validated(GeneratorOptions, options)
    file = getattr(chosen, "from")
    if file is not None:
        unused = set(options) - {"from"}
        if unused:
            name = sorted(unused)[0]
            raise InputError.of(name, options[name], "not together with from")
        return load_benchmark(file)
    if chosen.kind == "table3":
        return make_table3(chosen.drone, rng, nodes=chosen.nodes, objective=chosen.objective)
    return hard(
        chosen.tasks,
        rng,
        jobs=min(chosen.jobs, chosen.tasks),
        node_count=chosen.node_count,
        objective=chosen.objective,
    )


def make_table3(
    drone: int,
    rng: np.random.Generator,
    *,
    nodes: Nodes = "decoded",
    objective: Objective = "count",
) -> Instance:
    """The workload of one row of Table III on its drone, totals exact to a millionth.

    Args:
        drone: 1 to 6.
        rng: source of all randomness.
        nodes: what the nodes of the drone are.
        objective: of the instance.

    Raises:
        InputError: another drone or another kind of nodes.
    """
    capacity = node_capacities(drone, nodes)
    of = DRONES[drone - 1]
    sizes = 1 + rng.multinomial(of.tasks - of.jobs, np.full(of.jobs, 1 / of.jobs))
    mem_limit = float(capacity[:, 1].max())
    cpu = _table3_cpu(of.tasks, of.total_cpu, rng)
    # without memory that fits no node there would be nothing to pack
    while True:
        mem = _scaled(rng.lognormal(0.0, of.mem_sigma, of.tasks), of.total_mem)
        if mem.max() <= mem_limit:
            break
    return Instance.build(
        demand=np.column_stack([cpu, mem]),
        capacity=capacity,
        exec_time=_scaled(rng.lognormal(0.0, TIME_SIGMA, of.tasks), of.total_time),
        task_job=np.repeat(np.arange(of.jobs), sizes),
        edges=_random_dags(sizes, of.depth, rng),
        data_size=sizes.astype(float),
        deployment_name=(f"Drone {drone}",),
        objective=objective,
    )


def _table3_cpu(tasks: int, total: float, rng: np.random.Generator) -> Floats:
    """Tasks of half a core and of one, the remainder on one of the former; shuffled."""
    ones = int(np.floor((total - 0.5 * tasks) / 0.5 + 1e-9))
    cpu = np.full(tasks, 0.5)
    cpu[:ones] = 1.0
    if ones < tasks:
        cpu[ones] += total - 0.5 * tasks - 0.5 * ones
    return rng.permutation(np.round(cpu, 6))


def _scaled(values: Floats, total: float) -> Floats:
    """Values in millionths that add up to a total; the largest takes up the rounding."""
    units = np.floor(values / values.sum() * total / UNIT).astype(np.int64)
    units[np.argmax(units)] += round(total / UNIT) - int(units.sum())
    return np.asarray(units * UNIT)


def _random_dags(sizes: Integers, depth: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """One or two earlier parents each, and a chain of the largest depth in the largest job."""
    edges: list[tuple[int, int]] = []
    first = np.cumsum(sizes) - sizes
    largest = int(np.argmax(sizes))
    for job, (start, size) in enumerate(zip(first.tolist(), sizes.tolist(), strict=True)):
        level = np.ones(size, dtype=np.int64)
        chain = min(depth, size) if job == largest else 1
        for t in range(1, size):
            if t < chain:
                parents = np.array([t - 1])
            else:
                shallow = np.flatnonzero(level[:t] < depth)
                parents = rng.choice(shallow, min(len(shallow), int(rng.integers(1, 3))), False)
            level[t] = 1 + level[parents].max()
            edges += [(start + int(p), start + t) for p in np.sort(parents)]
    return edges


def hard(
    tasks: int,
    rng: np.random.Generator,
    *,
    jobs: int = 5,
    node_count: int | None = None,
    objective: Objective = "count",
) -> Instance:
    """Mixed sizes on nodes of two cores and three GiB, for which packing matters.

    Sizes and times come from separate random streams: the list of more tasks begins with that of
    fewer, but for the jobs they belong to.

    Args:
        tasks: how many.
        rng: source of all randomness.
        jobs: that they are spread over, with random dependencies inside.
        node_count: nodes; None: one per task.
        objective: of the instance.

    Raises:
        InputError: more jobs than tasks.
    """
    if not 1 <= jobs <= tasks:
        raise InputError.of("jobs", jobs, f"1..tasks ({tasks})")
    of_cpu, of_mem, of_time, of_jobs = streams(rng, 4)
    sizes = 1 + of_jobs.multinomial(tasks - jobs, np.full(jobs, 1 / jobs))
    mem = np.round(of_mem.uniform(*HARD_MEM, tasks), 6)
    return Instance.build(
        demand=np.column_stack([of_cpu.choice(HARD_CPU, tasks), mem]),
        capacity=np.tile(HARD_NODE, (node_count or tasks, 1)),
        exec_time=np.round(of_time.lognormal(2.5, TIME_SIGMA, tasks), 3),
        task_job=np.repeat(np.arange(jobs), sizes),
        edges=_random_dags(sizes, 16, of_jobs),
        data_size=sizes.astype(float),
        flight_time=1e6,
        objective=objective,
    )
