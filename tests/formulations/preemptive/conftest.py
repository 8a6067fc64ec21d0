"""Makes the enumeration and the instances of this folder importable, and shares the example."""

import sys
from pathlib import Path

import pytest

from formulations.preemptive.instance import Instance

sys.path.insert(0, str(Path(__file__).parent))

from preemptive_cases import worked_example


@pytest.fixture(scope="session")
def example() -> Instance:
    """The worked example: jobs A, B, C on two servers of one worker each."""
    return worked_example()


@pytest.fixture(scope="session")
def doubled() -> Instance:
    """The worked example for a machine of half the speed."""
    return worked_example(2)
