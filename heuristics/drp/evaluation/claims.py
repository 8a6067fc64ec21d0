"""What the evaluation of the DRP/DSRP paper states, as claims that can be measured.

Gains are judged at the largest number of jobs, where the printed curves differ most. For the
paper's "optimal" see ``evaluation``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd

from formulations.drp.instance import Floats
from heuristics.common.claims import (
    NOTHING,
    Claim,
    Finding,
    Interpretation,
    Sweep,
    bounded,
    compared_means,
    counted,
    ordered,
)
from heuristics.common.claims.claim import Printed
from heuristics.common.claims.verdicts import EVERY, Sense
from heuristics.drp.evaluation.interpretations import (
    DATA,
    NEAREST,
    PROFILE,
    SERVICES,
    SHARE,
    STATED,
)
from heuristics.drp.evaluation.measures import DISCUSSION, DRP_SWEEP, DSRP_SWEEP, PROFILES, SETTING
from heuristics.drp.evaluation.remarks import REMARKS
from heuristics.drp.evaluation.test_bed_claims import test_bed_claims

BASELINES = ("greedy", "nearest", "random")

SIZES = {
    DRP_SWEEP.name: (
        "quick: 4 seeds, 60 jobs of uniform and normal data and 20 of uniform data, and 3 seeds, "
        "40 jobs, against the optimum; full: 10 seeds, 10 to 60 jobs, 5 of them against the "
        "optimum or its bound after 5 s"
    ),
    DSRP_SWEEP.name: "quick: 3 or 4 seeds, 40 jobs; full: 10 seeds, 10 to 60 jobs, three profiles",
    DISCUSSION.name: (
        "hexagon, uniform data, profile balanced; quick: 6 seeds, 40 jobs; full: 10 seeds, 20 to "
        "60 jobs"
    ),
}

SCARCE: dict[str, Any] = {"profile": "balanced"}
WIDE: dict[str, Any] = {"profile": "bandwidth_bound"}

Column = Literal["value", "bandwidth"]


# judges: measurements -> finding


def _where(frame: pd.DataFrame, most_jobs: bool = False, **choice: Any) -> pd.DataFrame:
    """The measurements of some settings; ``most_jobs`` keeps the largest number of jobs."""
    for name, value in choice.items():
        frame = frame[frame[name] == value]
    return frame[frame["jobs"] == frame["jobs"].max()] if most_jobs else frame


def _pair(
    frame: pd.DataFrame, method: str, others: Sequence[str], column: Column
) -> tuple[list[float], list[float]]:
    """A method, and the mean of others, on the same instances."""
    part = frame[frame["method"].isin([method, *others])]
    index = [*SETTING, "seed"]
    wide = part.pivot_table(index=index, columns="method", values=column, dropna=False)
    wide = wide.reindex(columns=[method, *others])
    wide = wide[part.groupby(index)["method"].nunique().reindex(wide.index) == 1 + len(others)]
    return wide[method].tolist(), wide[list(others)].mean(axis=1, skipna=False).tolist()


def over(
    frame: pd.DataFrame,
    printed: Printed,
    method: str,
    *others: str,
    column: Column = "value",
    gain: bool = True,
    sense: Sense = "about",
    nearest: str = "in turn",
    data: str = "all",
    **where: Any,
) -> Finding:
    """The mean of a method over that of others, per cent: jobs admitted, or bandwidth per job."""
    if data != "all":
        where["distribution"] = data
    if nearest == "literal":
        others = tuple("nearest_literal" if other == "nearest" else other for other in others)
    values, rivals = _pair(_where(frame, **where), method, others, column)
    return compared_means(values, rivals, printed, gain=gain, percent=True, sense=sense)


def limit(
    frame: pd.DataFrame,
    printed: float,
    method: str,
    other: str,
    *,
    stated: str,
    column: Column = "value",
    gain: bool = True,
    sense: Sense,
    **where: Any,
) -> Finding:
    """The same of a floor or a ceiling, in the mean or on every instance.

    The optimum lies between the best schedule known and the bound: what is certain of an instance
    is the ratio to the former.
    """
    mean = over(frame, printed, method, other, column=column, gain=gain, sense=sense, **where)
    if stated != EVERY:
        return mean
    part = _where(frame, **where)
    rivals = [other, "optimum"] if other == "bound" else [other, other]
    ends = np.array([_percent(*_pair(part, method, [rival], column), gain) for rival in rivals])
    low, high = ends[:, np.isfinite(ends).all(axis=0)].tolist()
    found = bounded(low, high, printed, sense=sense)
    note = f"mean {mean.value:.3g}, {mean.verdict} by it; {found.note}"
    return replace(found, note=note)


def _percent(values: Sequence[float], others: Sequence[float], gain: bool) -> Floats:
    """Each value over the other, per cent; over nothing it is no number."""
    rivals = np.array(others, dtype=float)
    return 100 * (np.array(values, dtype=float) / np.where(rivals > 0, rivals, np.nan) - gain)


def least_over(
    frame: pd.DataFrame, printed: float, method: str, other: str, **where: Any
) -> Finding:
    """The same as a share, in the setting where it is least."""
    found = [
        (over(cell, printed, method, other, gain=False, sense="at least"), setting)
        for setting, cell in _where(frame, **where).groupby(SETTING, sort=False)
    ]
    found = [(one, setting) for one, setting in found if one.instances]
    if not found:
        return Finding(NOTHING, note="no such setting at this scale")
    worst, setting = min(found, key=lambda pair: pair[0].value)
    note = f"the least of {len(found)} settings: {_named(setting)}"
    return Finding(worst.verdict, worst.value, worst.low, worst.high, worst.instances, note)


def best_rival(
    frame: pd.DataFrame,
    printed: Printed,
    method: str,
    others: Sequence[str],
    *,
    nearest: str,
    **where: Any,
) -> Finding:
    """The gain over that of the others whose mean is largest."""
    part = _where(frame, **where)
    named = ["nearest_literal" if (o, nearest) == ("nearest", "literal") else o for o in others]
    means = part.groupby("method")["value"].mean()
    return over(part, printed, method, str(means.reindex(named).idxmax()))


def ahead(frame: pd.DataFrame, **where: Any) -> Finding:
    """Whether R-DR admits more than every baseline, instance by instance."""
    wide = _where(frame, **where).pivot_table(
        index=[*SETTING, "seed"], columns="method", values="value"
    )
    ahead = wide["r_dr"] - wide[list(BASELINES)].max(axis=1)
    behind = ahead[ahead < 0].reset_index()[SETTING].drop_duplicates()
    named = "; ".join(map(_named, behind.itertuples(index=False)))
    note = f"behind in {named}" if named else ""
    return counted([None if one == 0 else bool(one > 0) for one in ahead], every=True, note=note)


def falls(frame: pd.DataFrame, *, data: str, **where: Any) -> Finding:
    """Bandwidth that a job takes of R-DR with the fewest jobs over that with the most."""
    if data != "all":
        where["distribution"] = data
    part = _where(frame, method="r_dr", **where)
    wide = part.pivot_table(
        index=["topology", "distribution", "profile", "seed"], columns="jobs", values="bandwidth"
    )
    wide = wide.iloc[:, [0, -1]].dropna()
    few, many = wide.columns
    gbit = wide.mean() / 1e9
    note = f"{gbit[few]:.2f} Gbit/s with {few} jobs, {gbit[many]:.2f} with {many}"
    return ordered(
        {f"{few} over {many} jobs": np.log(wide[few] / wide[many]).tolist()},
        logarithmic=True, note=note,
    )  # fmt: skip


def excess(frame: pd.DataFrame, printed: float, **where: Any) -> Finding:
    """The largest load over capacity that raw R-DSR leaves."""
    part = _where(frame, **where)
    loads = part.loc[part["method"] == "r_dsr_raw", "load"].tolist()
    found = bounded(loads, loads, printed)
    note = f"mean {np.mean(loads):.2f}; instances with any factor exist; {found.note}"
    return replace(found, note=note)


def _named(setting: Any) -> str:
    return ", ".join(map(str, setting))


# claims


def _claim(
    name: str,
    source: str,
    text: str,
    judge: Callable[..., Finding],
    *arguments: Any,
    printed: Printed,
    sweep: Sweep = DRP_SWEEP,
    setting: str = "",
    unit: str = "%",
    interpretations: tuple[Interpretation, ...] | None = None,
    **options: Any,
) -> Claim:
    """A claim with a printed number; ``arguments`` and ``options`` are the judge's."""
    if interpretations is None:
        interpretations = (
            (SERVICES,) * (sweep is DSRP_SWEEP) + (SHARE,) + (STATED,) * (judge is limit)
        )
    how = "; ".join(part for part in (setting, SIZES[sweep.name]) if part)

    def rule(frame: pd.DataFrame, **read: Any) -> Finding:
        return judge(frame, printed, *arguments, **options, **read)

    return Claim(name, source, text, how, sweep, rule, printed, unit, interpretations)


def _throughput() -> Iterator[Claim]:
    """Figures 2 to 4 and 9 to 11."""
    figures = {
        ("hexagon", "uniform"): (2, (33, 51, 69)),
        ("hexagon", "normal"): (3, (34, 56, 69)),
        ("grid", "uniform"): (9, (33, 50, 79)),
        ("grid", "normal"): (10, (35, 57, 77)),
    }
    for (topology, data), (figure, gains) in figures.items():
        where: dict[str, Any] = {"topology": topology, "distribution": data}
        for other, gain in zip(BASELINES, gains, strict=True):
            yield _claim(
                f"figure_{figure}_{other}", f"Figure {figure}",
                f"R-DR admits {gain} % more jobs than {other} ({topology}, {data} data)",
                over, "r_dr", other, printed=gain, most_jobs=True, **where,
                setting="ratio of means at the largest number of jobs",
                interpretations=(SHARE, PROFILE) + (NEAREST,) * (other == "nearest"),
            )  # fmt: skip
    for topology, figures_of in (("hexagon", "2 to 4"), ("grid", "9 to 11")):
        yield Claim(
            f"order_{topology}", f"Figures {figures_of}",
            f"R-DR admits at least as many jobs as every baseline ({topology})",
            SIZES[DRP_SWEEP.name], DRP_SWEEP, partial(ahead, topology=topology),
            interpretations=(SHARE, PROFILE),
        )  # fmt: skip
    yield _claim(
        "abstract_throughput", "Abstract, conclusion",
        "throughput improves by 56 % to 69 % over existing algorithms",
        best_rival, "r_dr", ("nearest", "random"), printed=(56, 69), most_jobs=True,
        topology="hexagon", distribution="normal", interpretations=(SHARE, PROFILE, NEAREST),
        setting="the better of nearest and random, which have these numbers in Figure 3",
    )  # fmt: skip
    yield _claim(
        "section_5_throughput", "Section 5.4, summary",
        "R-DR improves throughput by about 59 % over the baselines",
        over, "r_dr", *BASELINES, printed=59, most_jobs=True,
        interpretations=(SHARE, PROFILE, NEAREST),
        setting="against the mean of the baselines, all topologies and distributions",
    )  # fmt: skip


def _optimality() -> Iterator[Claim]:
    """The shares of the optimum, against the paper's yardstick and against the optimum."""
    for topology, share, figures in (("hexagon", 92, "2 to 4"), ("grid", 94, "9 to 11")):
        source = f"Figures {figures}"
        stated = f"R-DR reaches at least {share} % of the optimal throughput ({topology})"
        yield _claim(
            f"share_{topology}", source, stated,
            limit, "r_dr", "lp1_first", printed=share, gain=False, sense="at least",
            topology=topology,
            setting='against the paper\'s "optimal", LP1 after PRUNE; all settings',
        )  # fmt: skip
        for profile in PROFILES:
            yield _claim(
                f"share_{topology}_{profile}", source, f"{stated}, in every setting of {profile}",
                least_over, "r_dr", "lp1_first", printed=share,
                topology=topology, profile=profile,
                setting=f"against LP1 after PRUNE, profile {profile}",
            )  # fmt: skip
        for method, word in (("r_dr", ""), ("r_dr_exact", ", in exact mode")):
            yield _claim(
                f"optimum_{topology}_{method}", source, f"{stated}, truly{word}",
                limit, method, "bound", printed=share, gain=False, sense="at least",
                topology=topology,
                setting="against the best proven bound on the optimum; all settings",
            )  # fmt: skip
            yield _claim(
                f"optimum_{topology}_{method}_scarce", source,
                f"{stated}, truly{word}, with 40 jobs",
                limit, method, "bound", printed=share, gain=False, sense="at least",
                topology=topology, distribution="uniform", jobs=40, **SCARCE,
                setting="against the best proven bound; 40 jobs, uniform data, profile balanced",
            )  # fmt: skip
    yield _claim(
        "section_5_share", "Section 5.4, summary",
        "R-DR reaches 92 % of the optimal throughput on both topologies",
        limit, "r_dr", "lp1_first", printed=92, gain=False, sense="at least",
        setting='against the paper\'s "optimal", LP1 after PRUNE; all settings',
    )  # fmt: skip


def _bandwidth() -> Iterator[Claim]:
    """Figures 5 to 7 and 12 to 14."""
    for topology, first, ceiling, cuts in (
        ("hexagon", 5, 12, (15, 16, 27)), ("grid", 12, 11, (14, 17, 27)),
    ):  # fmt: skip
        for other, cut in zip(BASELINES, cuts, strict=True):
            yield _claim(
                f"figure_{first}_{other}", f"Figure {first}",
                f"R-DR takes {cut} % less bandwidth per job than {other} ({topology}, "
                "uniform data)",
                over, "r_dr", other, printed=-cut, column="bandwidth", topology=topology,
                distribution="uniform", most_jobs=True,
                interpretations=(SHARE, PROFILE) + (NEAREST,) * (other == "nearest"),
                setting="inbound and outbound together, at the largest number of jobs",
            )  # fmt: skip
        yield _claim(
            f"figure_{first}_optimal", f"Figures {first} to {first + 2}",
            f"R-DR takes at most {ceiling} % more bandwidth per job than the optimal ({topology})",
            limit, "r_dr", "lp1_first", printed=ceiling, column="bandwidth", sense="at most",
            topology=topology,
            setting='against the paper\'s "optimal", LP1 after PRUNE; all settings',
        )  # fmt: skip
        yield Claim(
            f"figure_{first}_falls", "Section 5.3, on Figures 5 to 7 and 12 to 14",
            f"R-DR takes the less bandwidth per job, the more jobs there are ({topology})",
            f"with the fewest jobs over with the most, geometric mean; {SIZES[DRP_SWEEP.name]}",
            DRP_SWEEP, partial(falls, topology=topology), interpretations=(SHARE, PROFILE, DATA),
        )  # fmt: skip
    yield _claim(
        "section_5_bandwidth", "Section 5.4, summary",
        "R-DR takes about 17 % less bandwidth per job than the baselines",
        over, "r_dr", *BASELINES, printed=-17, column="bandwidth", most_jobs=True,
        setting="against the mean of the baselines, at the largest number of jobs",
        interpretations=(SHARE, PROFILE, DATA, NEAREST),
    )  # fmt: skip


def _services() -> Iterator[Claim]:
    """Figures 15 to 26: R-DSR, rounded (which breaks capacities), as printed, and repaired."""
    for method, word in (
        ("r_dsr_raw", "not repaired"),
        ("r_dsr_printed", "as printed"),
        ("r_dsr", "repaired"),
    ):
        for topology, first, gains, share, less, more in (
            ("hexagon", 15, {"uniform": 63, "normal": 69}, 89, 9, 4),
            ("grid", 21, {"uniform": 67, "normal": 69}, 88, 10, 6),
        ):
            for figure, (data, gain) in enumerate(gains.items(), start=first):
                yield _claim(
                    f"figure_{figure}_{method}", f"Figure {figure}",
                    f"R-DSR ({word}) admits {gain} % more jobs than R-DR with storage "
                    f"({topology}, {data} data)",
                    over, method, "r_dr_storage", printed=gain, sweep=DSRP_SWEEP,
                    most_jobs=True, topology=topology, distribution=data, **WIDE,
                    setting="at the largest number of jobs, profile bandwidth_bound",
                )  # fmt: skip
            yield _claim(
                f"share_{topology}_{method}", f"Figures {first} to {first + 2}",
                f"R-DSR ({word}) reaches at least {share} % of the optimal throughput ({topology})",
                limit, method, "lp2", printed=share, gain=False, sense="at least", sweep=DSRP_SWEEP,
                topology=topology, setting='against the paper\'s "optimal", LP2; all settings',
            )  # fmt: skip
            for other, cut, rival in (
                ("r_dr_storage", -less, "R-DR with storage"), ("lp2", more, "the optimal"),
            ):  # fmt: skip
                stated = f"{-cut} % less" if cut < 0 else f"at most {cut} % more"
                yield _claim(
                    f"figure_{first + 3}_{method}_{other}", f"Figures {first + 3} to {first + 5}",
                    f"R-DSR ({word}) takes {stated} bandwidth per job than {rival} ({topology})",
                    over if cut < 0 else limit, method, other, printed=cut, sweep=DSRP_SWEEP,
                    column="bandwidth", sense="about" if cut < 0 else "at most", topology=topology,
                    setting="inbound and outbound together; all settings",
                )  # fmt: skip
        for name, text, judge, rival, printed, options in (
            ("throughput", "improves throughput by about 67 % over the baseline",
             over, "r_dr_storage", 67, {"most_jobs": True, **WIDE}),
            ("share", "reaches 88 % of the optimal throughput on both topologies",
             limit, "lp2", 88, {"gain": False, "sense": "at least"}),
            ("bandwidth", "takes about 11 % less bandwidth per job than the baseline",
             over, "r_dr_storage", -11, {"column": "bandwidth"}),
        ):  # fmt: skip
            yield _claim(
                f"section_5_{name}_{method}", "Section 5.4, summary", f"R-DSR ({word}) {text}",
                judge, method, rival, printed=printed, sweep=DSRP_SWEEP, **options,
                setting="both topologies",
            )  # fmt: skip
    for topology in ("hexagon", "grid"):
        yield _claim(
            f"factor_4_{topology}", "Section 4, approximation",
            f"R-DSR without repair exceeds no capacity more than fourfold ({topology})",
            excess, printed=4, sweep=DSRP_SWEEP, topology=topology, unit="",
            setting="largest load over capacity of any resource and server",
        )  # fmt: skip


def _discussion() -> Iterator[Claim]:
    """Section 3.5: the algorithm goes on working where the problem is generalised."""
    generalised: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("nodes", "each data node serves three jobs", {"jobs_per_node": 3, "work": "data"}),
        (
            "loss",
            "work follows from the loss wanted, by (21)",
            {"jobs_per_node": 1, "work": "loss"},
        ),
    )
    for name, text, where in generalised:
        yield _claim(
            f"section_3_5_{name}_share", "Section 3.5",
            f"R-DR still reaches 92 % of the optimal throughput where {text}",
            limit, "r_dr", "lp1_first", printed=92, gain=False, sense="at least", **where,
            sweep=DISCUSSION, interpretations=(SHARE, STATED),
            setting='against the paper\'s "optimal", LP1 after PRUNE',
        )  # fmt: skip
        yield Claim(
            f"section_3_5_{name}_order", "Section 3.5",
            f"R-DR still admits at least as many jobs as every baseline where {text}",
            SIZES[DISCUSSION.name], DISCUSSION, partial(ahead, **where), interpretations=(SHARE,),
        )  # fmt: skip


_CLAIMS: tuple[Claim, ...] = (
    *_throughput(), *_optimality(), *_bandwidth(), *_services(), *_discussion(),
    *test_bed_claims(),
)  # fmt: skip

CLAIMS = tuple(replace(one, remark=REMARKS.get(one.name, "")) for one in _CLAIMS)
