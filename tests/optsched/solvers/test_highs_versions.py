"""What a version of HiGHS must get right before it may be allowed.

1.12 does. 1.13 and 1.14 lose optima in presolve. 1.15.1 and 1.16.0 keep them, but take 2.000001 for
a whole number; 1.15.1 cannot be loaded beside ortools 9.15, 1.16.0 can. To try another version,
install it and run this file alone.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from formulations.preemptive.instance import Instance
from formulations.preemptive.problem_4 import problem_4_aggregated
from optsched import Model, read, solve
from optsched.solvers.highs import backend as highs

DATA = Path(__file__).resolve().parents[2] / "data"


@pytest.fixture(autouse=True)
def whatever_version_is_installed(monkeypatch):
    monkeypatch.setattr(highs, "_refuse_bad_version", lambda: None)


def test_presolve_keeps_the_optimum_of_a_covering_model():
    assert highs._self_check() == pytest.approx(3.5)
    assert solve(read(DATA / "highs_presolve_wrong_optimum.mps")).objective == pytest.approx(3.5)


def test_presolve_keeps_the_optimum_of_a_transport_model():
    instance = Instance.build(
        release_time=[1, 2, 3], num_chunks=[3, 2, 1], chunk_time_slow=[3, 3, 5],
        chunk_time_fast=[1, 1, 2], upload_delay_edge=[[3, 3]] * 3, upload_delay_cloud=float("inf"),
        worker_server=[0, 0, 1],
    )  # fmt: skip
    model = problem_4_aggregated(instance, rates="fast", hub=False)
    assert solve(model).objective == pytest.approx(9.5)


@pytest.mark.parametrize("seed", range(8))
def test_no_restart_loses_the_optimum(seed):
    model = read(DATA / "highs_restart_wrong_optimum.mps")
    assert solve(model, seed=seed).objective == pytest.approx(3.0)


def test_a_whole_number_is_not_off_by_the_tolerance():
    """1.12 ends with an error at its own tolerance, and is asked again at a finer one."""
    m = Model()
    x = m.integer("x", upper=9)
    m.minimize(m.absolute(x - 2.5))
    assert solve(m).objective == 0.5


@pytest.mark.parametrize("order", [1, -1])
def test_highs_and_ortools_load_in_one_process_in_either_order(order):
    imports = ["import highspy", "import ortools.math_opt.core.python.solver"][::order]
    subprocess.run([sys.executable, "-c", "; ".join(imports)], check=True, timeout=120)
