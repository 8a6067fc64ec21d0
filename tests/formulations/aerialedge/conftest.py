"""Makes the enumeration and the instances of this folder importable, and shares the example."""

import sys
from pathlib import Path

import pytest

from formulations.aerialedge.instance import Instance

sys.path.insert(0, str(Path(__file__).parent))

from aerialedge_cases import worked_example


@pytest.fixture(scope="session")
def five() -> Instance:
    """The worked example: five tasks, four nodes of two cores and three GiB."""
    return worked_example()
