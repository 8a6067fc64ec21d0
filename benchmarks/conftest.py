"""What every ``bench_*.py`` uses: our way and others in turn, as ratios beside those kept.

A benchmark is a function that says what is ours and what stands beside it::

    def bench_sum(beside):
        beside(lambda: ours(data), raw=lambda: by_hand(data), pulp=lambda: by_pulp(data))

Each round runs every way once, so that a busy machine slows all of them. Measured are CPU seconds,
child processes included. A ratio is the median over the rounds of our seconds over theirs, with its
quartiles. ``kept.json`` holds the ratios of an earlier run. A ratio is worse if it is above the
kept one by a fifth and the quartiles of the two do not overlap. ``--keep`` writes the ratios of a
run there.
"""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest

KEPT = Path(__file__).with_name("kept.json")
OPTIONAL = {"cpmpy", "cvxpy", "linopy", "pyomo"}
"""Ways that need the package of their name, which the extra ``benchmarks`` brings."""
WORSE = 1.2
"""Times the kept ratio above which a ratio can be worse."""

Way = Callable[[], Any]
Ratio = tuple[float, float, float]
"""Median, lower quartile, upper quartile."""


def cpu() -> float:
    """CPU seconds of this process and of its child processes that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def is_worse(ratio: Ratio, kept: list[float]) -> bool:
    """Whether a ratio is above a kept one by more than the noise of both."""
    return ratio[0] > WORSE * kept[0] and ratio[1] > kept[2]


class Run:
    """The ratios of a run, and the ways that it left out."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, list[float]]] = {}
        if KEPT.exists():
            self.kept = json.loads(KEPT.read_text(encoding="utf-8"))
        self.ratios: dict[str, dict[str, Ratio]] = {}
        self.ours: dict[str, str] = {}
        self.left_out: set[str] = set()

    def lines(self) -> Iterator[str]:
        """What was found, a line per benchmark."""
        for name, ratios in self.ratios.items():
            said = ", ".join(self._said(name, *one) for one in ratios.items())
            yield f"{name:<42} {self.ours[name]:>10} = {said}"
        if self.left_out:
            yield f"left out, as not installed: {', '.join(sorted(self.left_out))}"

    def _said(self, name: str, way: str, ratio: Ratio) -> str:
        kept = self.kept.get(name, {}).get(way)
        if kept is None:
            return f"{ratio[0]:g} {way}"
        return f"{ratio[0]:g} {way} (kept {kept[0]:g})" + " WORSE" * is_worse(ratio, kept)

    def keep(self) -> None:
        """Write the ratios of this run in place of those kept of the same benchmarks."""
        for name, ratios in self.ratios.items():
            self.kept[name] = self.kept.get(name, {}) | {w: list(r) for w, r in ratios.items()}
        lines = [f"{json.dumps(name)}: {json.dumps(self.kept[name])}" for name in sorted(self.kept)]
        KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


RUN = pytest.StashKey[Run]()


@pytest.fixture
def beside(benchmark: Any, request: pytest.FixtureRequest) -> Callable[..., None]:
    """Run our way and others in turn, and note the ratios."""
    run, name = request.config.stash[RUN], request.node.name.removeprefix("bench_")

    def compare(ours: Way, *, rounds: int = 7, unit: str = "", **others: Way) -> None:
        """Measure.

        Args:
            ours: what is measured; a number or an array that it returns must be what others return.
            rounds: how often each way runs, after one run that does not count.
            unit: of what each way returns, if that is its cost; CPU seconds count otherwise.
            others: the same by other means.
        """
        absent = {way for way in OPTIONAL.intersection(others) if find_spec(way) is None}
        run.left_out |= absent
        ways = {way: work for way, work in others.items() if way not in absent}
        costs: dict[str, list[float]] = {way: [] for way in ("ours", *ways)}

        def once(way: str, work: Way) -> Any:
            began = cpu()
            result = work()
            costs[way].append(result if unit else cpu() - began)
            return result

        if not unit:
            expected = ours()
            for way, work in ways.items():
                result = work()
                if isinstance(expected, float | np.ndarray):
                    np.testing.assert_allclose(result, expected, 1e-6, 1e-6, err_msg=way)

        def run_others() -> None:
            for way, work in ways.items():
                once(way, work)

        benchmark.pedantic(once, ("ours", ours), setup=run_others, rounds=rounds)
        middle = {way: median(cost) for way, cost in costs.items()}
        benchmark.extra_info |= middle
        run.ours[name] = (
            f"{middle['ours']:.0f} {unit}" if unit else f"{1e3 * middle['ours']:.1f} ms"
        )
        for way in ways:
            each = np.divide(costs["ours"], costs[way])
            low, half, high = (float(f"{q:.3g}") for q in np.quantile(each, (0.25, 0.5, 0.75)))
            run.ratios.setdefault(name, {})[way] = half, low, high

    return compare


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--keep", action="store_true", help="keep the ratios of this run")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[RUN] = Run()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.benchmark(timer=cpu))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    run = config.stash[RUN]
    terminalreporter.section("our cost over that of others")
    for line in run.lines():
        terminalreporter.write_line(line, yellow="WORSE" in line)
    if config.getoption("keep"):
        run.keep()
