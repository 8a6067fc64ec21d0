"""The folder of real traces: who names it, and what is said if it is not there."""

import pytest

from heuristics.common.data import data_folder, point_to
from optsched.errors import InputError
from optsched.evaluation.runs import UnmeasuredError


def test_traces_are_looked_for_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.delenv("OPTSCHED_DATA", raising=False)
    with pytest.raises(UnmeasuredError, match="OPTSCHED_DATA"):
        data_folder("philly")
    monkeypatch.setenv("OPTSCHED_DATA", str(tmp_path))
    with pytest.raises(InputError, match="philly"):
        data_folder("philly")
    (tmp_path / "philly").mkdir()
    assert data_folder("philly") == tmp_path / "philly"


def test_a_folder_that_is_named_counts_from_then_on_and_none_changes_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("OPTSCHED_DATA", "elsewhere")
    (tmp_path / "philly").mkdir()
    point_to(tmp_path)
    point_to(None)
    assert data_folder("philly") == tmp_path / "philly"
    with pytest.raises(InputError, match=r"--data.*a folder"):
        point_to(tmp_path / "missing")
