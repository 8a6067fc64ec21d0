"""The page of a study is one file that says what was measured, and what was not proven."""

import base64
import html
import io
import re
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from html.parser import HTMLParser

import covering
import numpy as np
import pandas as pd
import pytest

from optsched.evaluation.runs import instance_rng
from optsched.evaluation.tables import frame
from optsched.report import Example, Section, page
from optsched.report.document import _order
from optsched.report.formulas import mathml
from optsched.solvers.solution import ProgressPoint, Solution, Status
from optsched.study import Ratios, Store, StudyGrid, run_study
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
        return frame(Ratios.of(kept).rows)


def section(table):
    instance = covering.PROBLEM.generate(instance_rng(0), items=3)
    greedy = covering.PROBLEM.run("greedy", instance, None)
    run = Example("greedy", table["instance"].iloc[0], "look", instance, {"mine": greedy})
    return Section(PICTURED, table, ["items"], "items", [run])


@pytest.fixture(scope="module")
def text(table):
    """A page of one section."""
    return page("A study", [section(table)])


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


def test_the_page_is_one_file_of_balanced_html(text):
    parser = Balance()
    parser.feed(text)
    assert parser.open == []
    addresses = re.findall(r"""(?:src|href)=["']([^"']*)""", text)
    assert addresses
    assert all(address.startswith(("data:text/csv", "#")) for address in addresses)
    assert not re.search(r"<(?:script|link|img)[^>]+(?:src|href)", text)


def test_the_page_shows_ratios_pictures_a_run_and_formulas(text):
    assert "Mean ratio against items" in text
    assert "bars, mine" in text
    assert "<math" in text
    assert "every ratio above is a point" in text


def test_the_page_reads_without_scripts_and_carries_its_rows(table, text):
    silent = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    first = silent[silent.index('id="overview"') :]
    assert first.index("greedy") < first.index("<h2>covering")
    assert "mean ratio" in first
    encoded = re.search(r"data:text/csv;base64,([^\"]+)", silent)[1]
    carried = pd.read_csv(io.StringIO(base64.b64decode(encoded).decode()))
    assert carried["heuristic"].tolist() == table["heuristic"].tolist()
    assert carried["ratio_high"].tolist() == pytest.approx(table["ratio_high"].tolist(), rel=1e-5)
    assert "SpryMedia" in silent  # the licence of what sorts the tables


def test_the_algorithm_a_paper_proposes_is_marked(table):
    greedy = replace(covering.PROBLEM.heuristics["greedy"], proposed=True)
    proposing = replace(PICTURED, heuristics={**PICTURED.heuristics, "greedy": greedy})
    text = page("A study", [replace(section(table), problem=proposing)])
    assert re.findall(r"★&nbsp;(\w+)</td>", text) == ["greedy"]


def test_a_column_without_a_value_is_left_out(table, text):
    heads = [re.sub("<[^>]+>", "", head) for head in re.findall(r"<th [^>]*>(.*?)</th>", text)]
    assert "infinite" not in heads
    assert "message" not in heads
    assert {"mean ratio", "worst", "proven", "seconds"} <= set(heads)
    endless = table.assign(ratio_low=np.inf, ratio_high=np.inf)
    assert ">infinite</th>" in page("A study", [section(endless)])
    unmeasured = table.assign(ratio_low=None, ratio_high=None, status="error")
    assert ">mean ratio</th>" not in page("A study", [replace(section(table), table=unmeasured)])


def test_long_lists_of_options_fold(table):
    long = "greedy(first=1.25, second=2.5, third='a word')"
    text = page("A study", [section(table.assign(heuristic=long))])
    folded = re.search(r"<details><summary>greedy\(<wbr>…\)</summary>(.*?)</details>", text)
    assert html.unescape(folded[1]) == long


def test_the_bars_of_intervals_hold_their_mean_and_lie_within_their_axis(text):
    bars = re.findall(r'<i style="left:([\d.]+)%;width:([\d.]+)%"></i><b style="left:(.+?)%"', text)
    assert len(bars) == 2
    for left, width, mean in (map(float, bar) for bar in bars):
        assert 0 <= left <= mean <= left + width <= 100.1


def test_the_dots_of_mean_ratios_stand_above_the_table(text):
    assert text.index('aria-label="Mean ratios with their intervals"') < text.index(
        '<table class="sortable headline"'
    )


def test_a_point_tells_its_instance_and_its_ratio(table, text):
    row = table.iloc[0]
    told = f"{row['instance']}: greedy {row['ratio_high']:.4g} (optimal)"
    assert f"<title>{told}</title>" in text


def test_ids_of_drawings_differ_and_are_all_that_is_referred_to(text):
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    referred = set(re.findall(r"url\(#([^)]+)\)", text)) | set(re.findall(r'href="#([^"]+)"', text))
    assert referred <= set(ids)


def test_a_caption_spells_its_algorithm_as_it_is(table):
    named = table.assign(time_scale=table["seed"], heuristic="buys_all")
    text = page("A study", [replace(section(named), cells=["items", "time_scale"])])
    assert text.count("Mean ratio of buys_all by items and time scale") == 2  # seen, and heard


def test_the_page_says_how_to_make_it_again_and_when_it_was_made(table):
    commands = ["optsched study run study.toml"]
    text = page("A study", [section(table)], made_on="2026-01-31", commands=commands)
    assert "optsched study run study.toml" in text
    assert "2026-01-31" in text


def test_a_grid_without_a_row_yet_has_its_part(table):
    text = page("A study", [section(table), Section(covering.PROBLEM, frame([]))])
    assert "<b>0</b> instances" in text


@pytest.mark.parametrize(
    ("text", "order"),
    [("1.126 … 1.142", "1.126"), ("infinite", "1e+300"), ("15%", "15"), ("–", ""), ("", "")],
)
def test_numbers_are_sorted_by_the_first_of_them(text, order):
    assert _order(text) == order


def test_the_runs_to_look_at_are_the_worst_of_each_algorithm_with_their_optimum(store, table):
    with Store.reading(store) as kept:
        text = study_page(Ratios.of(kept), kept, "A study")
    assert table["heuristic"].nunique() > 1
    for number, (name, rows) in enumerate(table.groupby("heuristic", sort=False)):
        worst = rows.loc[rows["ratio_high"].idxmax()]
        told = f"{worst['instance']}: the worst ratio of {name}, {worst['ratio_high']:.3f}"
        place = f"covering-run-{number}"
        assert text.index(f'id="{place}"') < text.index(told)
        assert f'<a href="#{place}">{worst["ratio_high"]:.3f}</a>' in text  # of the first table
    assert "Not at its end" not in text


def test_a_point_of_a_run_that_is_shown_leads_there_and_others_do_not(table, text):
    row = table.iloc[0]
    said = f"{row['instance']}: greedy {row['ratio_high']:.4g} (optimal)"
    leading = re.findall(r'<a href="#covering-run-0" aria-label="([^"]+)"><use', text)
    assert said in leading
    assert len(leading) < text.count("<use")


def test_a_heuristic_that_took_long_is_not_run_again_for_the_page(store, tmp_path):
    late = shutil.copy(store, tmp_path / "late.sqlite")
    with closing(sqlite3.connect(late)) as sql:
        sql.execute("UPDATE runs SET seconds = 3600")
        sql.commit()
    with Store.reading(late) as kept:
        assert "Runs to look at" not in study_page(Ratios.of(kept), kept, "A study")


def test_flow_times_and_a_solve_on_its_way_are_drawn_where_they_are_known(table, text):
    times = {"greedy": [[1.0, 2.0, 4.0], [2.0]], "best": [[1.0, 1.0, 3.0], [2.0]]}
    steps = (
        ProgressPoint(0.1, None, 9.0),
        ProgressPoint(0.2, 4.0, 7.0),
        ProgressPoint(0.5, 6.0, 6.0),
    )
    solved = Solution(Status.OPTIMAL, 6.0, 6.0, trajectory=steps)
    known = replace(section(table), flow_times=times, longest=("knapsack on one", solved))
    more = page("A study", [known])
    assert "from release to completion; 2 instances, which count the same" in more
    assert "while the longest solve went on: knapsack on one" in more
    assert "flow time" not in text


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
        assert "Not at its end: 3 of 18 runs" in study_page(Ratios.of(kept), kept, "A study")


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
    assert "<svg" not in text
    assert "What was not proven" in text


def test_the_same_rows_make_the_same_page(table, text):
    assert page("A study", [section(table)]) == text


def test_formulas_become_mathml():
    made = mathml(r"where $\sum_j x_j \le 1$ holds")
    assert made.startswith("where <math")
    assert "$" not in made
