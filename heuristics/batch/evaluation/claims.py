"""What the evaluation of the batch scheduling paper states, as claims that can be measured.

The paper prints curves without numbers, so its claims are orders and trends; only "close to 1" of
Figure 14 is a number. Both are counted: an order instance by instance, a trend step by step on the
same jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from heuristics.batch.evaluation.interpretations import (
    CAP,
    CLOUD,
    FIFO,
    RIVALS,
    ROUNDS,
    UTILISATION,
    WIDTH,
    WINDOW,
)
from heuristics.batch.evaluation.measures import CONTENDED, RATIO_SWEEP, SIZE_SWEEP
from heuristics.batch.evaluation.remarks import REMARKS
from heuristics.common.claims import Claim, Finding, Interpretation, Sweep, compared, counted

SIZES = (
    "J = 60 on 60 edge servers and the cloud, 3 seeds (quick); J = 200 on 200, 10 seeds (full); "
    "T = 100, F = 1"
)
RATIO_SIZES = (
    "J = 5 to 20 on 20 edge servers, J = 15 on 10 to 40 (quick) or 80 (full); 3 seeds (quick), "
    "10 (full); the optimum, or its bound after 5 s (quick) or 10 s (full)"
)
AXES = ("jobs", "servers", "price_cap", "gradient")
INSTANCE = [*AXES, "seed"]
CLOSE = 1.1
""""Close to 1", read as at most this."""


# judges: measurements -> finding


def _of(frame: pd.DataFrame, axis: str, time_scale: float = 1.0) -> pd.DataFrame:
    """Where nothing but ``axis`` varies: what else does stands at its commonest value."""
    here = frame["time_scale"] == time_scale
    for other in AXES:
        if other != axis and other in frame:
            here &= frame[other] == frame[other].mode()[0]
    return frame[here & (frame[axis] > 0)]  # gradients of size 0 are drawn


def _signs(differences: pd.Series | pd.DataFrame) -> list[bool | None]:
    """Whether each is positive; None where two methods tie."""
    values = differences.to_numpy().ravel()
    return [None if value == 0 else bool(value > 0) for value in values if np.isfinite(value)]


def lower(
    frame: pd.DataFrame,
    axis: str,
    method: str,
    others: Sequence[str],
    column: str = "completion",
    time_scale: float = 1.0,
    *,
    every: bool = False,
) -> Finding:
    """Whether a method's value is below the least of the others', instance by instance."""
    part = _of(frame, axis, time_scale)
    wide = part.pivot_table(index=INSTANCE, columns="method", values=column)
    ahead = wide[list(others)].gt(wide[method], axis=0)
    lost = [f"{name} ({1 - share:.0%})" for name, share in ahead.mean().items() if share < 1]
    means = ", ".join(f"{name} {wide[name].mean():.3g}" for name in (method, *others))
    note = f"means {means}" + (f"; not below {', '.join(lost)}" if lost else "")
    signs = _signs(wide[list(others)].min(axis=1) - wide[method])
    return counted(signs, every=every, note=note)


def lowest(
    frame: pd.DataFrame, axis: str, time_scale: float = 1.0, *, fifo: str, rivals: str
) -> Finding:
    """Whether A_online's total completion time is the least, however its rivals are understood."""
    others = ["fifo" if fifo == "start" else "fifo_completion", "drf", "batch_sche"]
    if rivals != RIVALS.default:
        others.append("all_cloud")
    return lower(frame, axis, "a_online", others, time_scale=time_scale, every=True)


def against_preemptive(
    frame: pd.DataFrame,
    axis: str,
    kind: str,
    preemptive_is_lower: bool,
    column: str = "completion",
    time_scale: float = 1.0,
    *,
    width: str,
) -> Finding:
    """A_online's value against that of a kind of Preemptive, under interpretations of its width."""
    rival = kind if width == "server" else f"{kind}_spread"
    pair = (rival, "a_online") if preemptive_is_lower else ("a_online", rival)
    return lower(frame, axis, pair[0], pair[1:], column, time_scale)


def uses_less(
    frame: pd.DataFrame, axis: str, time_scale: float = 1.0, *, width: str, window: str
) -> Finding:
    """Whether A_online uses less of the edge than Preemptive, over a window."""
    return against_preemptive(
        frame, axis, "preemptive", False, UTILISATION[window], time_scale, width=width
    )


def utilisation_falls(
    frame: pd.DataFrame, axis: str, time_scale: float = 1.0, *, window: str
) -> Finding:
    """Whether A_online's utilisation over a window falls with each step of a parameter."""
    column = UTILISATION[window]
    return trend(frame, axis, "a_online", column, rising=False, time_scale=time_scale)


def follows_cap(frame: pd.DataFrame, *, cap: str) -> Finding:
    """Whether A_online's total weighted completion time follows F, or goes against it."""
    return trend(frame, "price_cap", "weighted", "weighted", rising=cap == "larger")


def trend(
    frame: pd.DataFrame,
    axis: str,
    method: str,
    column: str,
    *,
    rising: bool,
    time_scale: float = 1.0,
) -> Finding:
    """Whether the value rises (falls) with each step of a parameter, on the same jobs."""
    part = _of(frame, axis, time_scale)
    part = part[part["method"] == method]
    wide = part.pivot_table(index="seed", columns=axis, values=column)
    steps = wide.diff(axis=1).iloc[:, 1:]
    values = ", ".join(f"{value:.5g}" for value in wide.mean())
    note = f"counted are steps, seed by seed; means {values}"
    return counted(_signs(steps if rising else -steps), note=note)


def ratio_trend(frame: pd.DataFrame, axis: str, *, rounds: str) -> Finding:
    """The same of A_online's ratio."""
    return trend(frame, axis, rounds, "flow", rising=True)


def falls_behind(
    frame: pd.DataFrame, axis: str, time_scale: float = 1.0, *, width: str, window: str
) -> Finding:
    """Whether Preemptive's lead in utilisation grows with each step of a parameter."""
    index = ["time_scale", *INSTANCE]
    wide = frame.pivot_table(index=index, columns="method", values=UTILISATION[window])
    rival = "preemptive" if width == "server" else "preemptive_spread"
    lead = (wide[rival] - wide["a_online"]).rename("lead").reset_index().assign(method="lead")
    return trend(lead, axis, "lead", "lead", rising=True, time_scale=time_scale)


def close_to_one(frame: pd.DataFrame, column: str, time_scale: float, *, rounds: str) -> Finding:
    """The ratio to the best proven bound."""
    part = frame[(frame["time_scale"] == time_scale) & (frame["method"] == rounds)]
    proven = int(part["proven"].sum())
    note = f"{proven} of {len(part)} optima proven"
    return compared(part[column].tolist(), CLOSE, sense="at most", note=note)


# claims


def _claim(
    figure: int | str,
    name: str,
    text: str,
    judge: Callable[..., Finding],
    *arguments: object,
    interpretations: tuple[Interpretation, ...] = (CLOUD,),
    sweep: Sweep = SIZE_SWEEP,
    how: str = SIZES,
    **options: object,
) -> Claim:
    def rule(frame: pd.DataFrame, **read: object) -> Finding:
        return judge(frame, *arguments, **options, **read)

    return Claim(
        f"figure_{figure}_{name}",
        f"Figure {figure}",
        text,
        how,
        sweep,
        rule,
        interpretations=interpretations,
    )


def _against_baselines() -> Iterator[Claim]:
    """Figures 3 to 6."""
    rivals = (CLOUD, FIFO, RIVALS)
    for figure, axis, word in (
        (3, "jobs", "the number of jobs grows"),
        (4, "servers", "the number of edge servers grows"),
    ):
        text = f"A_online's total completion time is below FIFO's, DRF's and BatchSche's as {word}"
        yield _claim(figure, "lowest", text, lowest, axis, interpretations=rivals)
        yield _claim(
            figure, "lowest_contended", f"{text}, jobs a tenth as long", lowest, axis,
            time_scale=CONTENDED, interpretations=rivals,
        )  # fmt: skip
        rises = axis == "jobs"
        yield _claim(
            figure, "trend", f"A_online's total completion time {'rises' if rises else 'falls'} "
            f"as {word}", trend, axis, "a_online", "completion", rising=rises,
        )  # fmt: skip
    yield _claim(
        5, "trend", "the larger F, the larger A_online's total weighted completion time; the same "
        "paragraph says the smaller", follows_cap, interpretations=(CLOUD, CAP),
        how=f"F = 0.01, 1, 100; {SIZES}",
    )  # fmt: skip
    yield _claim(
        6, "trend", "A_online's total weighted completion time falls as edge servers are added",
        trend, "servers", "weighted", "weighted", rising=False,
    )  # fmt: skip


def _against_preemption() -> Iterator[Claim]:
    """Figures 7 to 13."""
    width, window = (CLOUD, WIDTH), (CLOUD, WIDTH, WINDOW)
    for first, axis, word in ((7, "jobs", "jobs"), (8, "servers", "edge servers")):
        for time_scale, suffix, note in (
            (1.0, "", ""), (CONTENDED, "_contended", ", jobs a tenth as long"),
        ):  # fmt: skip
            yield _claim(
                first, f"preemptive{suffix}",
                f"Preemptive without overhead is better than A_online, by number of {word}{note}",
                against_preemptive, axis, "preemptive", True, time_scale=time_scale,
                interpretations=width,
            )  # fmt: skip
            yield _claim(
                first + 2, f"a_online{suffix}",
                f"A_online is better than Preemptive with overhead, by number of {word}{note}",
                against_preemptive, axis, "preemptive_overhead", False, time_scale=time_scale,
                interpretations=width,
            )  # fmt: skip
            yield _claim(
                first + 5, f"utilisation{suffix}",
                f"Preemptive uses more of the edge than A_online, by number of {word}{note}",
                uses_less, axis, time_scale=time_scale, interpretations=window,
            )  # fmt: skip
            yield _claim(
                first + 5, f"behind{suffix}",
                f"A_online fragments: its utilisation falls behind Preemptive's with {word}{note}",
                falls_behind, axis, time_scale=time_scale, interpretations=window,
                how=f"Preemptive's less A_online's; {SIZES}",
            )  # fmt: skip
            if axis == "servers":
                yield _claim(
                    13, f"falls{suffix}", f"A_online's utilisation falls with {word}{note}",
                    utilisation_falls, axis, time_scale=time_scale, interpretations=(CLOUD, WINDOW),
                )  # fmt: skip
    yield _claim(
        11, "preemptive", "Preemptive is better than A_online as gradients grow",
        against_preemptive, "gradient", "preemptive", True, interpretations=width,
        how=f"k_j = 50 to 575 MB; {SIZES}",
    )  # fmt: skip


def _optimality() -> Iterator[Claim]:
    """Figure 14."""
    for column, word in (("flow", "total flow time"), ("completion", "total completion time")):
        for time_scale, suffix, note in (
            (1.0, "", ""), (CONTENDED, "_contended", ", jobs a tenth as long"),
        ):  # fmt: skip
            yield _claim(
                14, f"{column}{suffix}",
                f"A_online's ratio to the optimum is close to 1 ({word}{note})",
                close_to_one, column, time_scale, interpretations=(ROUNDS,), sweep=RATIO_SWEEP,
                how=f'"close" is at most {CLOSE}; {RATIO_SIZES}',
            )  # fmt: skip
    for axis in ("jobs", "servers"):
        yield _claim(
            14, f"trend_{axis}", f"the ratio grows with the number of {axis}", ratio_trend, axis,
            interpretations=(ROUNDS,), sweep=RATIO_SWEEP, how=RATIO_SIZES,
        )  # fmt: skip


_CLAIMS: tuple[Claim, ...] = (*_against_baselines(), *_against_preemption(), *_optimality())

CLAIMS = tuple(replace(one, remark=REMARKS.get(one.name, "")) for one in _CLAIMS)
"""Every claim of Section VI."""
