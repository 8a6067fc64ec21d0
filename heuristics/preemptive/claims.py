"""What the evaluation of the preemptive paper states, as claims that can be measured.

Settings differ by what the paper leaves open; each claim says in which one it is measured, see
``evaluation``. A setting is a number of jobs and of servers, and counts by its mean over seeds.
The test-bed (Figures 3 to 6) is not measured; its claims that speak of simulations as well are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from heuristics.preemptive.evaluation import RATIOS, SCHEDULERS, Calibration
from optsched.claims import Claim, Finding, Sweep, compared, compared_means, counted

SIZES = "quick: 3 seeds, 100 to 300 jobs, 60 to 140 servers; full: 10 seeds, 50 to 300 jobs"
RATIO_SIZES = "quick: 2 seeds, 5 and 25 jobs, 5 and 45 servers; full: 10 seeds, all sizes printed"

FIXED = {"jobs": ("servers", 100), "servers": ("jobs", 300)}
"""What does not vary in the figures over jobs, and in those over servers."""

RIVALS = ("srtf", "tiresias_l", "tiresias_l_median", "batch_sche")
TIE = 1e-9

NAMES = {
    "a_online": "A_online",
    "a_online_e": "A_online-E",
    "srtf": "SRTF",
    "tiresias_l": "Tiresias-L",
    "batch_sche": "BatchSche",
}

Axis = Literal["jobs", "servers"]


# judges: measurements -> finding


def _means(
    frame: pd.DataFrame, calibration: Calibration, axis: Axis | None = None, value: str = "jct"
) -> pd.DataFrame:
    """Means by setting, methods side by side; along one axis of the figures only, if named."""
    part = frame[frame["calibration"] == calibration]
    if axis is not None:
        other, at = FIXED[axis]
        part = part[part[other] == at]
    return part.pivot_table(index=["jobs", "servers"], columns="method", values=value)


def _load(frame: pd.DataFrame, calibration: Calibration) -> str:
    loads = frame.loc[frame["calibration"] == calibration, "load"]
    return f"load {loads.min():.2f} to {loads.max():.2f}"


def lowest(
    frame: pd.DataFrame,
    calibration: Calibration,
    method: str,
    others: Sequence[str],
    value: str = "jct",
) -> Finding:
    """Whether a method's mean is the least, setting by setting."""
    means = _means(frame, calibration, value=value)
    behind = means[list(others)].lt(means[method] - TIE, axis=0)
    note = f"counted are settings; {_load(frame, calibration)}"
    if behind.to_numpy().any():
        note += "; beaten by " + ", ".join(behind.columns[behind.any()])
    return counted((~behind.any(axis=1)).tolist(), note=note)


def reduction(
    frame: pd.DataFrame,
    printed: float,
    calibration: Calibration,
    others: Sequence[str],
) -> Finding:
    """By how much A_online is below the best of others where that is most, per cent."""
    means = _means(frame, calibration)
    shares = means[list(others)].rdiv(means["a_online"], axis=0)
    row = int(shares.max(axis=1).argmin())  # the best of the others has the largest share
    rival = str(shares.iloc[row].idxmax())
    jobs, servers = (int(level[row]) for level in map(means.index.get_level_values, (0, 1)))
    here = frame[
        (frame["calibration"] == calibration)
        & (frame["jobs"] == jobs)
        & (frame["servers"] == servers)
    ].pivot_table(index="seed", columns="method", values="jct")
    note = f"{jobs} jobs, {servers} servers, against {rival}; {_load(frame, calibration)}"
    return compared_means(
        here["a_online"].tolist(),
        here[rival].tolist(),
        printed,
        gain=True,
        percent=True,
        better="smaller",
        note=note,
    )


def trend(
    frame: pd.DataFrame,
    calibration: Calibration,
    axis: Axis,
    method: str,
    other: str | None,
    rises: bool,
    value: str = "jct",
) -> Finding:
    """Whether a quantity, or its ratio to another method's, goes one way step by step."""
    means = _means(frame, calibration, axis, value)
    curve = means[method] if other is None else means[method] / means[other]
    steps = np.diff(curve.to_numpy())
    sizes = curve.index.get_level_values(axis)
    ends = f"{curve.iloc[0]:.3g} at {sizes[0]} to {curve.iloc[-1]:.3g} at {sizes[-1]} {axis}"
    note = f"counted are steps; {ends}; {_load(frame, calibration)}"
    return counted(((steps > TIE) if rises else (steps < -TIE)).tolist(), note=note)


def more_often(frame: pd.DataFrame, calibration: Calibration, method: str, other: str) -> Finding:
    """Whether one method preempts more than another, setting by setting."""
    means = _means(frame, calibration, value="preemptions")
    total = means[[method, other]].sum()
    note = f"counted are settings; in all {total[method]:.0f} against {total[other]:.0f}"
    return counted((means[method] > means[other]).tolist(), note=note)


def peak(frame: pd.DataFrame, printed: float, calibration: Calibration, method: str) -> Finding:
    """The highest utilisation in the default setting, per cent."""
    chosen = (frame["calibration"] == calibration) & (frame["method"] == method)
    chosen &= (frame["jobs"] == 300) & (frame["servers"] == 100)
    values = (100 * frame.loc[chosen, "peak"]).tolist()
    return compared(values, printed, note=_load(frame, calibration))


def makespans(frame: pd.DataFrame, printed: float, calibration: Calibration, other: str) -> Finding:
    """A_online's makespan over another's in the default setting."""
    chosen = (frame["calibration"] == calibration) & (frame["jobs"] == 300)
    here = frame[chosen & (frame["servers"] == 100)]
    wide = here.pivot_table(index="seed", columns="method", values="makespan")
    return compared_means(
        wide["a_online"].tolist(),
        wide[other].tolist(),
        printed,
        better="smaller",
        note=_load(frame, calibration),
    )


def below(frame: pd.DataFrame, printed: float, column: str) -> Finding:
    """The ratio in the worst cell and at the least speed augmentation of the figures."""
    chosen = frame[frame["epsilon"] == 0.1]
    cells = list(chosen.groupby(["jobs", "servers"], sort=False))
    _, here = max(cells, key=lambda cell: float(cell[1][column].mean()))
    note = (
        f"epsilon 0.1, worst cell: {here['jobs'].iloc[0]} jobs, {here['servers'].iloc[0]} servers"
    )
    return compared(here[column].tolist(), printed, better="smaller", note=note)


def falls(frame: pd.DataFrame, column: str) -> Finding:
    """Whether the ratio falls with every step of epsilon, instance by instance."""
    wide = frame.pivot_table(index=["jobs", "servers", "seed"], columns="epsilon", values=column)
    steps: NDArray[np.float64] = np.diff(wide.to_numpy(dtype=np.float64), axis=1)
    return counted([bool(one.all()) for one in steps < 0])


def near_one(frame: pd.DataFrame, printed: float, column: str, room: float) -> Finding:
    """The ratio at epsilon = 0.5, over all instances."""
    values = frame.loc[frame["epsilon"] == 0.5, column].tolist()
    return compared(values, printed, better="equal", room=room, note=f"within {room:g}")


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
    how: str,
    unit: str = "",
    sweep: Sweep = SCHEDULERS,
    **options: Any,
) -> Claim:
    """A claim with a printed number."""
    rule = partial(judge, printed=printed, **options)
    return Claim(name, source, text, how, sweep, rule, printed, unit)


SETTINGS: dict[Calibration, str] = {
    "printed": "printed ranges, gangs as in the trace",
    "light": "2 % of the printed times, gangs of up to 8",
}


def _schedulers(calibration: Calibration) -> Iterator[Claim]:
    """Figures 7 to 11 in one setting."""
    how = f"{SETTINGS[calibration]}; {SIZES}"
    name = partial("{0}_{1}".format, calibration)
    order = partial(Claim, how=how, experiment=SCHEDULERS)

    def of(judge: Callable[..., Finding], **options: Any) -> Callable[[Any], Finding]:
        return partial(judge, calibration=calibration, **options)

    yield order(
        name("lowest"), "Figures 7 and 8",
        "A_online has the lowest completion time for every number of jobs and servers",
        judge=of(lowest, method="a_online", others=(*RIVALS, "a_online_e")),
    )  # fmt: skip
    yield order(
        name("lowest_edge"), "Figures 7 and 8",
        "A_online-E has a lower completion time than SRTF and Tiresias-L, its category",
        judge=of(lowest, method="a_online_e", others=RIVALS[:3]),
    )  # fmt: skip
    for rivals, percent in ((("tiresias_l",), 35), (("srtf",), 40), (("batch_sche",), 50)):
        yield _number(
            name(f"reduction_{rivals[0]}"), "Section I",
            f"A_online reduces completion times by up to {percent} % against {NAMES[rivals[0]]}",
            reduction, -percent, how=how, unit="%", calibration=calibration, others=rivals,
        )  # fmt: skip
    yield _number(
        name("reduction_best"), "Abstract, conclusion",
        "A_online reduces completion times by up to 30 % against existing algorithms",
        reduction, -30, how=f"against the best baseline; {how}", unit="%",
        calibration=calibration, others=RIVALS,
    )  # fmt: skip
    for method in ("a_online", "a_online_e"):
        for other in ("srtf", "tiresias_l"):
            yield order(
                name(f"grows_{method}_{other}"), "Figure 7",
                f"the reduction of {NAMES[method]} against {NAMES[other]} grows with jobs",
                judge=of(trend, axis="jobs", method=method, other=other, rises=False),
            )  # fmt: skip
    yield order(
        name("edge_no_better"), "Figures 7 and 8",
        "A_online has no higher completion time than A_online-E",
        judge=of(lowest, method="a_online", others=("a_online_e",)),
    )  # fmt: skip
    yield order(
        name("edge_gap_grows"), "Figure 7",
        "the gap between A_online and A_online-E grows with the number of jobs",
        judge=of(trend, axis="jobs", method="a_online", other="a_online_e", rises=False),
    )  # fmt: skip
    for method, rises in (
        ("a_online", True),
        ("batch_sche", True),
        ("a_online_e", False),
        ("tiresias_l", False),
    ):
        yield order(
            name(f"servers_{method}"), "Figure 8",
            f"the rate of {NAMES[method]} to SRTF {'rises' if rises else 'falls'} with servers",
            judge=of(trend, axis="servers", method=method, other="srtf", rises=rises),
        )  # fmt: skip
    yield order(
        name("all_cloud"), "Section V-C",
        "sending most jobs to the cloud is no good choice: A_online beats sending all there",
        judge=of(lowest, method="a_online", others=("all_cloud",)),
    )  # fmt: skip
    yield from _side_effects(calibration, how)


def _side_effects(calibration: Calibration, how: str) -> Iterator[Claim]:
    """Preemptions, communication, utilisation, makespan."""
    name = partial("{0}_{1}".format, calibration)
    for method, other in (("a_online_e", "a_online"), ("a_online", "srtf")):
        yield Claim(
            name(f"preempts_{method}_{other}"), "Figures 9 and 10",
            f"{NAMES[method]} preempts more often than {NAMES[other]}",
            f"single workers; a suspended gang counts by its size; {how}", SCHEDULERS,
            partial(more_often, calibration=calibration, method=method, other=other),
        )  # fmt: skip
    for method in ("a_online", "tiresias_l", "srtf"):
        yield Claim(
            name(f"preemptions_grow_{method}"), "Figures 5 and 9",
            f"preemptions of {NAMES[method]} grow with the number of jobs", how, SCHEDULERS,
            partial(
                trend, calibration=calibration, axis="jobs", method=method, other=None,
                rises=True, value="preemptions",
            ),
        )  # fmt: skip
    yield Claim(
        name("communication"), "Figure 6",
        "A_online's jobs communicate less than those of every baseline",
        f"the figure is of the test-bed, this is the simulation; {how}", SCHEDULERS,
        partial(
            lowest, calibration=calibration, method="a_online", others=RIVALS,
            value="communication",
        ),
    )  # fmt: skip
    for method in ("a_online", "a_online_e"):
        yield _number(
            name(f"utilisation_{method}"), "Figure 11",
            f"the utilisation of {NAMES[method]} reaches 100 %",
            peak, 100, how=how, unit="%", calibration=calibration, method=method,
        )  # fmt: skip
    for other, printed in (("srtf", 0.76), ("tiresias_l", 0.74)):
        yield _number(
            name(f"makespan_{other}"), "Section V-C",
            f"A_online's makespan is {printed} times that of {NAMES[other]}",
            makespans, printed, how=how, calibration=calibration, other=other,
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
            below, 1.7, how=how, sweep=RATIOS, column=column,
        )  # fmt: skip
        yield Claim(
            f"ratio_falls_{kind}", "Figures 12 and 13", f"the {what} falls with epsilon",
            how, RATIOS, partial(falls, column=column),
        )  # fmt: skip
        yield _number(
            f"ratio_near_one_{kind}", "Section V-C",
            f"A_online is close to optimal at epsilon = 0.5, by the {what}",
            near_one, 1.0, how=how, sweep=RATIOS, column=column, room=0.1,
        )  # fmt: skip
        yield Claim(
            f"ratio_insensitive_{kind}", "Figures 12 and 13",
            f"numbers of jobs and servers have little influence on the {what}",
            how, RATIOS, partial(insensitive, column=column, spread=0.1),
        )  # fmt: skip


CLAIMS: tuple[Claim, ...] = (*_schedulers("printed"), *_schedulers("light"), *_ratios())
"""What the paper states, in its order, in either setting."""
