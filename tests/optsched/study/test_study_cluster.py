"""A study that outgrows one machine goes to a Dask cluster by one word."""

import json
import os

import pytest
from typer.testing import CliRunner
from untimed import untimed

from optsched.cli import app
from optsched.errors import InputError
from optsched.study import StudyGrid, read, run_study
from optsched.study.cluster import Cluster

distributed = pytest.importorskip("distributed", reason="the extra optsched[dask] is not installed")

STUDY = """
[[grid]]
problem = "covering"
generator = { items = [4, 6] }
seeds = 2
heuristics = ["greedy", "shuffled", "crashing"]
exact = [{ formulation = "knapsack", start = ["greedy"] }]
"""


@pytest.fixture(scope="module")
def cluster(plugin_environment):
    """Two workers with a process each."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = plugin_environment["PYTHONPATH"]
    settings = {"distributed.worker.daemon": False}
    import dask

    with (
        dask.config.set(settings),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as one,
    ):
        yield one.scheduler_address
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before


@pytest.fixture
def study(tmp_path):
    """A study file."""
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


def test_a_cluster_gives_the_rows_that_one_machine_gives(cluster, study):
    grids = read(study).grids
    there, here = run_study(grids, executor=Cluster(cluster)), run_study(grids, workers=1)
    assert len(there.rows) == 12
    assert [untimed(row) for row in there.rows] == [untimed(row) for row in here.rows]
    assert there.progress.finished == there.progress.planned == 16


def test_the_command_needs_one_word_and_an_address(cluster, study):
    arguments = ["study", "run", str(study), "--executor", "dask", "--address", cluster, "--json"]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 1  # one heuristic always crashes
    told = json.loads(result.stdout)
    assert told["progress"]["finished"] == 16
    (crashing,) = [step for step in told["methods"] if step["method"] == "crashing"]
    assert crashing["statuses"] == {"error": 4}
    assert "ZeroDivisionError" in crashing["complaint"]


def test_a_cluster_is_as_large_as_its_workers_threads(cluster):
    executor = Cluster(cluster)
    assert executor.size() == 2
    executor.end([])


def test_a_scheduler_that_is_not_there_is_told(monkeypatch):
    def absent(address, **settings):
        raise OSError("connection refused")

    monkeypatch.setattr(distributed, "Client", absent)
    with pytest.raises(InputError, match="connection refused"):
        Cluster("tcp://127.0.0.1:1")


def test_a_cluster_without_its_extra_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install 'optsched\[dask\]'"):
        Cluster("tcp://127.0.0.1:1")


def test_a_grid_may_name_nothing_but_a_problem(cluster):
    grid = StudyGrid("covering", heuristics=["greedy"], seeds=range(4))
    assert len(run_study([grid], executor=Cluster(cluster)).rows) == 4
