"""An instance is the flat tables that it is written as."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from optsched.cli import app
from optsched.errors import InputError
from optsched.instances.document import dumps, load, parse, save
from optsched.instances.exporting import save_tables
from optsched.instances.importing import read_table
from optsched.instances.mapping import TableMapping
from optsched.problem import problem

INF = float("inf")
PROBLEMS = [
    "aerialedge", "batch", "batch_completion", "drp", "dsrp", "okita", "preemptive",
    "preemptive_storage",
]  # fmt: skip
APART = [
    "007",
    "1.0",
    "1e5",
    "08:15",
    "2024-01-31",
    "true",
    "inf",
    "NaN",
    " a",
    "[1, 2",
    '"',
    "ä,;",
]


def again(name, instance, folder) -> list[str]:
    """The same instance, by its data frames and by its files."""
    found = problem(name)
    tables = found.tables_of(instance)
    files = save_tables(tables, folder)
    mapping = TableMapping.read(files[-1])
    by_file = mapping.instance(found, read_table(folder / f"{mapping.entries}.csv"))
    return [dumps(by_file), dumps(found.instance_from(tables.pop("jobs"), **tables))]


@pytest.mark.parametrize("name", PROBLEMS)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_every_generated_instance_comes_back_from_its_tables(name, seed, tmp_path_factory):
    instance = problem(name).generate(np.random.default_rng(seed))
    assert set(again(name, instance, tmp_path_factory.mktemp("tables"))) == {dumps(instance)}


def drones(names, alternatives=((),)) -> dict[str, object]:
    tasks = [{"demand": [0.1] * len(names), "alternatives": list(a)} for a in alternatives]
    return {
        "format": "optsched/aerialedge/instance", "version": 1, "resources": names,
        "deployments": [{"name": one, "nodes": [{"capacity": [1] * len(names)}]} for one in names],
        "jobs": [{"job_type": one, "tasks": tasks} for one in names],
    }  # fmt: skip


def test_texts_that_look_like_anything_else_come_back_as_they_are(tmp_path):
    instance = parse(problem("aerialedge").instance_type, drones(APART))
    assert instance.resources == tuple(APART)
    assert set(again("aerialedge", instance, tmp_path)) == {dumps(instance)}


@pytest.mark.parametrize("name", APART)
def test_a_column_of_one_such_text_does_too(name, tmp_path):
    instance = parse(problem("aerialedge").instance_type, drones([name]))
    assert set(again("aerialedge", instance, tmp_path)) == {dumps(instance)}


def test_speeds_of_which_some_are_pairs_come_back(tmp_path):
    latency = {"kind": "linear", "weight": 1}
    job = {"release_slot": 1, "num_chunks": [2], "worker_demand": [1], "ps_demand": [1]}
    job |= {"chunk_size_mb": 1, "exchange_size_mb": 0, "latency": latency}
    document = {"format": problem("okita").instance_type.format, "version": 1, "horizon": 4}
    document |= {"capacity": [[9]], "unit_bandwidth_cost": [[0]]}
    document["jobs"] = [{**job, "worker_rate": rate} for rate in (3, [1, 2], 4)]
    instance = parse(problem("okita").instance_type, document)
    assert set(again("okita", instance, tmp_path)) == {dumps(instance)}


@pytest.mark.parametrize("delay", [[INF, INF], [0.1 + 0.2, INF], [1 / 3, 1e-7]])
def test_no_digit_is_lost_and_what_is_unlimited_stays_so(delay, tmp_path):
    found = problem("preemptive")
    instance = found.instance_type.build(
        release_time=[0, 1e12 / 7], num_chunks=1, chunk_time_slow=[1e-9 / 3, 2],
        chunk_time_fast=1e-9 / 3, upload_delay_edge=np.array([[np.pi], [0]]),
        upload_delay_cloud=delay, worker_server=[0, 0], slot_hours=0.1, horizon=None,
        explicit_worker_eligible=[[True, False]] * 2,
    )  # fmt: skip
    assert set(again("preemptive", instance, tmp_path)) == {dumps(instance)}
    assert read_table(tmp_path / "jobs.csv")["release_time"].iloc[1] == 1e12 / 7


def test_the_commands_export_and_import_mirror_each_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = problem("okita")
    save(found.generate(np.random.default_rng(1), jobs=3, sites=2), "inst.json")
    said = CliRunner().invoke(app, ["import", "okita", "inst.json", "--tables", "tables", "--json"])
    assert said.exit_code == 0, said.output
    assert {Path(file).name for file in json.loads(said.output)["files"]} == {
        "jobs.csv", "mapping.toml", "sites.csv",
    }  # fmt: skip
    back = CliRunner().invoke(app, ["import", "okita", "tables", "-o", "again.json"])
    assert back.exit_code == 0, back.output
    assert Path("again.json").read_text() == Path("inst.json").read_text()
    assert load(found.instance_type, "again.json").jobs == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["inst.json", "--tables", "inst.json"], "folder that can be written"),
        (["tables", "--tables", "tables"], "CSV"),
        (["inst.json"], "a file to write, or --tables FOLDER"),
    ],
)
def test_tables_replace_neither_their_source_nor_a_file(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(problem("okita").generate(np.random.default_rng(1), jobs=3, sites=2), "inst.json")
    CliRunner().invoke(app, ["import", "okita", "inst.json", "--tables", "tables"])
    refused = CliRunner().invoke(app, ["import", "okita", *words])
    assert refused.exit_code == 2
    assert said in " ".join(refused.output.split())


def test_a_folder_without_a_mapping_is_refused_by_name(tmp_path):
    words = ["import", "okita", str(tmp_path), "-o", str(tmp_path / "a.json")]
    refused = CliRunner().invoke(app, words)
    assert refused.exit_code == 2
    assert "mapping.toml" in refused.output


def test_instances_without_declared_fields_have_no_tables():
    with pytest.raises(InputError, match="declare their fields"):
        problem("okita").tables_of({"jobs": []})
