"""MPS and LP files as models: what is written is read, under the names it was written with."""

import gzip
import subprocess
from fractions import Fraction

import highspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import InputError, Model, UnsupportedError, read, solve
from optsched.solvers.pulp.writer import load_pulp

INF = np.inf


def every_section(seed: int) -> Model:
    """Bounded, feasible at 0, with everything that files can say beside rows and squares."""
    rng = np.random.default_rng(seed)
    m = Model("sections")
    x = m.continuous("x", (2, 3), upper=rng.integers(1, 5, (2, 3)))
    t = m.semicontinuous("t", 2, lower=[1.5, 0.5], upper=3)
    down = m.semicontinuous("down", lower=-3, upper=-1)  # no file can say it: rows
    k = m.semi_integer("k", lower=2, upper=int(rng.integers(3, 6)))
    n = m.integer("n", lower=-2, upper=3)
    b = m.binary("b", 2)
    m.sos1(x[:, :2], name="one of")
    m.sos2(2.0 * x[1], name="neighbours")
    m.sos1(m.stack(k + n, t[0]), name="sums")  # no file can say it: rows
    m.indicator(b, (x[0, :2] + t).between(-1, 2), name="when")
    m.indicator(b[0], x[1, 0] - n == 1, active=False, name="unless")
    m.indicator((b[0], b[1]), k <= 4, name="both")
    m.add("range", (x.sum() + k + n).between(-3.5, 9.25))
    m.add("side", t - 0.5 * b <= 2.25)
    cost = rng.integers(-9, 10, 6).reshape(2, 3) / 4
    goal = (x * cost).sum() + (t @ rng.integers(-3, 4, 2)) + k * float(rng.integers(-2, 3))
    goal = goal + n * 0.5 - b.sum() * float(rng.integers(-2, 3)) + 0.25 * down + 7
    m.maximize(goal) if rng.integers(2) else m.minimize(goal)
    return m


@pytest.mark.parametrize("ending", ["mps", "lp"])
@settings(deadline=None, max_examples=6)
@given(seed=st.integers(0, 10**6), native=st.booleans())
def test_a_model_survives_a_file_with_its_optimum_and_names(tmp_path_factory, ending, seed, native):
    folder, model = tmp_path_factory.mktemp("files"), every_section(seed)
    names = model.write(folder / f"sections.{ending}", native=native)
    again = read(folder / f"sections.{ending}")
    sign = -1.0 if ending == "mps" and model.maximise else 1.0
    objective = solve(model).objective
    assert sign * solve(again).objective == pytest.approx(objective, abs=1e-5)
    assert sign * solve(again, "scip").objective == pytest.approx(objective, abs=1e-5)
    kinds = {"indicator", "semicontinuous", "special_ordered"}
    assert again.kinds == (kinds if native else set())
    later = again.write(folder / f"again.{ending}", native=native)
    assert later.keys() == names.keys()


@pytest.mark.parametrize("ending", ["mps", "lp"])
@pytest.mark.parametrize("seed", [4, 5, 6])  # maxima and a minimum, quick to solve
def test_a_quadratic_objective_has_one_optimum_by_every_reader(tmp_path, ending, seed):
    rng = np.random.default_rng(seed)
    m = Model("squares")
    x, y = m.continuous("x", 3, lower=-2, upper=5), m.continuous("y", lower=-INF)
    m.add("row", x.sum() + y >= 2)
    root, shift = rng.integers(-3, 4, (2, 3)), rng.integers(-2, 3, 2) / 4
    squares = m.sum_of_squares(root @ x + shift)
    own = m.sum_of_squares(m.stack(y - 1.0, x[0]), name="own")
    goal = 0.5 * squares + 2 * own + x @ rng.integers(-4, 5, 3) + 3
    m.maximize(-1 * goal) if rng.integers(2) else m.minimize(goal)
    path = tmp_path / f"squares.{ending}"
    names = m.write(path)
    assert list(names.values()) == ["x[0]", "x[1]", "x[2]", "y", "row"]
    sign = -1.0 if ending == "mps" and m.maximise else 1.0
    objective = sign * solve(m, "scip").objective
    engine = highspy.Highs()
    engine.setOptionValue("output_flag", False)
    assert engine.readModel(str(path)) == highspy.HighsStatus.kOk
    engine.run()
    assert engine.getInfo().objective_function_value == pytest.approx(objective, abs=1e-4)
    again = read(path)
    assert solve(again, "scip").objective == pytest.approx(objective, abs=1e-4)
    assert again.write(path.with_name(f"again.{ending}")).keys() == names.keys()


def test_cbc_reads_the_special_ordered_sets_and_ortools_the_indicators(tmp_path):
    m = Model()
    x, y = m.continuous("x", 4, upper=[4, 2, 3, 3]), m.continuous("y", 3, upper=[4, 5, 3])
    m.sos2(x)
    m.sos1(y)
    m.maximize(x @ [1, 1, 1, 0.5] + y.sum())
    program = load_pulp().PULP_CBC_CMD(msg=False).path
    for ending, sign in (("mps", -1), ("lp", 1)):
        file, answer = tmp_path / f"m.{ending}", tmp_path / "answer.txt"
        m.write(file, native=True)
        words = [program, str(file), "solve", "solu", str(answer)]
        subprocess.run(words, capture_output=True, check=True, timeout=60)
        assert float(answer.read_text().split()[4]) == pytest.approx(sign * 11)
    assert solve(m).objective == pytest.approx(11)
    builder = pytest.importorskip("ortools.linear_solver.python.model_builder")
    m = Model()
    on, load = m.binary("on", 2), m.continuous("load", 2, upper=4)
    m.indicator(on, load.between(1, 3), active=False, name="when")
    m.maximize(load.sum() - 2 * on.sum())
    m.write(tmp_path / "when.mps", native=True)
    other, solver = builder.Model(), builder.Solver("scip")
    assert other.import_from_mps_file(str(tmp_path / "when.mps"))
    solver.solve(other)
    assert solver.objective_value == pytest.approx(-solve(m).objective) == pytest.approx(-6)


def test_highs_reads_semicontinuous_and_semi_integer_columns(tmp_path):
    m = Model()
    m.semicontinuous("power", 2, lower=2, upper=8)
    m.semi_integer("lot", lower=3, upper=5)
    for ending in ("mps", "lp"):
        m.write(tmp_path / f"m.{ending}", native=True)
        engine = highspy.Highs()
        engine.setOptionValue("output_flag", False)
        assert engine.readModel(str(tmp_path / f"m.{ending}")) == highspy.HighsStatus.kOk
        lp = engine.getLp()
        assert [int(kind) for kind in lp.integrality_] == [2, 2, 3]
        assert list(lp.col_lower_) == [2, 2, 3]
        assert list(lp.col_upper_) == [8, 8, 5]


def test_a_cone_that_is_no_quadratic_objective_is_refused(tmp_path):
    def told(change):
        m = Model()
        x = m.continuous("x", 2, upper=3)
        q = m.sum_of_squares(x)
        m.minimize(q - x.sum())
        change(m, q)
        with pytest.raises(UnsupportedError, match=r"cone.*objective"):
            m.write(tmp_path / "m.lp")

    told(lambda m, q: m.maximize(q))
    told(lambda m, q: m.add("most", q <= 5))
    told(lambda m, q: m.sos1(m.stack(q, m["x"][0])) or m.minimize(m["x"].sum()))
    told(lambda m, q: m.minimize(m["x"].sum()))


# reading


def test_columns_and_rows_of_a_file_form_blocks_by_their_names(tmp_path):
    m = Model("shop")
    x = m.integer("x", 3, upper=4)
    y = m.binary("y", (2, 2))
    m.add("2b", x + y[0, 0] <= 3)
    m.add("both", y.sum() + x.sum() <= 5)
    m.maximize(x.sum() + y.sum() + 0.5)
    m.write(tmp_path / "shop.mps")
    other = read(tmp_path / "shop.mps")
    assert other.name == "shop"
    assert {n: (v.type, v.shape) for n, v in other.variables.items()} == {
        "x": ("integer", (3,)), "y": ("binary", (2, 2)),
    }  # fmt: skip
    assert {name: block.shape for name, block in other.blocks.items()} == {
        "r_2b": (3,), "both": (),
    }  # fmt: skip
    assert solve(other).objective == -solve(m).objective  # of a maximisation the negative


CLASSICAL = """NAME          TESTPROB
ROWS
 N  COST
 L  LIM1
 G  LIM2
 E  MYEQN
COLUMNS
    XONE      COST         1   LIM1         1
    XONE      LIM2         1
    YTWO      COST         2   LIM1         1
    YTWO      MYEQN       -1
    ZTHREE    COST        -1   MYEQN        1
RHS
    RHS       LIM1         4   LIM2         1
    RHS       MYEQN        7
BOUNDS
 UP BND       XONE         4
 LO BND       YTWO        -1
 UP BND       YTWO         1
ENDATA
"""


def test_a_classical_file_is_read(tmp_path):
    (tmp_path / "test.mps").write_text(CLASSICAL)
    model = read(tmp_path / "test.mps")
    # x >= 1, z = 7 + y: 1 + 2 y - 7 - y is least at y = -1
    assert solve(model).objective == float(Fraction(-7))


def test_files_that_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(InputError, match="exists"):
        read(tmp_path / "none.mps")
    (tmp_path / "bad.mps").write_text("ROWS\n Q what\n")
    with pytest.raises(InputError, match=r"bad.mps, line 2 = 'Q': N, L, G or E"):
        read(tmp_path / "bad.mps")


FOREIGN = """\\ a file of another tool
Maximize
 profit: 3 x(1,2) + 2.5 x(1,3) + alpha - 0.5 alpha + 4
 + [ - 2 z.b ^ 2 + 2 z.b * w ] / 2
st
 lim#1: x(1,2) + x(1,3)
    + alpha <= 10
 -2 <= x(1,2) - alpha <= 5
 x(1,3) - 3 >= -1
 on: b1 = 1 -> alpha >= 2
Bounds
 x(1,2) <= 4
 -1 <= alpha <= 6
 w free
 z.b >= -inf
 w <= 3
 x(1,3) = 2.5
Binaries
 b1
General
 x(1,2)
SOS
 s1: S1:: x(1,2) : 2 alpha : 1
End
"""


def test_a_file_of_another_tool_keeps_its_names_and_is_indexed_by_them(tmp_path):
    (tmp_path / "other.lp").write_text(FOREIGN)
    with pytest.raises(InputError, match=r"not concave, and of the product"):
        read(tmp_path / "other.lp")
    plain = FOREIGN.replace("+ 2 z.b * w", "+ 2 z.b * w - 2 w ^2")
    (tmp_path / "other.lp").write_text(plain)
    m = read(tmp_path / "other.lp")
    written = m.write(tmp_path / "again.lp", native=True)
    columns = {"x(1,2)", "x(1,3)", "alpha", "z.b", "w", "b1"}
    assert columns | {"lim#1", "on", "row_1", "row_2", "s1"} == set(written)
    solution = solve(m, "scip")
    # x(1,2) or alpha is 0; x(1,3) is 2.5; squares are best at 0
    assert solution.objective == pytest.approx(3 * 4 + 2.5 * 2.5 + 4, abs=1e-5)
    (block,) = [name for name in m.variables if "x(1,3)" in getattr(solution[name], "index", ())]
    assert solution[block].loc["x(1,3)"] == pytest.approx(2.5)
    third = read(tmp_path / "again.lp").write(tmp_path / "third.lp", native=True)
    assert third.keys() == written.keys()


def test_products_of_bounded_integers_need_not_be_convex(tmp_path):
    (tmp_path / "m.lp").write_text(
        "min\n obj: [ 2 x * y - 2 x ^2 + 2 z ^2 ] / 2 - z\nst\n x + y + z <= 6.5\nbounds\n"
        " x <= 3\n y <= 4\ngeneral\n x\nend\n"
    )
    m = read(tmp_path / "m.lp")
    assert m.kinds == {"product", "rotated_cone"}
    assert solve(m, "scip").objective == pytest.approx(-9 - 0.25, abs=1e-5)  # x = 3, z = 1/2


def test_squares_that_share_no_product_are_told_apart_one_by_one(tmp_path):
    (tmp_path / "m.lp").write_text(
        "max\n obj: [ - 2 x ^2 - 8 y ^2 + 4 k ^2 - 2 z ^2 + 2 z * w - 2 w ^2 ] / 2 + x - k + w\n"
        "st\n r: y >= 0.5\nbounds\n k <= 3\ngeneral\n k\nend\n"
    )
    m = read(tmp_path / "m.lp")
    assert m.kinds == {"product", "rotated_cone"}
    (cone,) = (block for block in m.blocks.values() if block.kind == "rotated_cone")
    point = np.random.default_rng(0).normal(size=m.columns)
    x, y, z, w = (point[m[name].start] for name in "xyzw")
    said = x**2 + 4 * y**2 + z**2 - z * w + w**2
    assert (cone.w.at(point) ** 2).sum() == pytest.approx(said)


def test_semicontinuous_bounds_that_cross_leave_0_in_a_file_too(tmp_path):
    m = Model()
    m.maximize(m.semicontinuous("x", 2, lower=[5, 1], upper=[3, 2]).sum())
    for ending, sign in (("mps", -1), ("lp", 1)):
        m.write(tmp_path / f"m.{ending}", native=True)
        assert sign * solve(read(tmp_path / f"m.{ending}")).objective == solve(m).objective == 2


RULES = """NAME RULES
OBJSENSE
 MAX
ROWS
 N COST
 N OTHER
 L r1
 G r2
 E r3
 E r4
 L r5
COLUMNS
 M1 'MARKER' 'INTORG'
 a COST 1 r1 1
 a OTHER 5 r5 1
 b r2 1
 c r2 -2.5
 M2 'MARKER' 'INTEND'
 d r3 1 r4 2
 e r4 1 r1 1
 f r5 1
 g COST -1
 h r1 1
 i r1 1
RHS
 r1 4 r2 1
 RHS r3 2
 RHS COST -3.5
 RHS OTHER 9
RANGES
 RNG r1 2.5 r2 4
 RNG r3 3
 RNG r4 -3
BOUNDS
 UP BND b 5
 LO BND c 2
 FR BND d
 LO BND e -8
 UP BND e -3
 MI f
 UP BND f 7
 BV BND g
 LI BND h -2
 FX BND i 1.5
ENDATA
"""


def test_bounds_ranges_and_signs_are_read_as_highs_reads_them(tmp_path):
    file = tmp_path / "rules.mps"
    file.write_text(RULES)
    engine = highspy.Highs()
    engine.setOptionValue("output_flag", False)
    engine.readModel(str(file))
    lp, model = engine.getLp(), read(file)
    own = model.compile()
    place = [model[name].start for name in lp.col_names_]
    np.testing.assert_array_equal(own.lower[place], lp.col_lower_)
    np.testing.assert_array_equal(own.upper[place], lp.col_upper_)
    np.testing.assert_array_equal(own.integer[place], [int(k) == 1 for k in lp.integrality_])
    np.testing.assert_array_equal(own.cost[place], lp.col_cost_)
    assert (own.offset, own.maximise) == (lp.offset_, True)
    sides = {name: (low, high) for name, low, high in
             zip(lp.row_names_, lp.row_lower_, lp.row_upper_, strict=True)}  # fmt: skip
    (block,) = model.blocks.values()
    relation = block.relation
    for name, low, high in zip(
        relation.labels["name"], relation.lower, relation.upper, strict=True
    ):
        assert sides.pop(name) == (low, high)
    assert not sides


def test_a_packed_file_is_read(tmp_path):
    with gzip.open(tmp_path / "test.mps.gz", "wt") as file:
        file.write(CLASSICAL)
    assert solve(read(tmp_path / "test.mps.gz")).objective == -7


def test_both_triangles_of_a_matrix_say_what_one_says(tmp_path):
    text = CLASSICAL.replace("ENDATA\n", "")
    for word, lines in (
        ("QUADOBJ", " XONE XONE 4\n XONE YTWO 2\n YTWO YTWO 4\n"),
        ("QMATRIX", " XONE XONE 4\n XONE YTWO 2\n YTWO XONE 2\n YTWO YTWO 4\n"),
    ):
        (tmp_path / "q.mps").write_text(text + word + "\n" + lines + "ENDATA\n")
        # x + 2 y - z + 2 x^2 + 2 x y + 2 y^2 with z = 7 + y and x >= 1: least at y = -3/4
        assert solve(read(tmp_path / "q.mps"), "scip").objective == pytest.approx(-5.125, abs=1e-5)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("LIM1         4", "LIM1       four", r"line 14 = 'four': a number"),
        ("LIM1         4", "LIM9         4", r"line 14 = 'LIM9': a row named before"),
        ("LIM1         4", "LIM1       inf", r"line 14 = 'inf': a finite number"),
        (" UP BND       XONE", " UP BND       NONE", r"line 17 = 'NONE': a column named before"),
        (" UP BND       XONE", " UQ BND       XONE", r"line 17 = 'UQ': FR, MI, PL"),
        ("BOUNDS", "CONES", r"line 16 = 'CONES': a section of NAME"),
        ("ENDATA\n", "", r"line 19 = '': ENDATA"),
        ("ENDATA", "QCMATRIX LIM1\nENDATA", r"line 20 = 'QCMATRIX': a section"),
        ("ENDATA", "QSECTION LIM1\nENDATA", r"line 20 = 'QSECTION LIM1': squares in the objective"),
        ("ENDATA", "INDICATORS\n IF LIM1 XONE 2\nENDATA", r"line 21 = 'IF LIM1 XONE 2': IF, a row"),
        ("ENDATA", "INDICATORS\n IF LIM1 XONE 1\nENDATA", r"path = .*literal must be a binary"),
        ("ENDATA", "SOS\n XONE 1\nENDATA", r"line 21 = 'XONE 1': S1 or S2 and a name"),
        (" E  MYEQN", " E  MYEQN\n E  MYEQN", r"line 7 = 'MYEQN': each row once"),
        (" E  MYEQN", " E  MY EQN", r"line 6 = 'E MY EQN': 2 words"),
        (" UP BND       XONE         4", " SC BND       XONE   1e30", r"path = .*finite bounds"),
    ],
)
def test_a_malformed_mps_file_is_refused_by_line(tmp_path, old, new, said):
    text = CLASSICAL.replace(old, new, 1)
    assert text != CLASSICAL
    (tmp_path / "test.mps").write_text(text)
    with pytest.raises(InputError, match=said):
        read(tmp_path / "test.mps")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x + y\n", r"line 1 = 'x \+ y': Minimize or Maximize before"),
        ("min\n x\nst\n x 3\nend\n", r"line 4 = '3': <= or"),
        ("min\n x\nst\n x <= y\nend\n", r"line 4 = 'y': a number"),
        ("min\n x\nst\n x <= 3\n", r"line 4 = '': End"),
        ("min\n x\nst\n a: x <= 3\n a: x >= 1\nend\n", r"line 5 = 'a': each row once"),
        ("min\n x\nst\n [ x ^2 ] <= 3\nend\n", r"line 4 = '\[': .*"),
        ("min\n x\nst\n y >= 0\n x + [ x ^2 ] <= 3\nend\n", r"line 5 = '\[': squares in"),
        ("min\n [ x ^3 ]\nst\n x <= 3\nend\n", r"line 2 = '3': 2, the only power"),
        ("min\n x\nst\n b = 2 -> x >= 3\nend\n", r"line 4 = '2': 0 or 1"),
        ("min\n x\nst\n x >= 1 §\nend\n", r"line 4 = '§': a number, a name or a sign"),
        ("min\n x\nsos\n s: S3:: x:1\nend\n", r"line 4 = 'S3': S1 or S2"),
        ("min\n x\nbounds\n 3 <= 4\nend\n", r"line 4 = '4': the name of a column"),
        ("min\n x y\nend\n", r"line 2 = 'y': the objective's next term"),
    ],
)
def test_a_malformed_lp_file_is_refused_by_line(tmp_path, text, said):
    (tmp_path / "m.lp").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        read(tmp_path / "m.lp")


def test_other_endings_are_refused(tmp_path):
    (tmp_path / "m.nl").write_text("")
    with pytest.raises(InputError, match=r"must end in \.mps, \.qps, \.lp"):
        read(tmp_path / "m.nl")


def test_an_upper_bound_below_0_takes_the_lower_one_away_where_none_is_given(tmp_path):
    (tmp_path / "m.mps").write_text(RULES.replace(" LO BND e -8\n", ""))
    assert read(tmp_path / "m.mps")["e"].lower == -INF


def test_a_packed_file_that_holds_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("optsched.instances.text_files.LARGEST_UNPACKED", 2**20)
    bomb, text = tmp_path / "model.mps.gz", b"ROWS\nENDATA\n"
    bomb.write_bytes(gzip.compress(text + b"*" * (2**20 - len(text))))
    assert read(bomb).columns == 0
    bomb.write_bytes(gzip.compress(text + b"*" * (2**20 - len(text) + 1)))
    with pytest.raises(InputError, match="at most 1048576 bytes; unpack it first"):
        read(bomb)


@pytest.mark.parametrize("ending", ["mps", "lp"])
def test_a_damaged_packed_file_is_refused(tmp_path, ending):
    damaged = bytearray(gzip.compress(b"ROWS\n" * 2000))
    damaged[40] ^= 255
    (tmp_path / f"model.{ending}.gz").write_bytes(damaged)
    with pytest.raises(InputError, match=r"model\.(mps|lp)\.gz"):
        read(tmp_path / f"model.{ending}.gz")


def test_an_lp_file_keeps_the_sense_and_an_mps_file_holds_the_negative(tmp_path):
    m = Model("most")
    m.maximize(m.integer("x", upper=3))
    again = {}
    for ending in ("mps", "lp"):
        m.write(tmp_path / f"most.{ending}")
        again[ending] = read(tmp_path / f"most.{ending}")
    assert (again["lp"].maximise, solve(again["lp"]).objective) == (True, 3)
    assert (again["mps"].maximise, solve(again["mps"]).objective) == (False, -3)
