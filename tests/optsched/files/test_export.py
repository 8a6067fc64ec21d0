"""Models in other tools' terms: whatever solves them finds the same optimum."""

import highspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, milp

from optsched import InputError, Model, UnsupportedError, read, solve
from optsched.files.names import name_all
from optsched.solvers.pulp.writer import load_pulp

INF = np.inf


def random_model(seed: int) -> Model:
    """Bounded and feasible at a known point, with every sort of row, bound and kind."""
    rng = np.random.default_rng(seed)
    m = Model("a model, 1st [draft]")
    n = int(rng.integers(1, 4))
    x = m.integer(
        "x y", (n, 2), lower=rng.integers(-4, 0, (n, 2)), upper=rng.integers(0, 5, (n, 2))
    )
    b = m.binary("e1", n)
    z = m.continuous("end", lower=-INF, upper=float(rng.integers(0, 4)))
    w = m.continuous("free", 2, lower=-INF, upper=INF)
    fixed = m.integer("2nd", lower=3, upper=3)
    idle = m.continuous("idle")
    a = rng.integers(-3, 4, (3, n)) / 7
    m.add("2b", (a @ x[:, 0]) + z <= float(rng.integers(1, 9)))
    m.add("two sides", (x.sum(axis=1) + b).between(-5.25, rng.integers(0, 9, n) + 0.1))
    m.add("equal", w - 0.1 * z == 0)
    m.add("at least", z + fixed >= -1.5)
    m.add("no side", z <= INF)
    m.add("nothing", (x - x).sum() <= 3)
    m.indicator(b, x[:, 1] <= 0, name="when")
    m.add("idle", idle <= 4)
    cost = rng.integers(-9, 9, 2 * n).reshape(n, 2) / 3
    goal = (x * cost).sum() + 2.5 * b.sum() + z - w[0] * 0.3 + idle * 0 + float(rng.integers(-3, 4))
    m.maximize(goal) if rng.integers(2) else m.minimize(goal)
    return m


def read_and_solve(path) -> tuple[float, list[str]]:
    engine = highspy.Highs()
    engine.setOptionValue("output_flag", False)
    assert engine.readModel(str(path)) == highspy.HighsStatus.kOk
    for gap in ("mip_rel_gap", "mip_abs_gap"):
        engine.setOptionValue(gap, 0.0)
    engine.run()
    assert engine.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return engine.getInfo().objective_function_value, list(engine.getLp().col_names_)


@pytest.mark.parametrize("ending", ["mps", "lp"])
@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_a_file_has_the_optimum_of_the_model(tmp_path_factory, ending, seed):
    model = random_model(seed)
    path = tmp_path_factory.mktemp("files") / f"model.{ending}"
    names = model.write(path)
    optimum, columns = read_and_solve(path)
    # CBC's reader, for one, ignores a word on the sense: MPS files minimise
    sign = -1.0 if ending == "mps" and model.maximise else 1.0
    assert sign * optimum == pytest.approx(solve(model).objective, abs=1e-6)
    known = {names[column] for column in columns}
    assert known == {model.column_name(i) for i in range(model.columns)}
    assert solve(read(path)).objective == pytest.approx(optimum, abs=1e-6)


@pytest.mark.parametrize("ending", ["mps", "lp"])
def test_numbers_keep_all_their_digits(tmp_path, ending):
    m = Model()
    x = m.continuous("x", 3, lower=np.array([1 / 3, -1e-7, 0.1]), upper=1e9 + 1 / 7)
    a = np.array([0.1 + 0.2, 1 / 3, 1e7 + 1e-8])
    m.add("row", x * a >= np.array([2 / 3, 1e-11, 123456.789012345]))
    m.minimize(x @ (a / 7))
    m.write(tmp_path / f"m.{ending}")
    engine = highspy.Highs()
    engine.setOptionValue("output_flag", False)
    engine.readModel(str(tmp_path / f"m.{ending}"))
    lp, compiled = engine.getLp(), m.compile()
    np.testing.assert_array_equal(lp.col_cost_, compiled.cost)
    np.testing.assert_array_equal(lp.col_lower_, compiled.lower)
    np.testing.assert_array_equal(lp.col_upper_, compiled.upper)
    np.testing.assert_array_equal(lp.row_lower_, compiled.rows.lower)
    np.testing.assert_array_equal(sorted(lp.a_matrix_.value_), sorted(compiled.rows.matrix.data))


def test_names_are_safe_unique_and_tell_where_they_come_from():
    m = Model()
    for name in ("y", "y_0", "y 0", "2d", "e1", "E", "free", "é", "", "a" * 400, "a" * 399 + "b"):
        m.binary(name, (1, 2))
    m.binary("inf")
    m.add("y", m["y"] <= 1)
    m.add("x" * 300, m["y"] <= 1)
    names = name_all(m.compile())
    every = names.columns + names.rows
    assert len(set(every)) == len(every) == m.columns + 4
    assert all(name.isascii() and name.replace("_", "").isalnum() for name in every)
    assert all(name[0].isalpha() and len(name) < 255 for name in every)
    assert not {"inf", "free", "e", "e1"} & {name.lower() for name in every}
    assert names.columns[:2] == ["y_0_0", "y_0_1"]
    assert names.column_sources[:2] == ["y[0, 0]", "y[0, 1]"]
    assert names.original()[names.rows[0]] == "y[0, 0]"


def test_lines_of_an_lp_file_stay_short(tmp_path):
    m = Model()
    x = m.binary("long " * 30, 300)
    m.add("sum", x.sum() <= 7)
    m.maximize(x.sum() / 3)
    m.write(tmp_path / "m.lp")
    assert max(map(len, (tmp_path / "m.lp").read_text().splitlines())) <= 510
    assert read_and_solve(tmp_path / "m.lp")[0] == pytest.approx(7 / 3)


def test_other_endings_and_cones_are_refused(tmp_path):
    m = Model()
    u = m.continuous("u", upper=3)
    with pytest.raises(InputError, match="path"):
        m.write(tmp_path / "m.xls")
    m.rotated_cone(u, 1, u)
    for export in (lambda: m.write(tmp_path / "m.mps"), m.to_pulp, m.to_scipy, m.to_mathopt):
        with pytest.raises(UnsupportedError, match="cone"):
            export()
    assert not list(tmp_path.iterdir())


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_scipy_finds_the_same_optimum(seed):
    model = random_model(seed)
    arguments = model.to_scipy()
    result = milp(**arguments.milp(), options={"mip_rel_gap": 0})
    assert arguments.objective(result.fun) == pytest.approx(solve(model).objective, abs=1e-6)
    other = linprog(**arguments.linprog(), options={"mip_rel_gap": 0})
    assert arguments.objective(other.fun) == pytest.approx(solve(model).objective, abs=1e-6)
    own = {name: v for name, v in arguments.values(result.x).items() if name in model.variables}
    assert model.value(own) == pytest.approx(arguments.objective(result.fun), abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_pulp_finds_the_same_optimum(seed):
    pulp = load_pulp()
    model = random_model(seed)
    problem = model.to_pulp()
    problem.solve(pulp.PULP_CBC_CMD(msg=False, gapRel=0, threads=1))
    assert pulp.LpStatus[problem.status] == "Optimal"
    assert pulp.value(problem.objective) == pytest.approx(solve(model).objective, abs=1e-6)
    assert {v.name for v in problem.variables()} == set(name_all(model.compile()).columns)


@pytest.mark.parametrize("kind", ["integer", "continuous"])
@pytest.mark.parametrize("bounds", [(0, 4), (-3, 4), (-np.inf, np.inf), (2, 2)])
def test_pulp_solves_a_model_with_a_column_in_no_row(kind, bounds):
    pulp = load_pulp()
    m = Model()
    x = m.continuous("x", 2, upper=3)
    getattr(m, kind)("unused", lower=bounds[0], upper=bounds[1])
    m.add("row", x.sum() <= 4)
    m.maximize(x.sum())
    problem = m.to_pulp()
    problem.solve(pulp.PULP_CBC_CMD(msg=False))
    assert pulp.LpStatus[problem.status] == "Optimal"
    assert pulp.value(problem.objective) == pytest.approx(4.0)
    assert bounds[0] <= problem.variablesDict()["unused"].varValue <= bounds[1]


@pytest.mark.parametrize("seed", range(6))
def test_mathopt_finds_the_same_optimum(seed):
    mathopt = pytest.importorskip("ortools.math_opt.python.mathopt")
    model = random_model(seed)
    other = model.to_mathopt()
    assert [v.name for v in other.variables()] == name_all(model.compile()).columns
    parameters = mathopt.SolveParameters(relative_gap_tolerance=0.0, absolute_gap_tolerance=0.0)
    result = mathopt.solve(other, mathopt.SolverType.GSCIP, params=parameters)
    assert result.objective_value() == pytest.approx(solve(model).objective, abs=1e-6)
