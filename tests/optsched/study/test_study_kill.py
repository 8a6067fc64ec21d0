"""A study that is killed at any moment loses nothing and computes nothing twice."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest

from optsched.errors import InputError
from optsched.study import Ratios, Store, StudyGrid, run_study
from optsched.study.spec import read

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills groups of forked processes")

STUDY = """
[[grid]]
problem = "covering"
generator = { items = [4, 5, 6] }
seeds = 14
heuristics = ["greedy", "shuffled", "crashing"]
bounds = ["fractional"]
exact = [{ formulation = "knapsack", start = ["greedy"] }]
"""

FORKING = """
import os, sys, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
import covering, highspy
from optsched.study import engine, read, run_study
from optsched.study.plan import plan

def slow(task, work=engine.work):
    time.sleep(0.04)  # so that twenty kills find it running
    return work(task)

def pool():
    return ProcessPoolExecutor(2, mp_context=get_context("fork"))

plan(read(sys.argv[1]).grids)
for _ in sys.stdin:  # a process that has imported and digested everything starts studies in no time
    child = os.fork()
    if not child:
        os.setsid()
        engine.work = slow
        print(os.getpid(), flush=True)
        run_study(read(sys.argv[1]).grids, sys.argv[2], executor=pool, workers=2)
        os._exit(0)
    os.waitpid(child, 0)
    print("ended", flush=True)
"""


@pytest.fixture
def study(tmp_path):
    """A study file and where its store goes."""
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path / "study.toml", tmp_path / "study.sqlite"


@pytest.fixture
def start(study, plugin_environment):
    """Start the study in a process group of its own; its number."""
    forking = subprocess.Popen(
        [sys.executable, "-c", FORKING, *map(str, study)],
        env=plugin_environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def begin():
        forking.stdin.write("go\n")
        forking.stdin.flush()
        return int(forking.stdout.readline())

    begin.ended = lambda: forking.stdout.readline() == "ended\n"
    yield begin
    forking.stdin.close()
    forking.wait(timeout=30)


def kept(path):
    """Everything in a store about its runs, the clock's times included, by run."""
    try:
        Store.reading(path).close()
    except InputError:
        return {}  # killed before there was a store
    with closing(sqlite3.connect(path)) as sql:
        told = sql.execute("SELECT * FROM runs")
        names = [column[0] for column in told.description]
        return {line[:3]: dict(zip(names, line, strict=True)) for line in told}


def timeless(runs):
    """The runs without what the clock says."""
    clock = ("seconds", "took", "finished")
    return {
        key: {name: value for name, value in run.items() if name not in clock}
        | {"trajectory": [told[1:] for told in json.loads(run["trajectory"] or "[]")]}
        for key, run in runs.items()
    }


def test_twenty_kills_lose_nothing_and_compute_nothing_twice(study, start, tmp_path):
    file, path = study
    run_study(read(file).grids, tmp_path / "whole.sqlite", workers=1)
    whole = timeless(kept(tmp_path / "whole.sqlite"))
    assert len(whole) == 3 * 14 * 5

    rng = random.Random(5)
    before, grown = {}, 0
    for _ in range(20):
        group = start()
        wanted = len(before) + rng.randint(0, 6)
        while len(kept(path)) < wanted:  # not a time: on a busy machine nothing may be done by then
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.04))
        os.killpg(group, signal.SIGKILL)
        assert start.ended()
        after = kept(path)
        assert {key: after[key] for key in before} == before  # with the times they had
        grown += len(after) > len(before)
        before = after
    assert 0 < len(before) < len(whole)
    assert grown >= 5

    start()
    assert start.ended()
    final = kept(path)
    assert {key: final[key] for key in before} == before
    assert timeless(final) == whole
    with Store.reading(path) as ended, Store.reading(tmp_path / "whole.sqlite") as other:
        told = Ratios.of(ended)
        assert told.progress.finished == told.progress.planned
        assert [row.ratio_high for row in told.rows] == [
            row.ratio_high for row in Ratios.of(other).rows
        ]


def test_the_command_goes_on_where_it_was_interrupted_or_killed(study, plugin_environment):
    file, path = study
    file.write_text(STUDY.replace("seeds = 14", "seeds = 4"))

    def command():
        return subprocess.Popen(
            [sys.executable, "-c", "from optsched.cli import main; main()", "study", "run", file],
            env=plugin_environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    before = {}
    for number, status in ((signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)):
        process = command()
        while len(kept(path)) < len(before) + 5:
            assert process.poll() is None
            time.sleep(0.005)
        os.killpg(process.pid, number)
        _, err = process.communicate(timeout=60)
        assert process.returncode == status, err
        assert "Traceback" not in err
        assert ("goes on from here" in err) == (number == signal.SIGINT)
        after = kept(path)
        assert {key: after[key] for key in before} == before
        before = after
    assert 10 <= len(before) < 60
    process = command()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1, err  # one heuristic always crashes
    assert "ZeroDivisionError" in out
    assert "60 of 60 runs" in err
    final = kept(path)
    assert len(final) == 60
    assert {key: final[key] for key in before} == before


def test_the_lock_of_a_killed_study_is_gone_with_it(study, start):
    _, path = study
    group = start()
    while not kept(path):
        time.sleep(0.002)
    with pytest.raises(InputError, match="no other study is writing"):
        Store.open(path)
    os.killpg(group, signal.SIGKILL)
    assert start.ended()
    Store.open(path).close()


def test_a_kill_in_the_middle_of_making_the_store_leaves_one_that_can_be_made(tmp_path):
    path = tmp_path / "study.sqlite"
    sqlite3.connect(path).close()
    grid = StudyGrid("covering", {"items": [4]}, heuristics=["greedy"])
    assert len(run_study([grid], path, workers=1).rows) == 1
