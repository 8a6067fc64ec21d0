"""Fixtures every test may use."""

import signal
from pathlib import Path

import pytest

# a run that was started in the background would hand ignored interrupts on to what it tests
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real traces beside the repository; a test that needs them skips where there are none.

    They are others' data and no part of the project, so that a clone alone cannot have them. The
    loaders of traces are tested on small files of the same layout too, which every clone makes for
    itself; for what the public simulator recorded there is nothing else to compare with.
    """
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real traces (shared/data) are not beside this checkout")
    return folder
