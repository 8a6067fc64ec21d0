"""Machine code on disk is never older than what it was made from."""

import subprocess
import sys
from pathlib import Path

import pytest

INNER = (
    "from optsched.jit import njit_cached\nSTEP = 1\n"
    "@njit_cached\ndef step(x):\n    return x + {}\n"
)
OUTER = (
    "from optsched.jit import njit_cached\nfrom parts.inner import STEP, step\n"
    "@njit_cached\ndef twice(x):\n    return step(step(x)) * STEP\n"
)


@pytest.fixture
def package(tmp_path):
    """Two modules, one of which calls the other's compiled function."""
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "inner.py").write_text(INNER.format(1))
    (folder / "outer.py").write_text(OUTER)
    return folder


def called(package: Path) -> tuple[int, int]:
    """What ``twice(10)`` gives in a new process, and how often its machine code was found."""
    code = "from parts.outer import twice\nprint(twice(10), sum(twice.stats.cache_hits.values()))"
    done = subprocess.run(
        [sys.executable, "-B", "-c", code],
        cwd=package.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    value, hits = done.stdout.split()
    return int(value), int(hits)


def test_machine_code_is_kept_and_follows_what_it_calls_in_another_file(package):
    assert called(package) == (12, 0)
    assert called(package) == (12, 1)
    (package / "inner.py").write_text(INNER.format(5))
    assert called(package) == (20, 0)
    assert called(package) == (20, 1)


def test_machine_code_follows_constants_of_another_file(package):
    assert called(package) == (12, 0)
    (package / "inner.py").write_text(INNER.format(1).replace("STEP = 1", "STEP = 3"))
    assert called(package) == (36, 0)
