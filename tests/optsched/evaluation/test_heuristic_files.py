"""A heuristic in a file of one's own runs like one of the problem's."""

from concurrent.futures import ProcessPoolExecutor

import cloudpickle
import pytest

import optsched as osd
from optsched.errors import InputError
from optsched.evaluation.heuristic_files import heuristic_from_file
from optsched.evaluation.heuristic_run import with_heuristics
from optsched.problem import problem

FILE = """
import numpy as np

import arithmetic
from formulations.aerialedge import Schedule
from optsched.problem import Heuristic


def worst_fit(instance, rng, shrunk: int = 1):
    \"\"\"Each task on the node with the most free core.\"\"\"
    free = instance.capacity.astype(float).copy()
    node = np.full(len(instance.demand), -1)
    for task in range(len(node)):
        fits = (free >= instance.demand[task] - 1e-9).all(axis=1)
        if fits.any():
            node[task] = arithmetic.largest(np.where(fits, free[:, 0], -np.inf))
            free[node[task]] -= instance.demand[task]
    return Schedule.build(node=node)


def _rules(shrunk=1):
    if shrunk > 5:
        raise ValueError(shrunk)


CARD = Heuristic("card", worst_fit, "", "", online=lambda shrunk=1: shrunk > 1, rules=_rules)
SIZE = 3


def of_one_argument(instance):
    return None
"""

POLICY = """
class Cloudward:
    \"\"\"Sends every job to the cloud.\"\"\"

    def __init__(self, patience: int = 0):
        self.patience = patience

    def arrive(self, job, state):
        return None
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A file of one's own, another that it imports, and the folder of both as the current one."""
    (tmp_path / "mine.py").write_text(FILE)
    (tmp_path / "arithmetic.py").write_text("from numpy import argmax as largest\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "mine.py"


@pytest.fixture(scope="module")
def packing():
    return problem("aerialedge")


@pytest.fixture(scope="module")
def instances(packing):
    from optsched.evaluation.runs import instance_rng

    return {f"day{seed}": packing.generate(instance_rng(seed), tasks=8) for seed in range(2)}


def test_a_function_of_a_file_is_measured_under_its_own_name(mine, packing, instances):
    calls = ["mine.py:worst_fit", f"{mine}:worst_fit(shrunk=2)", "first_fit"]
    rows = osd.ratios(packing, calls, instances=instances["day0"]).rows
    assert [row.heuristic for row in rows] == ["worst_fit", "worst_fit(shrunk=2)", "first_fit"]
    assert {row.status for row in rows} == {"optimal"}


def test_its_first_line_is_what_tables_say_of_it(mine, packing):
    found, call = heuristic_from_file(packing, "mine.py:worst_fit(shrunk=2)")
    assert found.summary == "Each task on the node with the most free core."
    assert call == "worst_fit(shrunk=2)"


def test_rows_are_the_same_in_worker_processes(mine, packing, instances):
    asked = {"instances": instances, "seeds": 1}
    alone = osd.ratios(packing, ["mine.py:worst_fit"], **asked)
    several = osd.ratios(packing, ["mine.py:worst_fit"], grid=None, workers=2, **asked)
    assert _said(alone) == _said(several)
    assert [row.instance for row in several.rows] == ["day0", "day1"]


def _said(found):
    return [(row.instance, row.cost, row.ratio_low, row.status) for row in found.rows]


def test_another_process_runs_the_text_that_was_loaded_here(mine, packing, instances):
    found, _ = heuristic_from_file(packing, "mine.py:worst_fit")
    sent = cloudpickle.dumps(found.run)
    mine.write_text("raise RuntimeError('changed since')\n")
    with ProcessPoolExecutor(1) as pool:
        schedule = pool.submit(_run, sent, cloudpickle.dumps(instances["day0"])).result()
    assert schedule == found.run(instances["day0"], None).node.tolist()


def _run(run, instance):
    return cloudpickle.loads(run)(cloudpickle.loads(instance), None).node.tolist()


def test_a_heuristic_object_keeps_its_name_and_rules(mine, packing):
    found, call = heuristic_from_file(packing, "mine.py:CARD")
    assert (found.name, call) == ("card", "card")
    assert not found.is_online({})
    assert found.is_online({"shrunk": 2})
    with pytest.raises(ValueError, match="6"):
        found.rules(shrunk=6)


def test_a_class_of_policies_is_online_and_has_its_parameters_as_options(tmp_path):
    (tmp_path / "policy.py").write_text(POLICY)
    chosen, (call,) = with_heuristics(
        problem("preemptive"), [f"{tmp_path}/policy.py:Cloudward(patience=2)"]
    )
    found, options = chosen.heuristic(call)
    assert found.is_online(options)
    assert options == {"patience": 2}
    with pytest.raises(InputError, match="there are patience"):
        chosen.heuristic("Cloudward(delay=2)")


def test_nothing_is_written_beside_the_file_and_the_path_stays_as_it_was(mine, packing):
    import sys

    before = list(sys.path)
    heuristic_from_file(packing, "mine.py:worst_fit")
    assert sorted(path.name for path in mine.parent.iterdir()) == ["arithmetic.py", "mine.py"]
    assert sys.path == before


def test_other_text_in_the_file_is_another_heuristic(mine, packing):
    first, _ = heuristic_from_file(packing, "mine.py:worst_fit")
    mine.write_text(FILE.replace("shrunk: int = 1", "shrunk: int = 2"))
    second, _ = heuristic_from_file(packing, "mine.py:worst_fit")
    assert first.run != second.run


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mine.py:worst_fitt", ["mine.py holds worst_fit", "did you mean worst_fit?"]),
        ("mine.py", ["FILE.py:NAME", "mine.py holds worst_fit, CARD"]),
        ("mine.py:worst_fit(", ["FILE.py:NAME(option=value)"]),
        ("mine.py:SIZE", ["SIZE of mine.py is of type int", "a class of policies"]),
        ("mine.py:Heuristic", ["a class", "(instance, rng, **options) -> schedule"]),
        ("mine.py:of_one_argument", ["type function", "(instance, rng, **options)"]),
        ("min.py:worst_fit", ["min.py cannot be read", "did you mean mine.py?"]),
        ("bad.py:worst_fit", ["bad.py cannot be loaded, line 2", "SyntaxError"]),
        ("raising.py:f", ["raising.py cannot be loaded, line 1", "No module named 'absent_one'"]),
        ("ending.py:f", ["ending.py cannot be loaded, line 3", "SystemExit"]),
    ],
)
def test_what_cannot_be_loaded_is_refused_with_what_there_is(mine, packing, text, said):
    (mine.parent / "bad.py").write_text("\ndef worst fit():\n")
    (mine.parent / "raising.py").write_text("import absent_one\n")
    (mine.parent / "ending.py").write_text("import sys\n\nsys.exit(2)\n")
    with pytest.raises(InputError) as refused:
        with_heuristics(packing, [text])
    assert all(part in str(refused.value) for part in [text, *said]), refused.value


def test_a_name_that_the_problem_has_is_refused(tmp_path, packing):
    (tmp_path / "own.py").write_text("def first_fit(instance, rng):\n    return None\n")
    with pytest.raises(InputError, match="a name that no other heuristic has"):
        with_heuristics(packing, [f"{tmp_path}/own.py:first_fit"])
