"""What the evaluation of the batch scheduling paper states, as claims that can be measured.

The paper prints curves without numbers, so its claims are orders and trends; only "close to 1" of
Figure 14 is a number. An order is counted instance by instance, a trend step by step of the means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pandas as pd

from heuristics.batch.evaluation import CONTENDED, RATIO_SWEEP, SIZE_SWEEP
from optsched.claims import Claim, Finding, Sweep, compared, counted

SIZES = (
    "J = 60 on 60 edge servers and the cloud, 2 seeds (quick); J = 200 on 200, 10 seeds (full); "
    "T = 100, F = 1"
)
RATIO_SIZES = (
    "J = 5 to 20 on 20 edge servers, J = 15 on 10 to 40 (quick) or 80 (full); 2 seeds (quick), "
    "10 (full)"
)
INSTANCE = ["jobs", "servers", "price_cap", "gradient", "seed"]
CLOSE = 1.1
""""Close to 1", read as at most this."""


# judges: measurements -> finding


def _of(frame: pd.DataFrame, study: str, time_scale: float = 1.0) -> pd.DataFrame:
    return frame[(frame["study"] == study) & (frame["time_scale"] == time_scale)]


def lower(
    frame: pd.DataFrame,
    study: str,
    method: str,
    others: Sequence[str],
    column: str = "completion",
    time_scale: float = 1.0,
) -> Finding:
    """Whether a method's value is below each of the others', instance by instance."""
    part = _of(frame, study, time_scale)
    wide = part.pivot_table(index=INSTANCE, columns="method", values=column)
    ahead = wide[list(others)].gt(wide[method], axis=0)
    lost = [f"{name} ({1 - share:.0%})" for name, share in ahead.mean().items() if share < 1]
    note = "not below " + ", ".join(lost) if lost else ""
    return counted(ahead.all(axis=1).tolist(), note=note)


def trend(
    frame: pd.DataFrame, study: str, x: str, method: str, column: str, *, rising: bool
) -> Finding:
    """Whether the mean rises (falls) with each step of a parameter."""
    part = _of(frame, study)
    means = part[part["method"] == method].groupby(x)[column].mean()
    steps = means.diff().dropna()
    values = ", ".join(f"{value:.5g}" for value in means)
    holds = (steps > 0) if rising else (steps < 0)
    return counted(holds.tolist(), note=f"counted are steps of the means: {values}")


def close_to_one(frame: pd.DataFrame, column: str, time_scale: float) -> Finding:
    """The ratio to the best proven bound."""
    part = frame[frame["time_scale"] == time_scale]
    proven = int(part["proven"].sum())
    note = f"{proven} of {len(part)} optima proven"
    return compared(part[column].tolist(), CLOSE, better="smaller", note=note)


# claims


def _claim(
    figure: int | str,
    name: str,
    text: str,
    judge: Callable[..., Finding],
    *arguments: object,
    sweep: Sweep = SIZE_SWEEP,
    how: str = SIZES,
    **options: object,
) -> Claim:
    def rule(frame: pd.DataFrame) -> Finding:
        return judge(frame, *arguments, **options)

    return Claim(f"figure_{figure}_{name}", f"Figure {figure}", text, how, sweep, rule)


def _against_baselines() -> Iterator[Claim]:
    """Figures 3 to 6."""
    rivals = ("fifo", "drf", "batch_sche")
    for figure, study, x, word in (
        (3, "jobs", "jobs", "the number of jobs grows"),
        (4, "servers", "servers", "the number of edge servers grows"),
    ):
        text = f"A_online's total completion time is below FIFO's, DRF's and BatchSche's as {word}"
        yield _claim(figure, "lowest", text, lower, study, "a_online", rivals)
        yield _claim(
            figure, "lowest_contended", f"{text}, jobs a tenth as long", lower, study, "a_online",
            rivals, time_scale=CONTENDED,
        )  # fmt: skip
        rises = study == "jobs"
        yield _claim(
            figure, "trend", f"A_online's total completion time {'rises' if rises else 'falls'} "
            f"as {word}", trend, study, x, "a_online", "completion", rising=rises,
        )  # fmt: skip
    yield _claim(
        5, "trend", "the larger F, the larger A_online's total weighted completion time",
        trend, "price_cap", "price_cap", "weighted", "weighted", rising=True,
        how=f"F = 0.01, 1, 100; {SIZES}",
    )  # fmt: skip
    yield _claim(
        6, "trend", "A_online's total weighted completion time falls as edge servers are added",
        trend, "servers", "servers", "weighted", "weighted", rising=False,
    )  # fmt: skip


def _against_preemption() -> Iterator[Claim]:
    """Figures 7 to 13."""
    for first, study, word in ((7, "jobs", "jobs"), (8, "servers", "edge servers")):
        for time_scale, suffix, note in (
            (1.0, "", ""), (CONTENDED, "_contended", ", jobs a tenth as long"),
        ):  # fmt: skip
            yield _claim(
                first, f"preemptive{suffix}",
                f"Preemptive without overhead is better than A_online, by number of {word}{note}",
                lower, study, "preemptive", ("a_online",), time_scale=time_scale,
            )  # fmt: skip
            yield _claim(
                first + 2, f"a_online{suffix}",
                f"A_online is better than Preemptive with overhead, by number of {word}{note}",
                lower, study, "a_online", ("preemptive_overhead",), time_scale=time_scale,
            )  # fmt: skip
            yield _claim(
                first + 5, f"utilisation{suffix}",
                f"Preemptive uses more of the edge than A_online, by number of {word}{note}",
                lower, study, "a_online", ("preemptive",), column="utilisation",
                time_scale=time_scale,
            )  # fmt: skip
    yield _claim(
        11, "preemptive", "Preemptive is better than A_online as gradients grow",
        lower, "gradient", "preemptive", ("a_online",), how=f"k_j = 50 to 575 MB; {SIZES}",
    )  # fmt: skip


def _optimality() -> Iterator[Claim]:
    """Figure 14."""
    for column, word in (("flow", "total flow time"), ("completion", "total completion time")):
        for time_scale, suffix, note in (
            (1.0, "", ""), (CONTENDED, "_contended", ", jobs a tenth as long"),
        ):  # fmt: skip
            rule = partial(close_to_one, column=column, time_scale=time_scale)
            yield Claim(
                f"figure_14_{column}{suffix}", "Figure 14",
                f"A_online's ratio to the optimum is close to 1 ({word}{note})",
                f'"close" is at most {CLOSE}; {RATIO_SIZES}', RATIO_SWEEP, rule,
            )  # fmt: skip
    for study, x in (("jobs", "jobs"), ("servers", "servers")):
        yield _claim(
            14, f"trend_{x}", f"the ratio grows with the number of {x}",
            trend, study, x, "a_online", "flow", rising=True, sweep=RATIO_SWEEP, how=RATIO_SIZES,
        )  # fmt: skip


CLAIMS: tuple[Claim, ...] = (*_against_baselines(), *_against_preemption(), *_optimality())
"""Every claim of Section VI."""
