"""Fixtures every test may use; makes ``support`` importable."""

import signal
import sys
from pathlib import Path

import pytest
from hypothesis import is_hypothesis_test, settings

QUICK, FEWEST = 5, 4
"""The profile "quick", which ``make test`` asks for, tries one in so many of the examples that a
test asks for, and these at least."""

SLOW = Path(__file__).with_name("slow.txt")
"""Names of tests that take two seconds or more, a line each; with its parameters if not all do."""

sys.path.append(str(Path(__file__).parent))

settings.register_profile("quick")

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


def pytest_collection_modifyitems(config, items):
    """Mark slow tests; leave the others fewer examples in the profile "quick".

    A profile cannot do that by itself where a test asks for a number of examples.
    """
    slow = set(SLOW.read_text(encoding="utf-8").splitlines())
    for item in items:
        if not slow.isdisjoint((item.name, getattr(item, "originalname", None))):
            item.add_marker("slow")
    if config.getoption("hypothesis_profile", None) != "quick":
        return
    for test in {item.function for item in items if is_hypothesis_test(item.function)}:
        asked = test._hypothesis_internal_use_settings
        few = min(asked.max_examples, max(FEWEST, asked.max_examples // QUICK))
        test._hypothesis_internal_use_settings = settings(asked, max_examples=few)
