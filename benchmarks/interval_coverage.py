"""How often intervals of a mean ratio hold it: the simulation that chose ``ratio_interval``.

Populations are the ratios we have (``make ratios`` writes out/ratios.csv), one for each heuristic
of a problem with at least 10 of them that are not all alike, and lognormal excesses over 1 of
three widths. Samples are drawn with replacement; those whose values are all equal are left out, as
no method claims an interval for them. Wanted: 90 to 97 % of the samples hold the mean.

    python benchmarks/interval_coverage.py [ratios.csv]
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from optsched.evaluation.tables import CONFIDENCE, mean_interval, ratio_interval

Floats = NDArray[np.float64]
SIZES = (5, 10, 30)
SAMPLES = 1000
RESAMPLES = 300
"""Of the bootstrap, which is slow: it gets a tenth of the samples."""
WIDTHS = (0.3, 0.6, 1.0)
"""Standard deviations of the logarithm of a lognormal excess; its median is 0.2."""


def populations(path: Path) -> Iterator[tuple[str, Floats]]:
    """Ratios to draw from, by name."""
    table = pd.read_csv(path, low_memory=False)
    table = table[np.isfinite(table["ratio_high"].astype(float))]
    for (problem, heuristic), rows in table.groupby(["problem", "heuristic"]):
        ratios = rows["ratio_high"].to_numpy(float)
        if len(ratios) >= 10 and len(np.unique(ratios.round(9))) > 3 and ratios.min() >= 1 - 1e-9:
            yield f"{problem}.{heuristic} ({len(ratios)})", ratios
    rng = np.random.default_rng(1)
    for width in WIDTHS:
        yield f"lognormal {width:g}", 1 + 0.2 * np.exp(width * rng.standard_normal(100_000))


def student(sample: Floats) -> tuple[float, float]:
    """Student's interval, cut off at 1."""
    low, high = mean_interval(sample.tolist())
    return max(1.0, low), high


def bca(sample: Floats) -> tuple[float, float]:
    """The bias-corrected and accelerated bootstrap of scipy, cut off at 1."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = stats.bootstrap(
            (sample,), np.mean, n_resamples=RESAMPLES, method="BCa",
            confidence_level=CONFIDENCE, random_state=np.random.default_rng(0),
        ).confidence_interval  # fmt: skip
    return max(1.0, float(found.low)), float(found.high)


METHODS: dict[str, Callable[[Floats], tuple[float, float]]] = {
    "ratio_interval": ratio_interval,
    "Student": student,
    "BCa": bca,
}


def coverage(ratios: Floats, n: int, method: str, samples: int) -> tuple[float, float]:
    """Share of intervals that hold the mean, and their median width over the mean's excess."""
    rng = np.random.default_rng(n)
    mean = float(ratios.mean())
    drawn = [rng.choice(ratios, n) for _ in range(samples)]
    ends = np.array([METHODS[method](one) for one in drawn if np.ptp(one) > 1e-9])
    held = (ends[:, 0] <= mean) & (mean <= ends[:, 1])
    return float(held.mean()), float(np.median(ends[:, 1] - ends[:, 0]) / (mean - 1))


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "out/ratios.csv")
    if not path.is_file():
        print(f"{path} is not there: make ratios writes it")
        return
    known = dict(populations(path))
    print(f"{len(known)} populations: " + ", ".join(known))
    print(f"{'method':15} {'n':>3}  mean   least  most   width over excess")
    for method in METHODS:
        for n in SIZES:
            samples = SAMPLES // 10 if method == "BCa" else SAMPLES
            found = np.array([coverage(ratios, n, method, samples) for ratios in known.values()])
            held, width = found.T
            print(
                f"{method:15} {n:3}  {held.mean():.3f}  {held.min():.3f}  {held.max():.3f}"
                f"  {np.median(width):.2f}"
            )


if __name__ == "__main__":
    main()
