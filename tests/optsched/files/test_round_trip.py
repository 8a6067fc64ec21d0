"""What files of others say is kept when it is written, and read as other readers read it."""

import highspy
import numpy as np
import pytest

from optsched import InputError, Model, read, solve

INF = np.inf


def highs_on(file):
    engine = highspy.Highs()
    engine.setOptionValue("output_flag", False)
    assert engine.readModel(str(file)) == highspy.HighsStatus.kOk
    return engine.getLp()


def sides(model):
    return {name: (r.lower.tolist(), r.upper.tolist())
            for name, block in model.blocks.items() for r in (block.relation,)}  # fmt: skip


def test_names_that_begin_like_infinity_reach_highs_as_they_are_in_mps_and_prefixed_in_lp(tmp_path):
    m = Model()
    inflow, nana = m.continuous("inflow", 2, upper=3), m.continuous("Nana")
    m.add("infeed", inflow.sum() + nana >= 1)
    m.minimize(2 * inflow.sum() + 3 * nana)
    for ending, prefix in (("mps", ""), ("lp", "v_")):
        m.write(tmp_path / f"m.{ending}")
        lp = highs_on(tmp_path / f"m.{ending}")
        expected = [f"{prefix}{name}" for name in ("inflow_0", "inflow_1", "Nana")]
        assert list(lp.col_names_) == expected
        assert list(lp.col_cost_) == [2, 2, 3]


@pytest.mark.parametrize("ending", ["mps", "lp"])
def test_a_column_in_no_row_stays(tmp_path, ending):
    m = Model()
    m.continuous("x")
    m.continuous("idle", 2)
    m.add("row", m["x"] >= 1)
    m.minimize(m["x"])
    m.write(tmp_path / f"m.{ending}")
    assert read(tmp_path / f"m.{ending}").columns == 3
    assert highs_on(tmp_path / f"m.{ending}").num_col_ == 3


@pytest.mark.parametrize("ending", ["mps", "lp"])
def test_a_row_with_two_sides_comes_back_as_one_to_its_last_bit(tmp_path, ending):
    rng = np.random.default_rng(0)
    m = Model()
    x = m.continuous("x", 500)
    low = rng.uniform(0, 1, 500)
    m.add("some", x.between(low, 10.0 ** rng.uniform(0.1, 6, 500)))
    m.add("far", (x[:2] - x[2:4]).between([0.1, -1e6], [1e6, -0.3]))
    m.write(tmp_path / f"m.{ending}")
    again, own = sides(read(tmp_path / f"m.{ending}")), sides(m)
    assert again["far"] == own["far"]
    np.testing.assert_allclose(again["some"], own["some"], rtol=2.3e-16 * (ending == "mps"))


def test_two_rows_that_are_not_the_sides_of_one_stay_two(tmp_path):
    (tmp_path / "m.lp").write_text(
        "min\n x\nst\n a: x + y <= 5\n a__low: x + 2 y >= 1\n b: x - y <= 5\n b__low: x - y <= 3\n"
        " c: x >= 1\n c__low: x >= 1\n d: z = 1 -> x <= 7\n d__low: x >= 2\nbinary\n z\nend\n"
    )
    compiled = read(tmp_path / "m.lp").compile({"indicator"})
    assert compiled.rows.count == 7
    assert len(compiled.indicators) == 1


def test_names_that_mps_can_say_stay_also_those_of_a_row_and_a_column(tmp_path):
    text = (
        "NAME\nROWS\n N cost\n L 10\n L 2b\n G a-b\nCOLUMNS\n 0001 cost 1 10 1\n 0001 2b 1 a-b 3\n"
        " 2b cost 2 10 1\n 2b a-b 1\n e1 cost 1 10 2\n e7 cost 1 a-b 2\nRHS\n RHS 10 4 2b 5\n"
        " RHS a-b 1\nENDATA\n"
    )
    (tmp_path / "m.mps").write_text(text)
    names = read(tmp_path / "m.mps").write(tmp_path / "again.mps")
    assert set(names) == {"0001", "2b", "e1", "e7", "10", "a-b"}
    one, other = highs_on(tmp_path / "m.mps"), highs_on(tmp_path / "again.mps")
    assert set(one.row_names_) == set(other.row_names_) == {"10", "2b", "a-b"}
    assert dict(zip(one.col_names_, one.col_cost_, strict=True)) == dict(
        zip(other.col_names_, other.col_cost_, strict=True)
    )


def fixed(*fields):
    """A line in the columns of fixed format."""
    line = ""
    for start, field in zip((1, 4, 14, 24, 39, 49), fields, strict=False):
        line = line.ljust(start) + field
    return line + "\n"


BLANKS = [
    "NAME          TWO WORDS\n", "ROWS\n", fixed("N", "COST"), fixed("L", "LIM 1"),
    fixed("G", "MY ROW"), "COLUMNS\n", fixed("", "X ONE", "COST", "1.5", "LIM 1", "1"),
    fixed("", "MARK ER", "'MARKER'", "", "'INTORG'"), fixed("", "Y TWO", "COST", "2", "LIM 1", "1"),
    fixed("", "Y TWO", "MY ROW", "1"), "RHS\n", fixed("", "", "LIM 1", "4", "MY ROW", "1"),
    "RANGES\n", fixed("", "R S", "LIM 1", "3"), "BOUNDS\n", fixed("UP", "", "X ONE", "4"),
    fixed("UP", "B ND", "Y TWO", "6"), "ENDATA\n",
]  # fmt: skip


def test_names_with_blanks_are_read_in_the_columns_of_fixed_format(tmp_path):
    (tmp_path / "m.mps").write_text("".join(BLANKS))
    m = read(tmp_path / "m.mps")
    assert sides(m) == {"LIM": ([1], [4]), "MY ROW": ([1], [INF])}
    assert [(v.type, v.upper.tolist()) for v in m.variables.values()] == [
        ("continuous", [4]), ("integer", [6]),
    ]  # fmt: skip
    assert solve(m).objective == 2
    (tmp_path / "m.mps").write_text("".join(BLANKS).replace("LIM 1     4 ", "LIM 1   4   "))
    with pytest.raises(InputError, match=r"line 4 = 'L LIM 1': 2 words, or fields in fixed"):
        read(tmp_path / "m.mps")


def told(folder, text):
    (folder / "m.lp").write_text(text)
    return read(folder / "m.lp")


def test_an_endless_side_may_stand_before_a_row(tmp_path):
    m = told(tmp_path, "min\n x\nst\n a: -inf <= x + y <= 5\n b: +Infinity >= x - y >= 1\nend\n")
    compiled = m.compile()
    assert compiled.rows.lower.tolist() == [-INF, 1]
    assert compiled.rows.upper.tolist() == [5, INF]


def test_names_of_other_tools_with_brackets_slashes_and_bars_are_read(tmp_path):
    m = told(
        tmp_path,
        "min\n 2 x[0,1]+3x[1,1]+[x[0,1]^2+x[1,1]^2]/2\nst\n c[a]: x[0,1] + a/b - a|b >= 1\nend\n",
    )
    assert m.columns == 5  # one of them bounds the squares
    assert {"x[0,1]", "x[1,1]"} <= {str(n) for v in m.variables.values() for n in
                                   (v.labels or {}).get("name", ())}  # fmt: skip


def test_bounds_of_a_binary_column_hold_in_whatever_order(tmp_path):
    for sections in ("bounds\n x = 1\nbinary\n x y\n", "binary\n x y\nbounds\n x >= 1\n"):
        m = told(tmp_path, f"min\n x + y\nst\n c: x + y <= 2\n{sections}end\n")
        assert solve(m).objective == 1
        assert m.compile().upper.tolist() == [1, 1]


def test_rows_of_other_tools_may_be_called_anything_and_be_empty(tmp_path):
    m = told(tmp_path, "min\n x\nst\n 10: x + .y >= 1\n a-b: x\n - .y <= 4\n ..c : = 0\nend\n")
    assert m.compile().rows.lower.tolist() == [1, -INF, 0]
    labels = [block.relation.labels or {"name": [name]} for name, block in m.blocks.items()]
    assert [name for each in labels for name in each["name"]] == ["10", "a-b", "..c"]
