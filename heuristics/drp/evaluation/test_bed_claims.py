"""What the DRP paper states of its test-bed (Section 6), judged by a simulation of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd

from heuristics.common.claims import Claim, ClaimVerdict, Finding, compared, compared_means, ordered
from heuristics.drp.evaluation.interpretations import COMPLETION, LOAD, RADIO
from heuristics.drp.evaluation.test_bed import TEST_BED

SIZES = (
    "14 to 22 jobs on four servers, simulated by (2) to (4) and Table 2; quick: 10 seeds, full: 50"
)


def _wide(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """A seed's mean over the numbers of jobs, methods side by side."""
    return frame.pivot_table(index="seed", columns="method", values=column)


def _read(rival: str, radio: str) -> str:
    return f"nearest {radio}" if rival == "nearest" else rival


def earlier(
    frame: pd.DataFrame, printed: float, rival: str, *, completion: str, radio: str = ""
) -> Finding:
    """R-DR's time until jobs are done over that of another, per cent less."""
    wide = _wide(frame, completion.split()[0])
    ours, theirs = wide["r_dr"].tolist(), wide[_read(rival, radio)].tolist()
    return compared_means(ours, theirs, printed, gain=True, percent=True)


def _ahead(frame: pd.DataFrame, column: str, late: bool, radio: str) -> Finding:
    """Difference in jobs done between R-DR and others, percentage points, of 22 jobs."""
    wide = _wide(frame[frame["jobs"] == frame["jobs"].max()], column)
    others = ["random", _read("nearest", radio)]
    sign = 1 if late else -1
    gaps = {name: (sign * (wide["r_dr"] - wide[name])).tolist() for name in others}
    note = ", ".join(f"{name} {wide[name].mean():.0f} %" for name in ["r_dr", *others])
    return ordered(gaps, note=note)


def early(frame: pd.DataFrame, *, radio: str) -> Finding:
    """Whether others have more jobs done when half of R-DR's time is over."""
    return _ahead(frame, "done_halfway", late=False, radio=radio)


def late(frame: pd.DataFrame, *, radio: str) -> Finding:
    """Whether others have fewer jobs done when R-DR has all."""
    return _ahead(frame, "done_at_end", late=True, radio=radio)


def busy(frame: pd.DataFrame, printed: float) -> Finding:
    """Share of R-DR's time for which its least busy server trains, per cent."""
    part = frame[(frame["method"] == "r_dr") & frame["jobs"].isin([16, 22])]
    values = part.groupby("seed")["least_busy"].mean().tolist()
    return compared(values, printed, sense="at least", room=0.0)


def balanced(frame: pd.DataFrame, column: str, *, radio: str) -> Finding:
    """Standard deviation among the servers under the others over that under R-DR."""
    wide = _wide(frame, column)
    others = ["random", _read("nearest", radio)]
    note = ", ".join(f"{name} {wide[name].mean():.3g}" for name in ["r_dr", *others])
    more = {name: np.log(wide[name] / wide["r_dr"]).tolist() for name in others}
    return ordered(more, logarithmic=True, note=f"means {note}")


def slowest(frame: pd.DataFrame, printed: float) -> Finding:
    """The longest time R-DR took to decide, CPU seconds."""
    took = frame.loc[frame["method"] == "r_dr", "took"].tolist()
    verdict: ClaimVerdict = "holds" if max(took) < printed else "fails"
    return Finding(verdict, max(took), instances=len(took), note="the longest of all runs")


def test_bed_claims() -> Iterator[Claim]:
    """Figures 28 to 34."""
    yield Claim(
        "figure_28_decision_time", "Figure 28", "decisions take less than 5 seconds",
        f"CPU time of R-DR; {SIZES}", TEST_BED, partial(slowest, printed=5.0), 5.0, "s", (LOAD,),
    )  # fmt: skip
    for rival, cut in (("random", -26.0), ("nearest", -20.0)):
        yield Claim(
            f"figure_29_{rival}", "Figure 29",
            f"jobs complete {-cut:g} % earlier than under {rival}", SIZES, TEST_BED,
            partial(earlier, printed=cut, rival=rival), cut, "%",
            (LOAD, COMPLETION) + (RADIO,) * (rival == "nearest"),
        )  # fmt: skip
    for name, text, judge in (
        ("early", "in the first half random and nearest complete more of 22 jobs", early),
        ("late", "when R-DR has completed 22 jobs, random and nearest have not", late),
    ):
        yield Claim(
            f"figure_30_{name}", "Figure 30", text, SIZES, TEST_BED, judge, None, "points",
            (LOAD, RADIO),
        )  # fmt: skip
    yield Claim(
        "figure_31_gpu", "Figures 31 and 32", "all servers use their GPUs by over 95 %",
        f"share of the time for which the least busy server has work, 16 and 22 jobs; {SIZES}",
        TEST_BED, partial(busy, printed=95.0), 95.0, "%", (LOAD,),
    )  # fmt: skip
    for figure, column, what, how in (
        (33, "gpu_spread", "GPU utilisation", "share of the time for which a server has work"),
        (34, "memory_spread", "memory utilisation", "MB of data that a server holds, in the mean"),
    ):
        yield Claim(
            f"figure_{figure}_balance", f"Figure {figure}",
            f"the standard deviation of {what} among servers is larger under random and nearest",
            f"{how}; geometric mean of the ratio, where it is least certain; {SIZES}", TEST_BED,
            partial(balanced, column=column), interpretations=(LOAD, RADIO),
        )  # fmt: skip
