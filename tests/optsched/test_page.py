"""The page of a study is one file that says what was measured, and what was not proven."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import covering
import pytest

from optsched.evaluation.runs import instance_rng
from optsched.evaluation.tables import frame
from optsched.page import Example, Section, page
from optsched.page.formulas import mathml
from optsched.study import Results, Store, StudyGrid, run_study
from optsched.study.page import study_page

GRID = StudyGrid("covering", {"items": [3, 6]}, seeds=range(3), heuristics=["greedy", "everything"])


def bars(ax, instance, choice):
    ax.bar(range(len(choice.taken)), [instance.price[i] for i in choice.taken])
    return ax


PICTURED = replace(covering.PROBLEM, pictures={"bars": bars})


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A finished study."""
    path = tmp_path_factory.mktemp("page") / "study.sqlite"
    run_study([GRID], path, workers=1)
    return path


@pytest.fixture(scope="module")
def table(store):
    with Store.reading(store) as kept:
        return frame(Results.of(kept).rows)


def section(table):
    instance = covering.PROBLEM.generate(instance_rng(0), items=3)
    greedy = covering.PROBLEM.run("greedy", instance, None)
    return Section(PICTURED, table, ["items"], "items", Example("look", instance, {"mine": greedy}))


class Balance(HTMLParser):
    """Raises where a tag is closed that is not open."""

    void = ("meta", "img", "br", "link")

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_one_file_of_balanced_html(table):
    text = page("A study", [section(table)])
    parser = Balance()
    parser.feed(text)
    assert parser.open == []
    addresses = re.findall(r"""(?:src|href)=["']([^"']*)""", text)
    assert addresses
    assert all(address.startswith(("data:image/svg+xml", "#")) for address in addresses)
    assert "<script" not in text


def test_the_page_shows_ratios_pictures_a_run_and_formulas(table):
    text = page("A study", [section(table)])
    assert "Mean ratio against items" in text
    assert "bars, mine" in text
    assert "<math" in text
    assert "every ratio above is a point" in text


def test_the_run_to_look_at_is_the_worst_with_its_optimum(store, table):
    with Store.reading(store) as kept:
        text = study_page(kept, "A study")
    first = table[table["heuristic"] == "greedy"]
    worst = first.loc[first["ratio_high"].idxmax()]
    assert f"the worst ratio of greedy, {worst['ratio_high']:.3f}" in text
    assert worst["instance"] in text
    assert "Not at its end" not in text


def test_a_study_that_is_not_at_its_end_says_so(tmp_path):
    path = tmp_path / "study.sqlite"

    class EnoughError(Exception):
        """Stops a study."""

    def stop(progress):
        if progress.finished >= 3:
            raise EnoughError

    with pytest.raises(EnoughError):
        run_study([GRID], path, workers=1, progress=stop)
    with Store.reading(path) as kept:
        assert "Not at its end: 3 of 18 runs" in study_page(kept, "A study")


def test_what_is_not_proven_is_listed(table):
    open_ = table.copy()
    open_.loc[0, ["status", "ratio_low", "message"]] = ["feasible", 1.0, "limit <time>"]
    text = page("A study", [section(open_)])
    assert "limit &lt;time&gt;" in text
    assert "every ratio above is a point" not in text


def test_a_study_without_any_ratio_still_has_a_page(table):
    nothing = table.copy()
    nothing[["ratio_low", "ratio_high"]] = None
    nothing["status"] = "error"
    text = page("A study", [Section(covering.PROBLEM, nothing, ["items"], "items")])
    assert "<img" not in text
    assert "What was not proven" in text


def test_the_same_rows_make_the_same_page(table):
    one = section(table)
    assert page("A study", [one]) == page("A study", [one])


def test_formulas_become_mathml():
    made = mathml(r"where $\sum_j x_j \le 1$ holds")
    assert made.startswith("where <math")
    assert "$" not in made
