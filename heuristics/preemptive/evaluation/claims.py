"""What the evaluation of the preemptive paper states, as claims that can be measured.

A setting is a number of jobs and of servers; orders and trends are counted instance by instance, on
the same jobs. What the paper measures on its test-bed (Figures 4 to 6) is simulated on such
machines; Figures 7 to 11 are measured on jobs drawn like those of the Philly trace, and on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from formulations.preemptive.theorems.theorems import gain
from heuristics.common.claims import (
    Claim,
    Finding,
    Interpretation,
    Sweep,
    compared,
    compared_means,
    counted,
    limited,
)
from heuristics.preemptive.evaluation.interpretations import (
    CHUNKS,
    EPSILON,
    GANG,
    SMALL,
    SPAN,
    STATED,
)
from heuristics.preemptive.evaluation.measures import PHILLY, RATIOS, SCHEDULERS, TESTBED, UPLOADED
from heuristics.preemptive.evaluation.remarks import REMARKS

SIZES = "quick: 3 seeds, 100 to 300 jobs, 60 to 140 servers; full: 10 seeds, 50 to 300 jobs"
RATIO_SIZES = "quick: 3 seeds, 5 and 25 jobs, 5 and 45 servers; full: 10 seeds, all sizes printed"

RIVALS = ("srtf", "tiresias_l", "tiresias_l_median", "batch_sche")
TIE = 1e-9
SETTING = (CHUNKS, SPAN, GANG)

NAMES = {
    "a_online": "A_online",
    "a_online_e": "A_online-E",
    "srtf": "SRTF",
    "tiresias_l": "Tiresias-L",
    "batch_sche": "BatchSche",
}

Axis = Literal["jobs", "servers"]


# judges: measurements -> finding


def _wide(frame: pd.DataFrame, value: str = "jct") -> pd.DataFrame:
    """Instances by setting and seed, methods side by side."""
    return frame.pivot_table(index=["jobs", "servers", "seed"], columns="method", values=value)


def _load(frame: pd.DataFrame) -> str:
    return f"load {frame['load'].min():.2f} to {frame['load'].max():.2f}"


def _signs(differences: NDArray[np.float64]) -> list[bool | None]:
    """Whether each is positive; None for a tie."""
    return [None if abs(one) <= TIE else bool(one > 0) for one in differences.ravel()]


def lowest(
    frame: pd.DataFrame,
    method: str,
    others: Sequence[str],
    value: str = "jct",
    *,
    every: bool = True,
) -> Finding:
    """Whether a method's value is the least: on every instance, or on most."""
    wide = _wide(frame, value)
    ahead = wide[list(others)].min(axis=1) / wide[method] - 1
    behind = wide[list(others)].lt(wide[method] * (1 - TIE), axis=0).any()
    note = f"best other over it {(1 + ahead).mean():.3g}; {_load(frame)}"
    if behind.any():
        note += "; beaten by " + ", ".join(behind.index[behind])
    return counted(_signs(ahead.to_numpy()), every=every, note=note)


def reduction(frame: pd.DataFrame, printed: float, others: Sequence[str]) -> Finding:
    """By how much A_online is below the best of others where that is most, per cent."""
    means = _wide(frame).groupby(["jobs", "servers"]).mean()
    shares = means[list(others)].rdiv(means["a_online"], axis=0)
    row = int(shares.max(axis=1).argmin())  # the best of the others has the largest share
    rival = str(shares.iloc[row].idxmax())
    jobs, servers = (int(level[row]) for level in map(means.index.get_level_values, (0, 1)))
    here = _wide(frame[(frame["jobs"] == jobs) & (frame["servers"] == servers)])
    note = f"{jobs} jobs, {servers} servers, against {rival}; {_load(frame)}"
    return compared_means(
        here["a_online"].tolist(), here[rival].tolist(), printed, gain=True, percent=True,
        note=note,
    )  # fmt: skip


def trend(
    frame: pd.DataFrame,
    axis: Axis,
    method: str,
    other: str | None,
    rises: bool,
    value: str = "jct",
) -> Finding:
    """Whether a quantity, or its ratio to another method's, goes one way step by step."""
    fixed = "servers" if axis == "jobs" else "jobs"
    at = frame[fixed].mode()[0]  # what does not vary stands at its commonest value
    wide = _wide(frame[frame[fixed] == at], value)
    curve = wide[method] if other is None else wide[method] / wide[other]
    table = curve.droplevel(fixed).unstack("seed").sort_index()
    steps = np.diff(table.to_numpy(), axis=0)
    ends = table.mean(axis=1)
    note = (
        f"counted are steps, seed by seed; means {ends.iloc[0]:.3g} at {ends.index[0]} to "
        f"{ends.iloc[-1]:.3g} at {ends.index[-1]} {axis}; {_load(frame)}"
    )
    return counted(_signs(steps if rises else -steps), note=note)


def more_often(frame: pd.DataFrame, method: str, other: str) -> Finding:
    """Whether one method preempts more than another, instance by instance."""
    wide = _wide(frame, "preemptions")
    total = wide[[method, other]].sum()
    note = f"in all {total[method]:.0f} against {total[other]:.0f}"
    return counted(_signs((wide[method] - wide[other]).to_numpy()), note=note)


def less_often(frame: pd.DataFrame, *, small: str) -> Finding:
    """Whether A_online preempts less than each of those that it is held against."""
    wide = _wide(frame, "preemptions")
    others = ["a_online_e"] if small == "A_online-E" else ["srtf", "tiresias_l"]
    totals = ", ".join(f"{name} {wide[name].sum():.0f}" for name in ("a_online", *others))
    ahead = wide[others].min(axis=1) - wide["a_online"]
    return counted(_signs(ahead.to_numpy()), note=f"in all {totals}")


def _default(frame: pd.DataFrame) -> pd.DataFrame:
    """300 jobs, 100 servers."""
    return frame[(frame["jobs"] == 300) & (frame["servers"] == 100)]


def peak(frame: pd.DataFrame, printed: float, method: str) -> Finding:
    """The highest utilisation in the default setting, per cent."""
    here = _default(frame)
    values = (100 * here.loc[here["method"] == method, "peak"]).tolist()
    return compared(values, printed, sense="at least", room=1.0, note=_load(frame))


def makespans(frame: pd.DataFrame, printed: float, other: str) -> Finding:
    """A_online's makespan over another's in the default setting."""
    wide = _wide(_default(frame), "makespan")
    return compared_means(
        wide["a_online"].tolist(), wide[other].tolist(), printed, note=_load(frame)
    )


def rises(frame: pd.DataFrame, methods: Sequence[str]) -> Finding:
    """Whether utilisation grows after peaks of submission, by instance and method."""
    wide = _wide(frame, "rise")[list(methods)]
    means = ", ".join(f"{name} {100 * value:.3g}" for name, value in wide.mean().items())
    return counted(_signs(wide.to_numpy()), note=f"means in percentage points {means}")


def below(
    frame: pd.DataFrame, printed: float, column: str, *, epsilon: float, stated: str
) -> Finding:
    """The ratio at a speed augmentation, on every instance or in the mean.

    That to the best bound is no less than the ratio to the optimum, of which nothing else is known.
    """
    values = frame.loc[frame["epsilon"] == epsilon, column].tolist()
    exact = column == "chunk_ratio"
    note = f"mean {np.mean(values):.3g}, worst {max(values):.3g}"
    return limited(
        values if exact else [0.0] * len(values), values, printed, stated=stated, note=note
    )


def far_below_stated(frame: pd.DataFrame, share: float) -> Finding:
    """Whether the ratio is at most a share of Theorem 3's factor for (4), run by run."""
    parts = frame["chunk_ratio"] / frame["epsilon"].map(gain)
    parts = parts[frame["epsilon"] > 0]
    note = f"counted are runs at most {share:g} of what is stated; the worst {parts.max():.3g}"
    return counted([bool(one) for one in parts <= share], every=True, note=note)


def falls(frame: pd.DataFrame, column: str) -> Finding:
    """Whether the ratio falls with every step of epsilon, instance by instance."""
    wide = frame.pivot_table(index=["jobs", "servers", "seed"], columns="epsilon", values=column)
    steps: NDArray[np.float64] = np.diff(wide.to_numpy(dtype=np.float64), axis=1)
    return counted([bool(one.all()) for one in steps < 0], every=True)


def near_one(frame: pd.DataFrame, printed: float, column: str, room: float) -> Finding:
    """The ratio at epsilon = 0.5, over all instances; a ratio below 1 is no worse than optimal."""
    values = frame.loc[frame["epsilon"] == 0.5, column].tolist()
    return compared(values, printed, sense="at most", room=room, note=f"within {room:g}")


def insensitive(frame: pd.DataFrame, column: str, spread: float) -> Finding:
    """Whether the cells' means at one epsilon lie close together."""
    means = frame.pivot_table(index=["jobs", "servers"], columns="epsilon", values=column)
    wide = (means.max() - means.min()) / means.mean()
    note = (
        f"counted are speeds at which cells spread by at most {spread:.0%}; most {wide.max():.1%}"
    )
    return counted((wide <= spread).tolist(), note=note)


# claims


def _number(
    name: str,
    source: str,
    text: str,
    judge: Callable[..., Finding],
    printed: float,
    *,
    how: str = SIZES,
    unit: str = "",
    sweep: Sweep = SCHEDULERS,
    interpretations: tuple[Interpretation, ...] = SETTING,
    **options: Any,
) -> Claim:
    """A claim with a printed number."""
    rule = partial(judge, printed=printed, **options)
    return Claim(name, source, text, how, sweep, rule, printed, unit, interpretations)


def _order(
    name: str,
    source: str,
    text: str,
    judge: Callable[..., Finding],
    *,
    how: str = SIZES,
    **options: Any,
) -> Claim:
    """A claim that is true or false on each instance."""
    return Claim(
        name, source, text, how, SCHEDULERS, partial(judge, **options), interpretations=SETTING
    )


def _schedulers() -> Iterator[Claim]:
    """Figures 7 and 8."""
    yield _order(
        "lowest", "Figures 7 and 8",
        "A_online has the lowest completion time for every number of jobs and servers",
        lowest, method="a_online", others=(*RIVALS, "a_online_e"),
    )  # fmt: skip
    yield _order(
        "lowest_edge", "Figures 7 and 8",
        "A_online-E has a lower completion time than SRTF and Tiresias-L, its category",
        lowest, method="a_online_e", others=RIVALS[:3],
    )  # fmt: skip
    for rivals, percent in ((("tiresias_l",), 35), (("srtf",), 40), (("batch_sche",), 50)):
        yield _number(
            f"reduction_{rivals[0]}", "Section I",
            f"A_online reduces completion times by up to {percent} % against {NAMES[rivals[0]]}",
            reduction, -percent, unit="%", others=rivals,
        )  # fmt: skip
    yield _number(
        "reduction_best", "Abstract, conclusion",
        "A_online reduces completion times by up to 30 % against existing algorithms",
        reduction, -30, how=f"against the best baseline; {SIZES}", unit="%", others=RIVALS,
    )  # fmt: skip
    for method in ("a_online", "a_online_e"):
        for other in ("srtf", "tiresias_l"):
            yield _order(
                f"grows_{method}_{other}", "Figure 7",
                f"the reduction of {NAMES[method]} against {NAMES[other]} grows with jobs",
                trend, axis="jobs", method=method, other=other, rises=False,
            )  # fmt: skip
    yield _order(
        "edge_no_better", "Figures 7 and 8",
        "A_online has no higher completion time than A_online-E",
        lowest, method="a_online", others=("a_online_e",),
    )  # fmt: skip
    yield _order(
        "edge_gap_grows", "Figure 7",
        "the gap between A_online and A_online-E grows with the number of jobs",
        trend, axis="jobs", method="a_online", other="a_online_e", rises=False,
    )  # fmt: skip
    for method, rises in (
        ("a_online", True),
        ("batch_sche", True),
        ("a_online_e", False),
        ("tiresias_l", False),
    ):
        yield _order(
            f"servers_{method}", "Figure 8",
            f"the rate of {NAMES[method]} to SRTF {'rises' if rises else 'falls'} with servers",
            trend, axis="servers", method=method, other="srtf", rises=rises,
        )  # fmt: skip
    yield _order(
        "all_cloud", "Section V-C",
        "sending most jobs to the cloud is no good choice: A_online beats sending all there",
        lowest, method="a_online", others=("all_cloud",), every=False,
    )  # fmt: skip
    yield _order(
        "order_batch_sche", "Figure 8",
        "A_online-E, too, has a lower completion time than BatchSche whatever the hardware",
        lowest, method="a_online_e", others=("batch_sche",),
    )  # fmt: skip


def _side_effects() -> Iterator[Claim]:
    """Preemptions, communication, utilisation, makespan."""
    for method, other in (("a_online_e", "a_online"), ("a_online", "srtf")):
        yield _order(
            f"preempts_{method}_{other}", "Figures 9 and 10",
            f"{NAMES[method]} preempts more often than {NAMES[other]}",
            more_often, how=f"single workers; a suspended gang counts by its size; {SIZES}",
            method=method, other=other,
        )  # fmt: skip
    yield replace(
        _order(
            "preemptions_small", "Section I", "A_online preempts relatively seldom",
            less_often, how=f"single workers; a suspended gang counts by its size; {SIZES}",
        ),
        interpretations=(*SETTING, SMALL),
    )  # fmt: skip
    for method in ("a_online", "tiresias_l", "srtf"):
        yield _order(
            f"preemptions_grow_{method}", "Figures 5 and 9",
            f"preemptions of {NAMES[method]} grow with the number of jobs",
            trend, axis="jobs", method=method, other=None, rises=True, value="preemptions",
        )  # fmt: skip
    yield _order(
        "communication", "Figure 6",
        "A_online's jobs communicate less than those of every baseline",
        lowest, how=f"by wall clock; the figure is of the test-bed, this is simulated; {SIZES}",
        method="a_online", others=RIVALS, value="communication",
    )  # fmt: skip
    for method in ("a_online", "a_online_e"):
        yield _number(
            f"utilisation_{method}", "Figure 11",
            f"the utilisation of {NAMES[method]} reaches 100 %",
            peak, 100, unit="%", method=method,
        )  # fmt: skip
    for other, printed in (("srtf", 0.76), ("tiresias_l", 0.74)):
        yield _number(
            f"makespan_{other}", "Section V-C",
            f"A_online's makespan is {printed} times that of {NAMES[other]}",
            makespans, printed, other=other,
        )  # fmt: skip


def _ratios() -> Iterator[Claim]:
    """Figures 12 and 13, with the paper's ratio and with that of completion times."""
    for column, what, how in (
        ("chunk_ratio", "ratio", "mean completion of chunks over LB-PAPER"),
        ("jct_over_best", "ratio of completion times", "total completion over the best bound"),
    ):
        kind = "paper" if column == "chunk_ratio" else "best"
        how = f"{how}; {RATIO_SIZES}"
        yield _number(
            f"ratio_below_{kind}", "Figures 12 and 13", f"the {what} stays below 1.7",
            below, 1.7, how=how, sweep=RATIOS, interpretations=(EPSILON, STATED), column=column,
        )  # fmt: skip
        if kind == "paper":
            yield Claim(
                "ratio_far_below_stated", "Section I, (iv)",
                "the ratio is much better than the theoretical bound, 1 + 1 / epsilon",
                f"{how}; much better: at most half of it", RATIOS,
                partial(far_below_stated, share=0.5),
            )  # fmt: skip
        yield Claim(
            f"ratio_falls_{kind}", "Figures 12 and 13", f"the {what} falls with epsilon",
            how, RATIOS, partial(falls, column=column),
        )  # fmt: skip
        yield _number(
            f"ratio_near_one_{kind}", "Section V-C",
            f"A_online is close to optimal at epsilon = 0.5, by the {what}",
            near_one, 1.0, how=how, sweep=RATIOS, interpretations=(), column=column, room=0.1,
        )  # fmt: skip
        yield Claim(
            f"ratio_insensitive_{kind}", "Figures 12 and 13",
            f"numbers of jobs and servers have little influence on the {what}",
            how, RATIOS, partial(insensitive, column=column, spread=0.1),
        )  # fmt: skip


def _testbed() -> Iterator[Claim]:
    """Figures 4 to 6, simulated."""
    how = "simulated: 10 to 30 jobs on 8 machines of one worker; 3 seeds (quick), 10 (full)"

    def order(
        name: str,
        figure: int,
        text: str,
        judge: Callable[..., Finding],
        *,
        interpretations: tuple[Interpretation, ...] = (CHUNKS,),
        **options: Any,
    ) -> Claim:
        rule = partial(judge, **options)
        return Claim(
            f"testbed_{name}",
            f"Figure {figure}",
            text,
            how,
            TESTBED,
            rule,
            interpretations=interpretations,
        )

    yield order(
        "lowest", 4, "on the test-bed A_online has the lowest completion time",
        lowest, method="a_online", others=RIVALS,
    )  # fmt: skip
    for method in ("a_online", "tiresias_l", "srtf"):
        yield order(
            f"preemptions_grow_{method}", 5,
            f"on the test-bed preemptions of {NAMES[method]} grow with the number of jobs",
            trend, axis="jobs", method=method, other=None, rises=True, value="preemptions",
        )  # fmt: skip
    yield order(
        "preemptions_small", 5, "on the test-bed A_online preempts relatively seldom",
        less_often, interpretations=(CHUNKS, SMALL),
    )  # fmt: skip
    yield order(
        "communication", 6, "on the test-bed A_online's jobs communicate less than all baselines'",
        lowest, method="a_online", others=RIVALS, value="communication",
    )  # fmt: skip


def _on_philly() -> Iterator[Claim]:
    """Figures 7 to 11 on the jobs of the trace."""
    for claim in (*_schedulers(), *_side_effects()):
        yield replace(
            claim, name=f"philly_{claim.name}", text=f"{claim.text}, on jobs of the Philly trace",
            experiment=PHILLY,
            interpretations=(CHUNKS, *(r for r in claim.interpretations if r.judged)),
        )  # fmt: skip
    methods = ("a_online", "a_online_e", "srtf", "tiresias_l")
    yield Claim(
        "philly_peaks", "Figure 11", "utilisation rises at the two peaks of job submission",
        f"over the {UPLOADED} slots after the two busiest, edge schedulers; {SIZES}", PHILLY,
        partial(rises, methods=methods), interpretations=(CHUNKS,),
    )  # fmt: skip


_CLAIMS: tuple[Claim, ...] = (
    *_schedulers(), *_side_effects(), *_testbed(), *_on_philly(), *_ratios()
)  # fmt: skip

CLAIMS = tuple(replace(one, remark=REMARKS.get(one.name, "")) for one in _CLAIMS)
"""What the paper states, in its order."""
