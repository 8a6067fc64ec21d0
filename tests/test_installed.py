"""What an installed optsched is found as."""

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from zipfile import ZipFile

import pandas as pd
import pytest

from heuristics.common import training
from optsched.instances.importing import read_table
from optsched.model.labels import labels_of
from optsched.parallel.cluster import DaskCluster
from optsched.solvers.exact import backend as exact
from optsched.solvers.gurobi import backend as gurobi
from optsched.study.export import write

ROOT = Path(__file__).resolve().parents[1]


def test_the_folder_that_holds_a_clone_does_not_hide_the_package(tmp_path):
    (tmp_path / "optsched").symlink_to(ROOT, target_is_directory=True)
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    found = subprocess.run(
        [sys.executable, "-c", "from optsched import Model; print(Model('m').name)"],
        cwd=tmp_path, env=plain, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.stdout == "m\n", found.stderr


PARTS = {
    "dask": ("distributed", lambda _: DaskCluster("tcp://127.0.0.1:1")),
    "exact": ("exact", lambda _: exact.ExactSearch().version()),
    "excel": ("openpyxl", lambda folder: read_table(folder / "jobs.xlsx")),
    "gurobi": ("gurobipy", lambda _: gurobi.Gurobi().version()),
    "labels": ("xarray", lambda _: labels_of("x", {axis: [1] for axis in "abc"})),
    "parquet": ("pyarrow", lambda folder: write(pd.DataFrame(), folder / "table.parquet")),
    "training": ("sklearn", lambda _: training._digits.__wrapped__()),
}
"""What an extra is for, and the module it brings."""


@pytest.mark.parametrize("extra", PARTS)
def test_what_needs_a_missing_extra_says_the_command_that_installs_it(extra, tmp_path, monkeypatch):
    module, use = PARTS[extra]
    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    for backend in (exact, gurobi):
        monkeypatch.setattr(backend, "package_version", _missing)
    with ZipFile(tmp_path / "jobs.xlsx", "w") as sheet:
        sheet.writestr("xl/workbook.xml", "")
    with pytest.raises(Exception, match=rf' needs an extra: pip install "optsched\[{extra}\]"$'):
        use(tmp_path)


def _missing(package):
    raise PackageNotFoundError(package)


def test_every_extra_beside_those_of_the_clone_has_such_a_sentence():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {*declared["optional-dependencies"]} - {"dev", "notebooks", "docs", "benchmarks"}
    assert extras == {*PARTS}


def test_all_that_names_versions_of_python_names_the_same():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    versions = [text.rpartition(" ")[2] for text in declared["classifiers"]]
    assert declared["requires-python"] == ">=3.11,<3.14"
    assert versions == ["3.11", "3.12", "3.13"]
    for file in ("noxfile.py", "Makefile", "docs/start.md"):
        named = re.findall(r"\b3\.1\d\b", (ROOT / file).read_text())
        assert {*versions} <= {*named} <= {*versions, "3.14"}, file
