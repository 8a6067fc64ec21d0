"""Classic models in at most twenty lines each, beside the same in other tools, as docs/classics.md
shows them.
"""

import inspect
import sys
from pathlib import Path

import pytest

from optsched import solve

ROOT = Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "benchmarks"))

import classics  # noqa: E402
from classic_models import ours, theirs  # noqa: E402

PAGE = (ROOT / "docs" / "classics.md").read_text(encoding="utf-8")

FAMILIES = {
    "facility_location": ("highs", "scip"),
    "max_min_fair_rates": ("highs", "glop"),
    "piecewise_cost_flow": ("highs", "scip"),
    "portfolio": ("highs", "scip"),
}


@pytest.mark.parametrize("name", theirs.TOOLS)
def test_two_families_of_solver_give_one_answer(name):
    solvers = FAMILIES.get(name, ("highs", "cpsat"))
    one, other = (solve(getattr(ours, name)(), solver, time_limit=60) for solver in solvers)
    assert one.status is other.status
    assert one.status == "optimal"
    assert one.checked
    assert other.checked
    assert one.objective == pytest.approx(other.objective, abs=1e-6)
    assert row(name)[-2] == f"{one.objective:.5g}"


@pytest.mark.parametrize("name", theirs.TOOLS)
def test_a_classic_takes_at_most_twenty_lines_and_stands_in_the_page(name):
    source = inspect.getsource(getattr(ours, name)).strip()
    assert len(source.splitlines()) <= 20
    assert source in PAGE
    counts = [len(inspect.getsource(getattr(room, name)).strip().splitlines())
              for room in (ours, theirs)]  # fmt: skip
    assert row(name)[2:4] == list(map(str, counts))
    assert row(name)[1] == theirs.TOOLS[name]


@pytest.mark.parametrize("name", theirs.TOOLS)
def test_the_tool_beside_finds_the_same_optimum(name):
    assert row(name)[-1] == row(name)[-2]  # as measured when the page was made
    tool = theirs.TOOLS[name]
    module = pytest.importorskip(tool, reason="comes with the extra benchmarks only")
    found = classics.their_optimum(module, getattr(theirs, name)(module))
    assert found == pytest.approx(float(row(name)[-1]), rel=1e-4)


def row(name: str) -> list[str]:
    """The page's row on a model."""
    title = name.replace("_", " ")
    (line,) = (line for line in PAGE.splitlines() if line.startswith(f"| {title} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]
