"""What Okita's evaluation states, as claims that can be measured.

Under the exponential latency the last job decides the total cost: claims on costs are measured on
the total, as the paper does, and their notes say what is left of them without the worst job.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from heuristics.common.claims import (
    Claim,
    Finding,
    compared,
    compared_means,
    counted,
    limited,
    ordered,
    within,
)
from heuristics.okita.evaluation.interpretations import FIFO, LATENCY, OASIS, SITES, SPREAD, STATED
from heuristics.okita.evaluation.measures import COSTS, RATIOS, TESTBED, TIMES, WEIGHTS
from heuristics.okita.evaluation.remarks import REMARKS
from heuristics.okita.evaluation.training import ACCURACY

BASELINES = ("fifo", "drf", "oasis")
DRAWS = (FIFO, OASIS)
FLAT = 0.1
"""Deviation from equal weights, relative, up to which a curve counts as nearly flat."""

SMALL = (
    "T=20, optimum, or certified bound after 2 s (quick) or 10 s (full); quick: 4 seeds, R 3 and "
    "4, I 2 and 4; full: 5 seeds, R 2 to 6, I 2 to 10"
)
LARGE = (
    "full: T=150, I=100, R=50 where not varied, 10 seeds; quick: three tenths of that (T=45, "
    "I=30, R=15; R 9 to 21, I 30 to 75), 6 seeds; by 95 % intervals"
)
FLAT_SIZES = (
    "full: T=150, I=100, R=50, 10 seeds; quick: T=45, I=30, R=15, 6 seeds; nearly flat is within "
    f"{FLAT:.0%} of the cost at equal weights, by 95 % intervals"
)
SAVES = (-65.0, -20.0)
"""Range of reductions that is claimed, per cent."""
AS_GOOD = 2.0
"""Percentage points up to which a model counts as being as good as another."""
TRAINED = (
    "a network of 32 hidden neurons on 1,198 images of digits, 599 to test it, trained as Okita "
    "schedules a test-bed's jobs; quick: 10 seeds, the job that runs in most slots; full: 20 "
    f"seeds, all 10 jobs; up to {AS_GOOD:g} percentage points count as none, by 95 % intervals"
)
BED = "9 sites, 10 jobs in 10 slots; quick: 30 seeds; full: 50; by 95 % intervals"


def _table(
    frame: pd.DataFrame, column: str, fifo: object, oasis: object, **where: Any
) -> pd.DataFrame:
    """Instances by method, each baseline as it is read."""
    for name, value in where.items():
        frame = frame[frame[name] == value]
    index = [c for c in ("jobs", "sites", "latency", "seed") if c in frame]
    wide = frame.pivot_table(index=index, columns="method", values=column)
    read = {"okita": "okita", "fifo": f"fifo {fifo}", "drf": "drf", "oasis": f"oasis {oasis}"}
    return pd.DataFrame({name: wide[of] for name, of in read.items()})


def _fixed(frame: pd.DataFrame, *names: str) -> dict[str, Any]:
    """Jobs or sites where they are not varied: as under the other latencies."""
    base = frame[frame["latency"] == "linear"].iloc[0]
    return {name: base[name] for name in names}


def _least(
    frame: pd.DataFrame,
    column: str = "cost",
    *,
    fifo: object,
    oasis: object,
    at_every: str = "",
    **where: Any,
) -> Finding:
    """Whether every baseline costs more than Okita, by the mean of the logarithms of ratios.

    With ``at_every`` it has to at every value of that axis: a single one refutes it.
    """
    table = _table(frame, column, fifo, oasis, **where)
    share = (table["okita"] <= table[list(BASELINES)].min(axis=1)).mean()
    note = f"baseline over Okita, geometric mean, where it is least certain; lowest on {share:.0%}"
    if column == "cost":
        other = _table(frame, "without_worst", fifo, oasis, **where)
        share = (other["okita"] <= other[list(BASELINES)].min(axis=1)).mean()
        note += f", without the worst job on {share:.0%}"
    more = {name: (table[name] / table["okita"]).map(np.log) for name in BASELINES}
    parts = {
        f"{name} with {value} {at_every}": part.tolist()
        for name, of in more.items()
        for value, part in (of.groupby(level=at_every) if at_every else ())
    }
    whole = {name: of.tolist() for name, of in more.items()}
    return ordered(parts or whole, logarithmic=True, note=note)


def _least_along(frame: pd.DataFrame, axis: str, **read: Any) -> Finding:
    """The same along one axis, under the exponential latency."""
    fixed = {"jobs": "sites", "sites": "jobs"}[axis]
    return _least(frame, latency="exponential", at_every=axis, **_fixed(frame, fixed), **read)


def _least_under(frame: pd.DataFrame, law: str, **read: Any) -> Finding:
    """The same under one latency."""
    return _least(frame, latency=law, **_fixed(frame, "jobs", "sites"), **read)


def _ratio_below(frame: pd.DataFrame, printed: float, *, stated: str) -> Finding:
    """Okita's ratio: to the best schedule known, and to the certified bound."""
    own = frame[frame["method"] == "okita"]
    low, high = own["ratio_low"], own["ratio_high"]
    note = f"mean at least {low.mean():.3g}, worst at least {low.max():.3g}"
    return limited(low.tolist(), high.tolist(), printed, stated=stated, note=note)


def _saves(
    frame: pd.DataFrame, rival: str, *, latency: str, fifo: object, oasis: object
) -> Finding:
    """Total cost against one baseline where most is saved, under one latency.

    Single jobs decide totals under the exponential latency: the note says what is left without.
    """
    settings = {}
    for (jobs, sites), cell in frame[frame["latency"] == latency].groupby(["jobs", "sites"]):
        table = _table(cell, "cost", fifo, oasis)
        settings[jobs, sites] = table["okita"].sum() / table[rival].sum(), cell
    jobs, sites = min(settings, key=lambda setting: settings[setting][0])
    cell = settings[jobs, sites][1]
    table = _table(cell, "cost", fifo, oasis)
    rest = _table(cell, "without_worst", fifo, oasis)
    ratio = rest["okita"].sum() / rest[rival].sum()
    note = f"{jobs} jobs, {sites} sites; without the worst job {ratio:.2g} times the cost"
    return compared_means(
        table["okita"].tolist(), table[rival].tolist(), SAVES, gain=True, percent=True, note=note
    )


def _gap_grows(frame: pd.DataFrame, axis: str, **read: Any) -> Finding:
    """How often the saving over the mean baseline is larger at the far end of an axis.

    Seed by seed and by signs: single jobs decide the totals, and their means with them.
    """
    fixed = _fixed(frame, {"jobs": "sites", "sites": "jobs"}[axis])
    larger = {}
    for column in ("cost", "without_worst"):
        table = _table(frame, column, latency="exponential", **fixed, **read)
        saving = table[list(BASELINES)].mean(axis=1) - table["okita"]
        by_axis = saving.unstack("seed").groupby(level=axis).first()
        larger[column] = (by_axis.iloc[-1] > by_axis.iloc[0]).tolist()
    share = np.mean(larger["without_worst"])
    note = f"share of seeds; without the worst job: {share:.0%}"
    return counted(larger["cost"], note=note)


def _flat(frame: pd.DataFrame, weights: str) -> Finding:
    """Change of cost from equal weights to others, by the mean of the logarithms of ratios."""
    chosen = frame[frame["weights"] == weights]
    changes: dict[str, dict[str, list[float]]] = {}
    for column in ("cost", "without_worst"):
        table = chosen.pivot_table(index="seed", columns="values", values=column).map(np.log)
        equal = next(str(name) for name in table if len(set(str(name)[1:-1].split(", "))) == 1)
        base = table[equal]
        others = {str(name): of - base for name, of in table.items() if name != equal}
        changes[column] = {name: of.tolist() for name, of in others.items()}
    other = max((float(np.mean(of)) for of in changes["without_worst"].values()), key=abs)
    note = f"largest change from equal weights; without the worst job {other:+.1%}"
    return within(changes["cost"], float(np.log1p(FLAT)), note=note)


def _fast(frame: pd.DataFrame, printed: float) -> Finding:
    """Run time of Okita."""
    note = "CPU time of the slowest instance"
    seconds = float(frame["seconds"].max())
    return Finding(
        "holds" if seconds < printed else "fails", seconds, instances=len(frame), note=note
    )


def _later(frame: pd.DataFrame, **read: Any) -> Finding:
    """FIFO and DRF end later than OASiS and Okita."""
    table = np.log(_table(frame, "makespan", **read))
    later = {
        f"{slow} later than {quick}": (table[slow] - table[quick]).tolist()
        for slow in ("fifo", "drf")
        for quick in ("oasis", "okita")
    }
    return ordered(
        later,
        logarithmic=True,
        note="ratio of makespans, geometric mean, where it is least certain",
    )


def _advantage(frame: pd.DataFrame, law: str, others: tuple[str, ...], **read: Any) -> Finding:
    """Whether the relative saving over the mean baseline is larger under a latency than others."""
    where, saving = _fixed(frame, "jobs", "sites"), {}
    for one in (law, *others):
        table = _table(frame, "cost", latency=one, **where, **read)
        of = 1 - table["okita"] / table[list(BASELINES)].mean(axis=1)
        saving[one] = of.droplevel([name for name in of.index.names if name != "seed"])
    note = ", ".join(f"{one} {of.mean():.0%}" for one, of in saving.items())
    return ordered({one: (saving[law] - saving[one]).tolist() for one in others}, note=note)


def _as_central(
    frame: pd.DataFrame, column: str, rival: str, local: str, *, spread: str
) -> Finding:
    """What Okita's models name rightly, less what central ones do, percentage points.

    After the last slot, in the mean over the jobs of a seed.
    """
    part = frame[(frame["spread"] == spread) & (frame["slot"] == frame["slots"])]
    ends = part.groupby("seed")[[column, rival, local]].mean()
    note = ", ".join(
        f"{who} {ends[name].mean():.1f} %"
        for who, name in (("Okita", column), ("central", rival), ("largest site alone", local))
    )
    return compared(
        (ends[column] - ends[rival]).tolist(), 0.0, sense="at least", room=AS_GOOD, note=note
    )


def _forgets_nothing(frame: pd.DataFrame, *, spread: str) -> Finding:
    """Accuracy after a job's last slot less that after its best earlier one, percentage points."""
    part = frame[(frame["spread"] == spread) & (frame["slots"] > 1)]
    is_last = part["slot"] == part["slots"]
    by_job = ["seed", "job"]
    last = part[is_last].set_index(by_job)["accuracy"]
    best = part[~is_last].groupby(by_job)["accuracy"].max()
    change = (last - best).groupby("seed").mean()
    return compared(change.tolist(), 0.0, sense="at least", room=AS_GOOD)


def _costs() -> Iterator[Claim]:
    for figure, axis, over in (
        (9, "sites", "whatever the number of sites"),
        (10, "jobs", "whatever the number of jobs"),
    ):
        yield Claim(
            f"figure_{figure}_lowest", f"Figure {figure}",
            f"the total cost of Okita is the lowest {over}", LARGE, COSTS,
            partial(_least_along, axis=axis), interpretations=(SITES, *DRAWS),
        )  # fmt: skip
        yield Claim(
            f"figure_{figure}_gap", f"Figure {figure}", f"the gap grows with the number of {axis}",
            LARGE, COSTS, partial(_gap_grows, axis=axis), interpretations=(SITES, *DRAWS),
        )  # fmt: skip
    for law in ("exponential", "linear", "piecewise"):
        yield Claim(
            f"figure_14_{law}", "Figure 14", f"the total cost of Okita is the lowest ({law})",
            LARGE, COSTS, partial(_least_under, law=law), interpretations=(SITES, *DRAWS),
        )  # fmt: skip
    yield Claim(
        "figure_14_advantage", "Figure 14", "the advantage is largest for piecewise latency",
        LARGE, COSTS, partial(_advantage, law="piecewise", others=("exponential", "linear")),
        interpretations=(SITES, *DRAWS),
    )  # fmt: skip
    yield Claim(
        "figure_14_linear_advantage", "Section V-C, on Figure 14",
        "the advantage is larger under linear latency than under the sigmoid",
        LARGE, COSTS, partial(_advantage, law="linear", others=("exponential",)),
        interpretations=(SITES, *DRAWS),
    )  # fmt: skip
    for rival in BASELINES:
        yield Claim(
            f"text_saves_{rival}", "Section V, abstract",
            f"the total cost is up to 20 to 65 % below that of {rival}",
            f"in the setting where most is saved; {LARGE}", COSTS,
            partial(_saves, rival=rival), SAVES, "%", (SITES, LATENCY, *DRAWS),
        )  # fmt: skip


def _training() -> Iterator[Claim]:
    """Figure 6, and the word in the paper's title."""
    for name, source, text, judge in (
        ("figure_6_accuracy", "Figure 6",
         "dynamic deployment does not affect training: models are as accurate as central ones",
         partial(_as_central, column="accuracy", rival="central", local="local")),
        ("figure_6_convergence", "Figure 6",
         "training converges: models are as accurate after their last slot as after any other",
         _forgets_nothing),
        ("section_1_unbiased", "Section I",
         "models are unbiased: they name the class that they know worst as well as central ones",
         partial(_as_central, column="worst", rival="central_worst", local="local_worst")),
    ):  # fmt: skip
        yield Claim(name, source, text, TRAINED, ACCURACY, judge, None, "points", (SPREAD,))


_CLAIMS: tuple[Claim, ...] = (
    Claim("figure_4_lowest", "Figure 4", "on the test-bed the total cost of Okita is the lowest",
           BED, TESTBED, _least, interpretations=DRAWS),
    Claim("figure_5_makespan", "Figure 5", "FIFO and DRF end later than OASiS and Okita",
           BED, TESTBED, _later, interpretations=DRAWS),
    *_training(),
    Claim("figure_7_ratio", "Figure 7", "the performance ratio stays below 1.8", SMALL, RATIOS,
           partial(_ratio_below, printed=1.8), 1.8, interpretations=(STATED,)),
    Claim("figure_8_smallest", "Figure 8", "the ratio of Okita is the smallest", SMALL, RATIOS,
           partial(_least, column="ratio_low"), interpretations=DRAWS),
    *_costs(),
    Claim("figure_11_flat", "Figure 11", "the cost is nearly flat in alpha_1 : alpha_2",
           f"five ratios from 1:4 to 4:1; {FLAT_SIZES}", WEIGHTS, partial(_flat, weights="alpha")),
    Claim("figure_12_flat", "Figure 12", "the cost is nearly flat in the betas",
           f"equal weights, and each doubled; {FLAT_SIZES}", WEIGHTS,
           partial(_flat, weights="beta")),
    Claim("figure_13_time", "Figure 13", "Okita runs in less than 50 seconds",
           "T=150; quick: I=250, R=50, 3 seeds; full: I 100 to 250, R 30 to 70, 3 seeds", TIMES,
           partial(_fast, printed=50.0), 50.0, "s"),
)  # fmt: skip

CLAIMS = tuple(replace(one, remark=REMARKS.get(one.name, "")) for one in _CLAIMS)
