"""Makes ``claims_cases`` importable from the tests beside it; announces claims."""

import sys
import types
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from heuristics.common.claims import experiments

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def announce(monkeypatch):
    """Announce claims as an installed package would; one more package cannot be loaded."""

    def make(*of):
        module = types.ModuleType("claims_on_covering")
        module.CLAIMS = of
        monkeypatch.setitem(sys.modules, module.__name__, module)
        entries = [
            EntryPoint("covering", "claims_on_covering:CLAIMS", "optsched.claims"),
            EntryPoint("lost", "no.such.module:CLAIMS", "optsched.claims"),
        ]
        monkeypatch.setattr(experiments, "entry_points", lambda group: entries)

    return make
