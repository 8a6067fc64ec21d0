"""What AerialEdge's evaluation states, as claims that can be measured.

Its percentages are differences in percentage points. "Times faster execution" is its metric (10),
which is no time at which anything ends: beside each such claim stands the makespan.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import pandas as pd

from formulations.aerialedge.tables import DRONES, LEAST_NODES
from heuristics.aerialedge.evaluation.interpretations import COLUMNS, EXECUTION, NODES, RANDOM
from heuristics.aerialedge.evaluation.measures import (
    GPU_POLICIES,
    GPU_RATIOS,
    GPU_SWEEP,
    HARD_SWEEP,
    PACKERS,
    TABLE3_SWEEP,
)
from heuristics.aerialedge.evaluation.remarks import REMARKS
from heuristics.common.claims import (
    Claim,
    ClaimVerdict,
    Finding,
    Interpretation,
    Scale,
    Sweep,
    compared,
    counted,
)

Extreme = Literal["least", "most"]
Standing = Literal["not comparable", "not in the paper"]

SIZES = {
    "table_3": "the workloads of Table III rebuilt; quick: 4 seeds, full: 10",
    "hard": "16 to 77 tasks of mixed sizes; quick: 2 seeds per size, full: 10",
    "gpu_trace": "the GPU trace of 2023; quick: 4 seeds, full: 10",
}
BASELINES = ("tetris", "graphene", "spear", "random")

HALF_POINT = 0.5 + 1e-9
"""Percentage points forgiven: printed percentages are whole numbers."""

ABOUT = 0.1
"""Share of a printed factor forgiven: they are printed as "about 2 times"."""


# judges: measurements -> finding


def _at(frame: pd.DataFrame, column: str, method: str, drone: int) -> list[float]:
    """A column of one method on the workloads of one drone, by seed."""
    part = frame[(frame["drone"] == drone) & (frame["method"] == method)]
    values: list[float] = part.sort_values("seed")[column].tolist()
    return values


def level(
    frame: pd.DataFrame, printed: float, drone: int, method: str, column: str, room: float
) -> Finding:
    """A value of one method on one drone."""
    return compared(_at(frame, column, method, drone), printed, room=room)


def read_level(
    frame: pd.DataFrame,
    printed: float,
    drone: int,
    method: str,
    column: str,
    room: float,
    *,
    nodes: str = "own batch",
    random: str = "queued",
) -> Finding:
    """A value of one method on one drone, as the method is read."""
    return level(frame, printed, drone, _read(method, nodes, random), column, room)


def _read(method: str, nodes: str = "own batch", random: str = "queued") -> str:
    """The method that is measured, where the paper's name is of several."""
    if method == "random":
        return "random_" + random.replace(" ", "_")
    return "tetris_shared" if (method, nodes) == ("tetris", "shared") else method


def _interpretations(*methods: str) -> tuple[Interpretation, ...]:
    """What the paper leaves open of methods."""
    return (NODES,) * ("tetris" in methods) + (RANDOM,) * ("random" in methods)


def fewest_nodes(frame: pd.DataFrame, printed: float, drone: int) -> Finding:
    """Nodes AerialEdge opens; the note has the range of the others."""
    found = level(frame, printed, drone, "aerialedge", "nodes", room=1e-9)
    ranges = []
    for method in PACKERS:
        nodes = _at(frame, "nodes", method, drone)
        ranges.append(f"{method} {min(nodes):g} to {max(nodes):g}")
    return Finding(
        found.verdict, found.value, found.low, found.high, found.instances, ", ".join(ranges)
    )


def difference(
    frame: pd.DataFrame,
    printed: float,
    drone: int,
    column: str,
    rivals: Sequence[str],
    extreme: Extreme,
    method: str = "aerialedge",
    *,
    nodes: str = "own batch",
    random: str = "queued",
) -> Finding:
    """By how much a method is better than the rival it is least, or most, better than."""
    sign = -1.0 if column == "usage" else 1.0
    rivals = [_read(rival, nodes, random) for rival in rivals]
    ours = _at(frame, column, _read(method, nodes), drone)
    gains = {
        rival: [sign * (a - b) for a, b in zip(ours, _at(frame, column, rival, drone), strict=True)]
        for rival in rivals
    }
    chosen = (min if extreme == "least" else max)(gains, key=lambda rival: sum(gains[rival]))
    shown = ", ".join(f"{rival} {sum(g) / len(g):.1f}" for rival, g in gains.items())
    note = f"against {chosen}; {shown}" if len(gains) > 1 else ""
    cut_off = (printed, printed + HALF_POINT)  # 23 may be 23.6 rounded or cut off
    return compared(gains[chosen], cut_off, neutral=0.0, room=HALF_POINT, note=note)


def factor(
    frame: pd.DataFrame,
    printed: float,
    drone: int,
    method: str,
    column: str,
    *,
    execution: str | None = None,
    random: str = "queued",
) -> Finding:
    """How many times as long another method takes as AerialEdge."""
    column = COLUMNS[execution] if execution is not None else column
    method = _read(method, random=random)
    ratios = _ratios(frame, drone, method, column)
    note = ""
    if column == "aet_pooled":
        per_job = _ratios(frame, drone, method, "aet_per_job")
        real = _ratios(frame, drone, method, "makespan")
        note = (
            f"the metric of the figures; by (10) {sum(per_job) / len(per_job):.3g}, "
            f"makespan with dependencies {sum(real) / len(real):.3g}"
        )
    if column == "took":
        note = "CPU time of this code: exact packing here, one pass there"
    return compared(ratios, printed, neutral=1.0, slack=ABOUT, note=note)


def largest_factor(
    frame: pd.DataFrame,
    printed: float,
    rivals: Sequence[str],
    column: str,
    **read: Any,
) -> Finding:
    """The same on the drone, and against the rival, where it is largest."""
    cases = [(drone, rival) for drone in sorted(set(frame["drone"])) for rival in rivals]
    found = {(d, r): factor(frame, printed, d, r, column, **read) for d, r in cases}
    drone, rival = max(found, key=lambda case: found[case].value)
    most = found[drone, rival]
    note = "; ".join(text for text in (f"Drone {drone}, {rival}", most.note) if text)
    return Finding(most.verdict, most.value, most.low, most.high, most.instances, note)


def _ratios(frame: pd.DataFrame, drone: int, method: str, column: str) -> list[float]:
    theirs, ours = _at(frame, column, method, drone), _at(frame, column, "aerialedge", drone)
    return [b / a for a, b in zip(ours, theirs, strict=True)]


def never_fewer(frame: pd.DataFrame) -> Finding:
    """Whether no method that deploys everything opens fewer nodes, workload by workload."""
    wide = _wide(frame, "nodes")
    others = wide.drop(columns=["aerialedge", "random_at_once"])
    return counted(others.ge(wide["aerialedge"], axis=0).all(axis=1).tolist(), every=True)


def as_few(frame: pd.DataFrame, method: str, *, nodes: str = "own batch") -> Finding:
    """Whether a method opens as few nodes as AerialEdge, workload by workload."""
    wide, method = _wide(frame, "nodes"), _read(method, nodes)
    same = wide[method] == wide["aerialedge"]
    lost = sorted({f"Drone {drone}" for drone, _ in same.index[~same]})
    return counted(same.tolist(), every=True, note=f"more on {', '.join(lost)}" if lost else "")


def quickest(
    frame: pd.DataFrame, column: str, *, execution: str | None = None, random: str = "queued"
) -> Finding:
    """Whether no method takes less time than AerialEdge, workload by workload."""
    column = COLUMNS[execution] if execution is not None else column
    wide = _wide(frame, column)
    others = wide[[_read(name, random=random) for name in BASELINES]]
    return counted(others.ge(wide["aerialedge"] - 1e-9, axis=0).all(axis=1).tolist(), every=True)


def deploys_all(frame: pd.DataFrame, drones: Sequence[int]) -> Finding:
    """Whether AerialEdge, Tetris, Graphene and Spear deploy every task."""
    deployed = _wide(frame[frame["drone"].isin(drones)], "deployed")
    chosen = deployed[["aerialedge", "tetris", "graphene", "spear"]]
    return counted(chosen.ge(100 - 1e-9).all(axis=1).tolist(), every=True)


def _wide(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    return frame.pivot_table(index=["drone", "seed"], columns="method", values=column)


def next_fit_ratio(frame: pd.DataFrame, printed: float) -> Finding:
    """Nodes of next-fit over those of AerialEdge, over all drones."""
    wide = _wide(frame, "nodes")
    ratios = (wide["next_fit"] / wide["aerialedge"]).tolist()
    return compared(ratios, printed, room=0.06)


def mixed_ratio(frame: pd.DataFrame, printed: float, method: str) -> Finding:
    """Nodes of a packer over the best known."""
    part = frame[frame["method"] == method]
    note = f"{part['proven'].sum()} of {len(part)} optima proven"
    return compared(part["ratio"].tolist(), printed, room=0.06, note=note)


def allocated(frame: pd.DataFrame, printed: float, variant: str, policy: str) -> Finding:
    """Allocated share of the GPUs, up to 0.3 points."""
    part = frame[(frame["variant"] == variant) & (frame["policy"] == policy)]
    return compared(part["allocated"].tolist(), printed, room=0.3)


def tasks_per_job(scale: Scale) -> float:
    """Divide the trace's tasks by its jobs, by the paper's totals; no job is deeper than this."""
    return 14_295_731 / 4_201_014


def bounded_depth(mean_tasks: float, printed: float) -> Finding:
    """The mean number of tasks bounds the mean depth."""
    note = "tasks per job, which no mean depth can exceed"
    verdict: ClaimVerdict = "holds" if mean_tasks >= printed else "fails"
    return Finding(verdict, mean_tasks, instances=4_201_014, note=note)


# claims


def _claim(
    name: str,
    source: str,
    text: str,
    printed: float,
    unit: str,
    judge: Callable[..., Finding],
    *arguments: Any,
    sweep: Sweep = TABLE3_SWEEP,
    interpretations: tuple[Interpretation, ...] = (),
    standing: Standing | None = None,
) -> Claim:
    """A claim with a printed number; ``arguments`` are the judge's, after the number."""
    how = f"{_summary(judge)}; {SIZES[sweep.name]}"

    def rule(measured: Any, **read: Any) -> Finding:
        return judge(measured, printed, *arguments, **read)

    return Claim(
        name, source, text, how, sweep, rule, float(printed), unit, interpretations, standing
    )


def _order(
    name: str,
    source: str,
    text: str,
    judge: Callable[..., Finding],
    interpretations: tuple[Interpretation, ...] = (),
    standing: Standing | None = None,
) -> Claim:
    """A claim that is true or false on each workload."""
    of = judge.func if isinstance(judge, partial) else judge
    how = f"{_summary(of)}; {SIZES['table_3']}"
    return Claim(
        name,
        source,
        text,
        how,
        TABLE3_SWEEP,
        judge,
        interpretations=interpretations,
        standing=standing,
    )


def _summary(judge: Callable[..., Finding]) -> str:
    """The first line of its docstring, which says what it looks at."""
    line = (judge.__doc__ or "").strip().splitlines()[0].rstrip(".")
    return line[:1].lower() + line[1:]


def _resources() -> Iterator[Claim]:
    """Figures 4 to 6: nodes, usage and utilisation."""
    for drone, least in enumerate(LEAST_NODES, start=1):
        yield _claim(
            f"nodes_drone_{drone}", "Figure 4",
            f"AerialEdge opens {least} nodes on Drone {drone} (its percentage as nodes)",
            least, "nodes", fewest_nodes, drone,
        )  # fmt: skip
    for method, share in (
        ("aerialedge", 75), ("graphene", 75), ("tetris", 75), ("spear", 92), ("random", 100),
    ):  # fmt: skip
        yield _claim(
            f"usage_drone_1_{method}", "Figure 4", f"{method} uses {share} % of Drone 1",
            share, "%", read_level, 1, method, "usage", HALF_POINT,
            interpretations=_interpretations(method),
        )  # fmt: skip
    for drone, method in itertools.product((5, 6), ("spear", "random")):
        yield _claim(
            f"usage_drone_{drone}_{method}", "Figure 4",
            f"{method} uses up all resources of Drone {drone}",
            100, "%", read_level, drone, method, "usage", HALF_POINT,
            interpretations=_interpretations(method),
        )  # fmt: skip
    three = ("graphene", "spear", "random")
    stated: list[tuple[int, float, str, tuple[str, ...], Extreme]] = [
        (2, 11, "usage", three, "least"), (2, 2, "usage", ("tetris",), "least"),
        (2, 10, "cpu", three, "least"), (2, 1, "memory", three, "least"),
        (3, 12, "usage", three, "least"),
        (3, 12, "cpu", three, "least"), (3, 3, "memory", three, "least"),
        (4, 7, "usage", three[:2], "least"),
        (4, 9, "cpu", three[:2], "least"), (4, 1, "memory", three[:2], "least"),
        (5, 13, "usage", BASELINES, "most"), (6, 13, "usage", BASELINES, "most"),
    ]  # fmt: skip
    words = {
        "usage": "{} % fewer resources", "cpu": "{} % higher CPU utilisation",
        "memory": "{} % higher memory utilisation",
    }  # fmt: skip
    figures = {"usage": "Figure 4", "cpu": "Figure 5", "memory": "Figure 6"}
    for drone, points, column, rivals, extreme in stated:
        gain = words[column].format(f"up to {points}" if extreme == "most" else points)
        name = f"{column}_drone_{drone}" + ("_tetris" if rivals == ("tetris",) else "")
        yield _claim(
            name, figures[column],
            f"AerialEdge: {gain} than {', '.join(rivals)} on Drone {drone}",
            points, "points", difference, drone, column, rivals, extreme,
            interpretations=_interpretations(*rivals),
        )  # fmt: skip
        if "tetris" not in rivals and (drone, column) != (2, "usage"):
            yield _claim(
                f"{name}_of_tetris", figures[column],
                f"Tetris: {gain} than {', '.join(rivals)} on Drone {drone}",
                points, "points", difference, drone, column, rivals, extreme, "tetris",
                interpretations=_interpretations("tetris", *rivals),
            )  # fmt: skip
    for name, text, points, column in (
        ("headline_usage", "up to 25 % fewer resources", 25, "usage"),
        ("headline_utilisation", "up to 23 % higher utilisation", 23, "cpu"),
    ):
        yield _claim(
            name, "Conclusion", f"AerialEdge: {text} (Drone 1, Random)",
            points, "points", difference, 1, column, ("random",), "most", interpretations=(RANDOM,),
        )  # fmt: skip
    yield _order(
        "fewest", "Figure 4", "no method that deploys all tasks opens fewer nodes", never_fewer
    )
    yield _order(
        "as_few_tetris", "Figure 4",
        "Tetris, half of the tasks at a time, opens as few nodes as AerialEdge",
        partial(as_few, method="tetris"), (NODES,),
    )  # fmt: skip
    for method in ("first_fit", "first_fit_decreasing"):
        yield _order(
            f"as_few_{method}", "none", f"{method} opens as few nodes as AerialEdge",
            partial(as_few, method=method), standing="not in the paper",
        )  # fmt: skip


def _deployment() -> Iterator[Claim]:
    """Figure 7."""
    for drone, share in ((2, 38), (4, 50), (5, 53), (6, 49)):
        yield _claim(
            f"deployed_drone_{drone}", "Figure 7",
            f"Random deploys {share} % of the tasks on Drone {drone}",
            share, "%", level, drone, "random_at_once", "deployed", HALF_POINT,
        )  # fmt: skip
    yield _order(
        "deployed_all", "Figure 7", "all other methods deploy all tasks on Drones 4 to 6",
        partial(deploys_all, drones=(4, 5, 6)),
    )  # fmt: skip


def _times() -> Iterator[Claim]:
    """Figures 8 and 9: scheduling and execution times."""
    execution = {2: (2, 4, 5, 24), 3: (2.2, 3.4, 5.5, None), 4: (2, 4, 6, 26)}
    scheduling = {2: (1.1, 2, 2.7, 31), 3: (4.5, 6.7, 13, None), 4: (2, 3.2, 5.3, 41.3)}
    for figure, column, word, printed in (
        (9, "aet_pooled", "execution", execution), (8, "took", "scheduling", scheduling),
    ):  # fmt: skip
        for drone, factors in printed.items():
            for method, times in zip(BASELINES, factors, strict=True):
                if times is not None:
                    yield _claim(
                        f"{word}_drone_{drone}_{method}", f"Figure {figure}",
                        f"{word} is {times:g} times faster than with {method} on Drone {drone}",
                        times, "times", factor, drone, method, column, **_of(word, method),
                    )  # fmt: skip
    for word, column, others, random in (
        ("execution", "aet_pooled", 15, 77), ("scheduling", "took", 42, 393),
    ):  # fmt: skip
        for name, rivals, times in (
            ("others", BASELINES[:3], others),
            ("random", ("random",), random),
        ):
            yield _claim(
                f"headline_{word}_{name}", "Section IV-C, conclusion",
                f"{word} is up to {times} times faster than with {', '.join(rivals)}",
                times, "times", largest_factor, rivals, column, **_of(word, *rivals),
            )  # fmt: skip
    for column, word in (("aet_pooled", "execution"), ("took", "scheduling")):
        yield _order(
            f"fastest_{word}", "Section IV-C", f"{word} is fastest under AerialEdge on every drone",
            partial(quickest, column=column), **_of(word, *BASELINES),
        )  # fmt: skip
    for drone, of in enumerate(DRONES, start=1):
        for name, column, text in (
            ("execution_metric", "aet_pooled", "by the metric of Figure 9"),
            ("makespan", "makespan", "by the end of the last task, dependencies kept"),
        ):
            if column == "aet_pooled" and drone in (2, 4, 6):  # stated, and above
                continue
            yield _claim(
                f"{name}_drone_{drone}", "none",
                f"execution is {of.tasks} times faster than with random on Drone {drone}, {text}",
                of.tasks, "times", factor, drone, "random", column, standing="not in the paper",
            )  # fmt: skip
    yield _claim(
        "headline_makespan", "Conclusion",
        "execution is up to 77 times faster, by the end of the last task",
        77, "times", largest_factor, BASELINES, "makespan", standing="not in the paper",
    )  # fmt: skip


def _of(word: str, *methods: str) -> dict[str, Any]:
    """What claims on times share: execution may be read; scheduling was on the paper's cluster."""
    if word == "execution":
        return {"interpretations": (EXECUTION, *(RANDOM,) * ("random" in methods))}
    return {"standing": "not comparable"}


def _packing() -> Iterator[Claim]:
    """Packing where it matters, and on a trace with published results."""
    yield _claim(
        "next_fit_table_3", "none", "next-fit needs 1.06 times the nodes of AerialEdge",
        1.06, "", next_fit_ratio, standing="not in the paper",
    )  # fmt: skip
    for method, ratio in zip(PACKERS, (1.35, 1.10, 1.05, 1.05), strict=True):
        yield _claim(
            f"mixed_{method}", "none",
            f"{method} needs {ratio:.2f} times the fewest nodes where sizes are mixed",
            ratio, "", mixed_ratio, method, sweep=HARD_SWEEP, standing="not in the paper",
        )  # fmt: skip
    for variant, shares in GPU_RATIOS.items():
        for policy, share in zip(GPU_POLICIES, shares, strict=True):
            stated = _claim(
                f"gpu_{variant}_{policy}", "Weng et al., USENIX ATC 2023",
                f"{policy} allocates {share:.2f} % of the GPUs ({variant})",
                share, "%", allocated, variant, policy, sweep=GPU_SWEEP,
            )  # fmt: skip
            yield replace(stated, paper="Weng et al.")
    yield Claim(
        "trace_depth", "Section II-C", "the average job of the trace is 10 tasks deep",
        "14,295,731 tasks over 4,201,014 jobs, the paper's own totals",
        tasks_per_job, partial(bounded_depth, printed=10.0), 10.0, "tasks",
    )  # fmt: skip


_CLAIMS: tuple[Claim, ...] = (*_resources(), *_deployment(), *_times(), *_packing())

CLAIMS = tuple(replace(one, remark=REMARKS.get(one.name, "")) for one in _CLAIMS)
