"""Tables of verdicts: one line a claim, every character as it is."""

from dataclasses import replace

import pytest
from claims_cases import DIRECTION

from heuristics.common.claims import Claim, Finding, Judged, latex, markdown, table
from heuristics.common.claims.interpretations import distance
from heuristics.common.claims.tables import cells, tally

ODD = "a | b & 5 % of $x_1$ {where} #2 ~ ^ \\ n ≥ 3"


@pytest.fixture
def judged():
    """Findings of every verdict, one with all characters that markup takes for its own."""
    verdicts = [
        Finding("holds", 0.35, 0.3, 0.4, 12),
        Finding(DIRECTION, 20.04, 18.0, 22.0, 3, "some settings only"),
        Finding("fails", -1.0, instances=1),
        Finding("not measured", note=ODD),
    ]
    return [
        Judged("covering", Claim(f"c{i}", "Fig. 1", ODD, "as is", print, print, 0.33, "%"), finding)
        for i, finding in enumerate(verdicts)
    ]


def test_a_table_has_a_line_per_claim(judged):
    frame = table(judged)
    assert frame["verdict"].tolist() == ["holds", DIRECTION, "fails", "not measured"]
    assert frame["instances"].tolist() == [12, 3, 1, 0]
    assert frame["printed"].tolist() == [0.33] * 4


def test_markdown_rows_have_as_many_cells_as_the_header(judged):
    rows = [line for line in markdown(judged).splitlines() if line.startswith("|")]
    cells = {row.replace(r"\|", "").count("|") for row in rows}
    assert len(rows) == 2 + len(judged)
    assert cells == {9}
    assert "4 claims: 1 holds, 1 in direction only, 1 fails, 1 not measured" in markdown(judged)


def test_latex_escapes_what_it_takes_for_its_own(judged):
    text = latex(judged)
    body = [line for line in text.splitlines() if line.endswith(r"& holds \\")]
    (row,) = [line for line in body if "caption" not in line]
    cells = row.replace(r"\&", "").count("&")
    assert cells == 6
    assert r"5 \% of \$x\_1\$ \{where\} \#2" in row
    assert r"$\ge$" in row
    assert text.count(r"\begin{longtable}") == text.count(r"\end{longtable}") == 1


def test_claims_of_another_paper_are_counted_apart(judged):
    theirs = replace(judged[0], claim=replace(judged[0].claim, paper="Weng et al."))
    assert tally([*judged, theirs]).endswith("1 not measured; 1 claim of Weng et al.: 1 holds")


def test_a_printed_range_is_shown_with_both_ends_and_met_by_what_lies_inside(judged):
    wide = replace(judged[0].claim, printed=(0.3, 0.4))
    assert cells(replace(judged[0], claim=wide))[2] == "0.3 to 0.4 %"
    assert [distance(wide, Finding("holds", v)) for v in (0.35, 0.8)] == [0.0, pytest.approx(1.0)]
