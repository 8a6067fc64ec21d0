"""Numbers of a file that mean infinity, and bounds and sides that no point can meet."""

from pathlib import Path

import numpy as np
import pytest

from optsched import InputError, Model, read, solve

ONE_ROW = """NAME one
ROWS
 N OBJ
 {sort} row
COLUMNS
 x OBJ -1
 x row 1
RHS
 RHS row {side}
{more}ENDATA
"""


def read_text(folder: Path, text: str, ending: str = "mps") -> Model:
    (folder / f"model.{ending}").write_text(text)
    return read(folder / f"model.{ending}")


@pytest.mark.parametrize("large", ["1e20", "1e21", "1e30", "1e308"])
def test_numbers_of_1e20_and_more_are_no_limit(tmp_path, large):
    bounds = f"BOUNDS\n UP BND x {large}\n LO BND x -{large}\n"
    m = read_text(tmp_path, ONE_ROW.format(sort="L", side=large, more=bounds))
    low, high, _ = m.domains()
    assert (low.tolist(), high.tolist()) == ([-np.inf], [np.inf])
    assert m.compile().rows.upper.tolist() == [np.inf]
    m = read_text(tmp_path, ONE_ROW.format(sort="G", side=f"-{large}", more=""))
    assert m.compile().rows.lower.tolist() == [-np.inf]
    ranges = f"RANGES\n RNG row {large}\n"
    m = read_text(tmp_path, ONE_ROW.format(sort="G", side=2, more=ranges))
    assert (m.compile().rows.lower.item(), m.compile().rows.upper.item()) == (2, np.inf)
    text = (
        f"max\n x\nst\n c: -{large} <= x + y <= {large}\nbounds\n -{large} <= x <= {large}\nend\n"
    )
    m = read_text(tmp_path, text, "lp")
    assert m.domains()[0].tolist() == [-np.inf, 0]
    assert np.isinf(m.compile().rows.upper).all()


def test_a_number_just_below_1e20_is_a_number(tmp_path):
    m = read_text(tmp_path, ONE_ROW.format(sort="L", side="9.9e19", more=""))
    assert m.compile().rows.upper.tolist() == [9.9e19]


@pytest.mark.parametrize(
    ("sort", "side"), [("E", "1e20"), ("L", "-1e20"), ("G", "1e25"), ("E", "-1e30")]
)
def test_an_infinite_side_that_no_point_can_meet_is_refused_with_its_line(tmp_path, sort, side):
    with pytest.raises(InputError, match=f"line 9 = '{side}': a finite number"):
        read_text(tmp_path, ONE_ROW.format(sort=sort, side=side, more=""))


def test_an_infinite_coefficient_is_refused_with_its_line(tmp_path):
    text = ONE_ROW.format(sort="L", side=1, more="").replace("x row 1", "x row 1e20")
    with pytest.raises(InputError, match="line 7 = '1e20': a finite number"):
        read_text(tmp_path, text)
    with pytest.raises(InputError, match="line 4 = '1e20': a finite number"):
        read_text(tmp_path, "max\n x\nst\n 1e20 x + y <= 3\nend\n", "lp")


def test_bounds_that_contradict_each_other_are_refused_with_line_and_column(tmp_path):
    bounds = "BOUNDS\n LO BND x 4\n UP BND x 3\n"
    with pytest.raises(InputError, match=r"line 12 = 'x': .* bounds are 4 and 3"):
        read_text(tmp_path, ONE_ROW.format(sort="L", side=9, more=bounds))
    text = "max\n x\nst\n x + y <= 3\nbounds\n y >= 5\n y <= 2\n x <= 1\nend\n"
    with pytest.raises(InputError, match=r"line 7 = 'y': .* bounds are 5 and 2"):
        read_text(tmp_path, text, "lp")
    m = read_text(tmp_path, "max\n x\nst\n x <= 3\nbounds\n 2 <= x <= 2\nend\n", "lp")
    assert solve(m).objective == 2
