"""Gantt charts show every run, and tell jobs apart."""

import pytest
from matplotlib.figure import Figure

from optsched.report.gantt import LEGEND_ENTRIES, gantt


@pytest.fixture
def ax():
    """An empty axis."""
    return Figure().subplots()


def test_a_gantt_chart_has_a_bar_per_run_and_a_short_legend(ax):
    jobs = LEGEND_ENTRIES + 5
    runs = [(job % 3, float(job), job + 1.5, job) for job in range(jobs)]
    assert gantt(ax, runs, rows=["a", "b", "c"]) is ax
    bars = sum(len(collection.get_paths()) for collection in ax.collections)
    assert bars == jobs
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["a", "b", "c"]
    entries = [text.get_text() for text in ax.get_legend().get_texts()]
    assert entries[-1] == "and 5 more"
    assert len(entries) == LEGEND_ENTRIES + 1


def test_neighbouring_jobs_look_different(ax):
    gantt(ax, [(0, float(job), job + 1.0, job) for job in range(20)])
    looks = [(tuple(c.get_facecolor()[0]), c.get_hatch()) for c in ax.collections]
    assert len(set(looks)) == 20
