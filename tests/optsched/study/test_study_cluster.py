"""A study that outgrows one machine goes to a Dask cluster by one word."""

import json
import os
import signal
import time

import pytest
from typer.testing import CliRunner
from untimed import untimed

from optsched.cli import app
from optsched.errors import InputError
from optsched.evaluation.heuristic_run import heuristic_limits
from optsched.parallel.cluster import DaskCluster
from optsched.parallel.local import ExecutorLostError
from optsched.study import StudyGrid, read, run_study

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
    there, here = run_study(grids, executor=DaskCluster(cluster)), run_study(grids, workers=1)
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


def test_workers_are_the_clusters_own(cluster, study):
    arguments = ["--executor", "dask", "--address", cluster, "--workers", "3"]
    result = CliRunner().invoke(app, ["study", "run", str(study), *arguments])
    assert result.exit_code == 2
    assert "the cluster says how many" in result.stderr


def test_a_cluster_is_as_large_as_its_workers_threads(cluster):
    executor = DaskCluster(cluster)
    assert executor.size() == 2
    executor.end([])


def test_a_scheduler_that_is_not_there_is_told(monkeypatch):
    def absent(address, **settings):
        raise OSError("connection refused")

    monkeypatch.setattr(distributed, "Client", absent)
    with pytest.raises(InputError, match="connection refused"):
        DaskCluster("tcp://127.0.0.1:1")


def test_a_grid_may_name_nothing_but_a_problem(cluster):
    grid = StudyGrid("covering", heuristics=["greedy"], seeds=range(4))
    assert len(run_study([grid], executor=DaskCluster(cluster)).rows) == 4


def test_a_study_survives_a_worker_and_a_heuristic_that_hangs(plugin_environment, monkeypatch):
    def hang(instance, rng):
        time.sleep(10_000)

    monkeypatch.setenv("PYTHONPATH", plugin_environment["PYTHONPATH"])
    grid = StudyGrid(
        "covering",
        heuristics=["greedy", hang],
        heuristic_limits=heuristic_limits(time_limit=2),
        seeds=range(2),
    )
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as own:
        kill = [nanny.process.pid for nanny in own.workers.values()][:1]

        def progress(told):
            if told.computed and kill:
                os.kill(kill.pop(), signal.SIGKILL)

        there = run_study([grid], executor=DaskCluster(own.scheduler_address), progress=progress)
    assert not kill
    assert {(row.heuristic, row.seed): row.status for row in there.rows} == {
        ("greedy", 0): "optimal", ("greedy", 1): "optimal",
        ("hang", 0): "timeout", ("hang", 1): "timeout",
    }  # fmt: skip


def test_a_cluster_without_workers_is_refused_at_the_door():
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=None) as empty,
        pytest.raises(InputError, match="this one has none"),
    ):
        DaskCluster(empty.scheduler_address)


def test_workers_without_optsched_are_refused_at_the_door(cluster, monkeypatch):
    monkeypatch.setattr("optsched.parallel.cluster._HAS_US", "False")
    with pytest.raises(InputError, match="workers with optsched installed"):
        DaskCluster(cluster)


def test_a_cluster_that_loses_its_workers_stops_the_study(cluster, monkeypatch):
    executor = DaskCluster(cluster)
    monkeypatch.setattr("optsched.parallel.cluster.PATIENCE", 0.0)
    executor.check()
    monkeypatch.setattr(executor._client, "nthreads", dict)
    with pytest.raises(ExecutorLostError, match="no workers left"):
        executor.check()
    executor.end([])


# certificates


@pytest.fixture
def certificates(tmp_path):
    """Dask's settings of a certificate that an authority of its own signed."""
    trustme = pytest.importorskip("trustme", reason="trustme is not installed")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(
        str(tmp_path / "own.pem")
    )
    ends = ("scheduler", "worker", "client")
    own = {f"distributed.comm.tls.{end}.cert": str(tmp_path / "own.pem") for end in ends}
    return {"distributed.comm.tls.ca-file": str(tmp_path / "ca.pem"), **own}


def test_certificates_are_those_of_dasks_own_settings(certificates):
    """Workers run what they are sent: only who holds a certificate may send."""
    import dask

    with dask.config.set(certificates):
        secure = distributed.Security()
    with distributed.LocalCluster(
        1, threads_per_worker=1, processes=False, protocol="tls://", security=secure,
        dashboard_address=None,
    ) as cluster:  # fmt: skip
        address = cluster.scheduler_address
        assert address.startswith("tls://")
        with pytest.raises(InputError, match="needs certificates"):
            DaskCluster(address)
        with dask.config.set(certificates):
            grid = StudyGrid("batch", {"jobs": [3]}, heuristics=["fifo"], exact=[])
            results = run_study([grid], executor=DaskCluster(address))
    assert [dict(step.statuses) for step in results.steps()] == [{"done": 1}]
