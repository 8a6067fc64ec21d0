"""The registry of benchmarks: what it measures, what it keeps, and what it calls worse."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOM = ROOT / "benchmarks"


@pytest.fixture
def registry(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("registry", ROOM / "conftest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "KEPT", tmp_path / "kept.json")
    return module


@pytest.mark.parametrize(
    ("ratio", "worse"),
    [
        ((1.6, 1.55, 1.65), True),
        ((1.04, 1.03, 1.05), False),  # above the noise, and not by a fifth
        ((1.6, 0.9, 1.9), False),  # by more than a fifth, and within the noise
        ((0.5, 0.4, 0.6), False),
    ],
)
def test_a_ratio_is_worse_if_it_is_a_fifth_above_the_kept_one_and_beyond_the_noise(
    registry, ratio, worse
):
    assert registry.is_worse(ratio, [1.0, 0.98, 1.02]) is worse


def test_a_run_is_shown_beside_the_ratios_that_an_earlier_run_kept(registry):
    earlier = registry.Run()
    earlier.ratios = {"build": {"raw": (1.5, 1.4, 1.6), "pulp": (0.1, 0.1, 0.1)}}
    earlier.keep()
    run = registry.Run()
    run.ratios = {"build": {"raw": (2.0, 1.9, 2.1)}, "solve": {"raw": (3.0, 3.0, 3.0)}}
    run.ours = {"build": "2.0 ms", "solve": "1.0 ms"}
    run.left_out = {"pulp"}
    build, solve, left_out = run.lines()
    assert build.endswith("2.0 ms = 2 raw (kept 1.5) WORSE")
    assert solve.endswith("1.0 ms = 3 raw")
    assert left_out.endswith("pulp")
    run.keep()
    assert json.loads(registry.KEPT.read_text()) == {
        "build": {"raw": [2.0, 1.9, 2.1], "pulp": [0.1, 0.1, 0.1]},
        "solve": {"raw": [3.0, 3.0, 3.0]},
    }


def test_every_benchmark_of_the_quick_run_has_kept_ratios():
    pytest.importorskip("pytest_benchmark", reason="comes with the extra benchmarks only")
    command = [sys.executable, "-m", "pytest", str(ROOM), "-m", "not long", "--collect-only"]
    # pytest-benchmark measures nothing in what it takes for one of several test processes
    alone = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_XDIST")}
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=alone)
    names = {line.partition("::bench_")[2] for line in done.stdout.splitlines() if "::" in line}
    assert names
    assert names <= json.loads((ROOM / "kept.json").read_text()).keys()
