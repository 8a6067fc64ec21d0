"""Instances come from JSON files, tables, patterns and folders, under their files' names."""

import numpy as np
import pytest

from optsched.errors import InputError
from optsched.evaluation.instance_files import instances_from
from optsched.instances.document import dumps, save
from optsched.instances.mapping import TableMapping
from optsched.problem import problem

JOBS = """submitted;chunks;hours;upload_delay_edge;upload_delay_cloud
0;2;1.5;0;1
90;1;0.5;0;1
"""
MAPPING = """[columns]
release_time = "submitted/60"
num_chunks = "chunks"
chunk_time_slow = "hours"
chunk_time_fast = "hours/2"

[fields]
edge_servers = 1
workers = "workers.csv"
"""


@pytest.fixture(scope="module")
def preemptive():
    return problem("preemptive")


@pytest.fixture
def folder(tmp_path, preemptive):
    """Two instances, two tables with what they lack, and files that are no instances."""
    for name, seed in (("b", 1), ("a", 0)):
        made = preemptive.generate(np.random.default_rng(seed), jobs=2, servers=2)
        save(made, tmp_path / f"{name}.json")
    for name in ("today.csv", "tomorrow.csv"):
        (tmp_path / name).write_text(JOBS)
    (tmp_path / "workers.csv").write_text("server,count\n0,3\n")
    (tmp_path / "mapping.toml").write_text(MAPPING)
    (tmp_path / "plan.json").write_text('{"format": "optsched/preemptive/schedule"}')
    (tmp_path / "notes.txt").write_text("nothing")
    (tmp_path / "damaged.json").write_text("{")
    return tmp_path


def test_a_file_is_an_instance_under_its_name_without_the_ending(folder, preemptive):
    (name, found), *others = instances_from(preemptive, folder / "a.json").items()
    assert name == "a"
    assert dumps(found) + "\n" == (folder / "a.json").read_text()
    assert not others


def test_a_table_is_an_instance_by_its_mapping(folder, preemptive):
    found = instances_from(preemptive, folder / "today.csv", folder / "mapping.toml")["today"]
    assert found.release_time.tolist() == [0, 1.5]
    assert found.chunk_time_fast.tolist() == [0.75, 0.25]
    assert found.workers == 3


def test_a_folder_gives_its_instances_and_tables_in_order(folder, preemptive):
    found = instances_from(preemptive, folder, folder / "mapping.toml")
    assert list(found) == ["a", "b", "today", "tomorrow"]


def test_a_pattern_gives_what_matches_and_not_the_tables_of_the_mapping(folder, preemptive):
    found = instances_from(preemptive, f"{folder}/*o*.csv", folder / "mapping.toml")
    assert list(found) == ["today", "tomorrow"]


def test_several_are_taken_in_their_order_and_one_file_counts_once(folder, preemptive):
    paths = [folder / "b.json", folder / "a.json", f"{folder}/?.json"]
    assert list(instances_from(preemptive, paths)) == ["b", "a"]


def test_two_files_of_one_name_are_refused(folder, preemptive):
    (folder / "more").mkdir()
    (folder / "more" / "a.json").write_text((folder / "a.json").read_text())
    with pytest.raises(InputError, match="whose name differs from that of"):
        instances_from(preemptive, [folder / "a.json", folder / "more" / "a.json"])


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("absent.json", ["absent.json", "cannot be read"]),
        ("*.xml", ["*.xml", "a pattern that some file matches"]),
        ("plan.json", ["plan.json", "must be 'optsched/preemptive/instance'"]),
        ("empty", ["empty", "a folder with an instance file of preemptive"]),
        ("other.csv", ["other.csv", "release_time"]),
    ],
)
def test_what_is_no_instance_is_refused_with_its_name(folder, preemptive, path, said):
    (folder / "empty").mkdir()
    (folder / "other.csv").write_text("name\nx\n")
    with pytest.raises(InputError) as refused:
        instances_from(preemptive, folder / path)
    assert all(part in str(refused.value) for part in said), refused.value


def test_no_file_at_all_is_refused(preemptive):
    with pytest.raises(InputError, match="one file or more"):
        instances_from(preemptive, [])


def test_a_mapping_that_is_saved_and_read_again_is_the_same(folder, monkeypatch):
    monkeypatch.chdir(folder)
    told = TableMapping(
        columns={"upload_delay_edge[0]": 'a "quoted" column', "release_time": "t in ms"},
        entries="jobs",
        unit="min",
        fields={"workers": "workers.csv", "edge_servers": "2", "slot_hours": "0.5", "x": "007"},
    )
    told.save("sub/mapping.toml")
    read = TableMapping.read("sub/mapping.toml")
    assert read.model_copy(update={"fields": {}}) == told.model_copy(update={"fields": {}})
    assert read.fields["edge_servers"] == 2
    assert (read.fields["slot_hours"], read.fields["x"]) == (0.5, "007")
    assert read.tables() == ["sub/../workers.csv"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[columns", ["mapping.toml", "cannot be read"]),
        ("colums = 3", ["mapping.toml, colums", "3"]),
        ("[columns]\nrelease_time = 3", ["mapping.toml, columns.release_time", "3"]),
    ],
)
def test_a_mapping_that_says_something_else_is_refused(folder, preemptive, text, said):
    (folder / "mapping.toml").write_text(text)
    with pytest.raises(InputError) as refused:
        instances_from(preemptive, folder / "today.csv", folder / "mapping.toml")
    assert all(part in str(refused.value) for part in said), refused.value
