"""What solvers a machine has, and the command that lists them."""

import json
from importlib.metadata import EntryPoint

from typer.testing import CliRunner

from optsched.cli import app
from optsched.solvers.inventory import inventory
from optsched.solvers.pulp.cbc import Cbc
from optsched.solvers.registry import GROUP, announced, available, backend


def test_every_back_end_is_listed_with_what_it_takes():
    listed = {entry.name: entry for entry in inventory()}
    assert set(announced()) <= set(listed)
    for name in announced():
        assert set(listed[name].native) == backend(name).native
        assert listed[name].summary
        assert listed[name].version or listed[name].missing


def test_a_back_end_without_its_solver_is_listed_with_the_reason(monkeypatch):
    monkeypatch.setitem(
        announced(), "gone", EntryPoint("gone", "optsched.solvers.pulp.cbc:Cbc", GROUP)
    )
    monkeypatch.setattr(Cbc, "version", _missing)
    entry = {entry.name: entry for entry in inventory()}["gone"]
    assert (entry.version, entry.missing) == (None, "no such program")


def test_a_back_end_that_cannot_be_loaded_is_listed_with_the_reason(monkeypatch):
    monkeypatch.setitem(announced(), "broken", EntryPoint("broken", "json:no_such_name", GROUP))
    entry = {entry.name: entry for entry in inventory()}["broken"]
    assert entry.version is None
    assert "cannot be loaded" in entry.missing
    assert "broken" not in available()


def _missing(_engine: object) -> str:
    raise ImportError("no such program")


def test_the_command_lists_solvers_for_people_and_machines():
    shown = CliRunner().invoke(app, ["solvers"])
    assert shown.exit_code == 0
    assert "scip" in shown.output
    assert "rotated_cone" in shown.output
    answer = CliRunner().invoke(app, ["solvers", "--json"])
    listed = {entry["name"]: entry for entry in json.loads(answer.output)["solvers"]}
    assert set(announced()) <= set(listed)
    assert listed["scip"]["native"] == ["indicator", "product", "rotated_cone", "special_ordered"]
