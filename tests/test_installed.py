"""What an installed optsched is found as."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_the_folder_that_holds_a_clone_does_not_hide_the_package(tmp_path):
    (tmp_path / "optsched").symlink_to(ROOT, target_is_directory=True)
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    found = subprocess.run(
        [sys.executable, "-c", "from optsched import Model; print(Model('m').name)"],
        cwd=tmp_path, env=plain, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.stdout == "m\n", found.stderr
