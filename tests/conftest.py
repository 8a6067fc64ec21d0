"""Fixtures every test may use."""

import signal
from pathlib import Path

import pytest

# a run that was started in the background would hand ignored interrupts on to what it tests
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real traces beside the repository; a test that needs them skips where there are none."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real traces (shared/data) are not beside this checkout")
    return folder
