"""The page of a study is one file that says what was measured, and what was not proven."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import covering
import pytest

from optsched.page import Section, page, worst_run
from optsched.page.formulas import mathml
from optsched.ratio import study
from optsched.report import frame

GRID = {"items": [3, 6]}


def bars(ax, instance, choice):
    ax.bar(range(len(choice.taken)), [instance.price[i] for i in choice.taken])
    return ax


PICTURED = replace(covering.PROBLEM, pictures={"bars": bars})


@pytest.fixture(scope="module")
def table():
    result = study(covering.PROBLEM, GRID, ["greedy", "everything"], seeds=range(3))
    return frame(result.rows)


def section(table, **changes):
    example = worst_run(PICTURED, table)
    return replace(Section(PICTURED, table, ["items"], "items", example), **changes)


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
    assert "bars, greedy" in text
    assert "bars, optimum" in text
    assert "<math" in text
    assert "every ratio above is a point" in text
    worst = table.loc[table["heuristic"] == "greedy", "ratio_high"].max()
    assert f"the worst ratio of greedy: {worst:.3f}" in text


def test_the_worst_run_is_made_again_from_seed_and_options(table):
    example = worst_run(covering.PROBLEM, table)
    costs = {covering.cost(example.instance, made) for made in example.schedules.values()}
    row = table.loc[table.loc[table["heuristic"] == "greedy", "ratio_high"].idxmax()]
    assert costs == {row["cost"], row["optimum"]}


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
    assert worst_run(covering.PROBLEM, nothing) is None
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
