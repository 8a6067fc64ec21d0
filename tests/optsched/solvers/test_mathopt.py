"""SCIP, GLOP, PDLP and HiGHS behind MathOpt: statuses, duals, options, refusals."""

import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solver_models import infeasible, knapsack, market_split, unbounded, with_time_for_a_point

from optsched import InputError, Model, UnsupportedError, solve
from optsched.solvers.dual_bound import dual_bound
from optsched.solvers.mathopt.writer import build
from optsched.solvers.options import Options
from optsched.solvers.registry import backend
from optsched.solvers.solution import Limit, Status
from optsched.testing.endings import large_linear_program

INF = np.inf
ALL = ["scip", "glop", "pdlp"]
MIXED = ["scip"]
TAKES = [*((solver, False) for solver in ALL), *((solver, True) for solver in MIXED)]
"""Each solver with the kinds of variable it takes: integer or not."""
DUAL = ["glop", "pdlp"]


# how a solve ends


@pytest.mark.parametrize("solver", MIXED)
def test_a_mixed_integer_optimum_is_proven_with_its_bound(solver):
    solution = solve(knapsack(), solver)
    assert solution.status is Status.OPTIMAL
    assert solution.checked
    assert (solution.objective, solution.bound, solution.limit) == (9.5, 9.5, None)
    assert solution["take"].tolist() == [0, 1, 1]


@pytest.mark.parametrize("solver", ALL)
def test_a_linear_optimum_is_proven_with_its_bound(solver):
    solution = solve(knapsack(integer=False), solver)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(9.5, abs=1e-6)
    assert solution.bound == pytest.approx(9.5, abs=1e-6)
    assert solution.bound >= solution.objective


@pytest.mark.parametrize(("solver", "integer"), TAKES)
def test_no_objective_without_end_is_an_optimum(solver, integer):
    assert solve(unbounded(integer=integer), solver).status is Status.UNBOUNDED


@pytest.mark.parametrize(("solver", "integer"), TAKES)
def test_infeasible_is_told(solver, integer):
    assert solve(infeasible(integer=integer), solver).status is Status.INFEASIBLE


@pytest.mark.parametrize("solver", ALL)
def test_sides_that_exclude_each_other_are_infeasible(solver):
    m = Model()
    x = m.continuous("x", 2, upper=1)
    m.add("impossible", x.sum().between(2, 1))
    assert solve(m, solver).status is Status.INFEASIBLE


@pytest.mark.parametrize("solver", ALL)
def test_a_model_without_objective_is_solved_by_any_point(solver):
    m = Model()
    x = m.continuous("x", 2, upper=9)
    m.add("sum", x.sum() == 3)
    assert solve(m, solver).status is Status.OPTIMAL


def test_a_feasible_unbounded_program_is_not_called_infeasible():
    # HiGHS's presolve calls this one infeasible, and so would we without a second look
    m = Model()
    x = m.continuous("x", 5, lower=[-INF, -2, -3, 0, -INF], upper=[INF, 4, INF, 4, 4])
    twice = np.array([6.0, 1, -4, -1, 1])
    m.add("first", x @ twice <= 8)
    m.add("second", x @ np.array([0.0, 1, 0, 0, 4]) <= 12)
    m.add("third", x @ np.array([-4.0, 7, 2, -3, 0]) <= 17)
    m.add("fourth", x @ twice >= -3)
    m.minimize(x @ np.array([-4.0, 5, 1, 8, 8]))
    assert not m.violations({"x": np.zeros(5)})
    for solver in ("highs", *ALL):
        assert solve(m, solver).status is Status.UNBOUNDED


@pytest.mark.parametrize("solver", MIXED)
def test_a_time_limit_reads_as_such(solver):
    solution = with_time_for_a_point(lambda t: solve(market_split(), solver, time_limit=t), 0.3)
    assert solution.status is Status.FEASIBLE
    assert solution.limit is Limit.TIME
    assert solution.bound == 0
    assert solution.objective > 0


@pytest.mark.parametrize("solver", ["glop", "pdlp"])
def test_a_linear_program_out_of_time_has_no_optimum(solver):
    solution = solve(large_linear_program(), solver, time_limit=0.05)
    assert solution.limit is Limit.TIME
    assert solution.status in (Status.FEASIBLE, Status.NO_SOLUTION)
    assert solution.gap is None or solution.gap > 1e-6


def test_node_limits_read_as_such():
    solution = solve(market_split(), "scip", extra={"limits/nodes": 3}, time_limit=20)
    assert solution.limit is Limit.NODES
    assert solution.nodes is not None
    assert solution.nodes <= 3


@pytest.mark.parametrize("solver", MIXED)
def test_a_gap_asked_for_ends_the_search_without_a_claim_of_optimality(solver):
    solution = solve(market_split(), solver, absolute_gap=300.0, time_limit=20)
    assert solution.status is Status.FEASIBLE
    assert solution.limit is Limit.GAP
    assert solution.objective - solution.bound <= 300


@pytest.mark.parametrize(
    ("solver", "model"),
    [("scip", market_split), ("glop", large_linear_program), ("pdlp", large_linear_program)],
)
def test_the_stop_event_ends_a_solve(solver, model):
    stop = threading.Event()
    timer = threading.Timer(0.3, stop.set)
    timer.start()
    solution = solve(model(), solver, stop=stop, time_limit=60)
    timer.join()
    assert solution.status is Status.INTERRUPTED
    assert solution.limit is None


# duals


@pytest.mark.parametrize("maximise", [True, False])
@pytest.mark.parametrize("solver", DUAL)
def test_duals_are_what_the_optimum_changes_by(solver, maximise):
    costs, width = np.array([3.0, 1.0, 2.5]), 1e-3

    def program(shift: float = 0.0, column: float = 0.0) -> Model:
        m = Model()
        x = m.continuous("x", 3, lower=np.array([column, 0, 0]), upper=[column, 4, 4])
        m.add("most", x @ np.array([1.0, 2.0, 1.0]) <= 5 + shift)
        m.add("least", x.sum() >= 1 + shift)
        m.add("same", x[1] - x[2] == 0.5 + shift)
        m.add("free", x.sum().between(-INF, INF))
        (m.maximize if maximise else m.minimize)(x @ costs)
        return m

    base = solve(program(), solver)
    moved = solve(program(shift=width), solver)
    change = (moved.objective - base.objective) / width
    total = base.dual("most") + base.dual("least") + base.dual("same")
    assert float(total) == pytest.approx(change, abs=1e-4)
    assert abs(change) > 0.1
    assert base.dual("free") == pytest.approx(0, abs=1e-6)
    aside = solve(program(column=width), solver)
    change = (aside.objective - base.objective) / width
    assert float(base.reduced_costs["x"][0]) == pytest.approx(change, abs=1e-4)


def test_scip_gives_no_duals():
    with pytest.raises(KeyError, match="no duals"):
        solve(knapsack(integer=False), "scip").dual("weight")


def random_program(seed: int) -> Model:
    """A small program with free, half-bounded and boxed variables."""
    rng = np.random.default_rng(seed)
    n, rows = int(rng.integers(1, 7)), int(rng.integers(1, 6))
    m = Model()
    upper = np.where(rng.random(n) < 0.5, INF, rng.integers(1, 9, n))
    lower = np.where(rng.random(n) < 0.2, -INF, rng.integers(-3, 1, n))
    x = m.continuous("x", n, lower=lower, upper=upper)
    a = rng.integers(-4, 9, (rows, n)) * (rng.random((rows, n)) < 0.6)
    m.add("le", a @ x <= rng.integers(1, 20, rows).astype(float))
    if rng.random() < 0.5:
        m.add("range", (a[0] @ x).between(-3.0, 4.0))
    cost = rng.integers(-5, 9, n).astype(float)
    (m.minimize if rng.random() < 0.5 else m.maximize)((x * cost).sum() + 1)
    return m


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6))
def test_solvers_agree_on_linear_programs_and_no_bound_is_false(seed):
    m = random_program(seed)
    answers = {solver: solve(m, solver, time_limit=10) for solver in ALL}
    simplex = answers["glop"]
    assert {answers[s].status for s in ("glop", "scip")} == {simplex.status}
    first_order = answers["pdlp"]
    if simplex.status is not Status.OPTIMAL:
        assert first_order.status in (simplex.status, Status.NO_SOLUTION)
        return
    assert first_order.status in (Status.OPTIMAL, Status.FEASIBLE)
    for solution in answers.values():
        assert solution.objective == pytest.approx(simplex.objective, rel=1e-6, abs=1e-6)
    sign = -1 if m.maximise else 1
    if first_order.bound is not None:
        over = sign * (first_order.bound - simplex.objective)
        assert over <= 1e-9 * max(1, abs(simplex.objective))


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.floats(0, 10))
def test_any_multipliers_bound_the_optimum(seed, size):
    m = random_program(seed)
    best = solve(m, "glop")
    if best.status is not Status.OPTIMAL:
        return
    compiled = m.compile()
    sign = -1 if m.maximise else 1
    rough = np.random.default_rng(seed).normal(0, size, compiled.rows.count)
    exact = np.concatenate([best.dual(name).reshape(-1) for name in compiled.row_blocks])
    for duals in (rough, exact + 1e-3 * rough, exact):
        bound = dual_bound(compiled, duals, best.objective)
        if bound is not None:
            assert sign * (bound - best.objective) <= 1e-9 * max(1, abs(best.objective))


def test_exact_multipliers_of_a_boxed_program_give_the_optimum_as_bound():
    m = knapsack(integer=False)
    compiled = m.compile()
    assert dual_bound(compiled, np.array([2.0]), 0.0) == pytest.approx(9.5, abs=1e-12)
    assert dual_bound(compiled, np.array([2.0]), 0.0) >= 9.5
    assert dual_bound(compiled, np.array([np.nan]), 0.0) == pytest.approx(15.5)


def test_multipliers_prove_nothing_where_a_variable_may_grow_without_end():
    m = Model()
    x = m.continuous("x", 2)
    m.add("apart", x[0] - x[1] == 0)
    m.maximize(x[0] - 2 * x[1])
    assert dual_bound(m.compile(), np.array([0.0]), -1e300) is None
    assert dual_bound(m.compile(), np.array([1.5]), 0.0) == pytest.approx(0.0, abs=1e-6)


def test_pdlp_claims_no_optimum_without_a_bound():
    m = Model()
    x = m.continuous("x", 3, lower=-INF)
    m.add("two", x[0] + 2 * x[1] - x[2] == 1)
    m.add("three", 3 * x[0] - x[1] + x[2] <= 7)
    m.minimize(3 * (x[0] + 2 * x[1] - x[2]) - (3 * x[0] - x[1] + x[2]))
    solution = solve(m, "pdlp")
    assert solution.objective == pytest.approx(-4, abs=1e-5)
    assert solution.status is Status.FEASIBLE or solution.bound is not None


# options


@pytest.mark.parametrize("solver", MIXED)
def test_a_warm_start_may_be_partial_and_wrong(solver):
    for take in ([0, 1, 1], [1, 1, 1], [np.nan, 1, np.nan]):
        solution = solve(knapsack(), solver, warm_start={"take": np.array(take, dtype=float)})
        assert (solution.status, solution.objective) == (Status.OPTIMAL, 9.5)


def test_a_warm_start_is_the_answer_where_no_better_is_found():
    m = market_split()
    known = with_time_for_a_point(lambda t: solve(m, "scip", time_limit=t), 0.3)
    again = solve(m, "scip", warm_start=known.values, extra={"limits/nodes": 1}, time_limit=20)
    assert again.objective <= known.objective


@pytest.mark.parametrize(
    ("solver", "extra"),
    [
        ("scip", {"limits/gap": 0}),
        ("scip", {"presolving/maxrounds": 0}),
        ("scip", {"lp/pricing": "s"}),
        ("scip", {"conflict/enable": False}),
        ("glop", {"use_dual_simplex": True, "feasibility_rule": "DANTZIG"}),
        ("pdlp", {"termination_criteria.eps_primal_infeasible": 1e-9}),
    ],
)
def test_extra_parameters_go_to_the_solver(solver, extra):
    model = knapsack(integer=solver in MIXED)
    assert solve(model, solver, extra=extra).status is Status.OPTIMAL


@pytest.mark.parametrize(
    ("solver", "extra"),
    [
        ("scip", {"no/such": 1}),
        ("scip", {"limits/gap": -1.0}),
        ("scip", {"limits/gap": None}),
        ("glop", {"no_such": 1}),
        ("glop", {"primal_feasibility_tolerance": -1.0}),
        ("glop", {"feasibility_rule": "NO_SUCH"}),
        ("pdlp", {"num_threads": "two"}),
    ],
)
def test_extra_parameters_a_solver_does_not_know_are_refused(solver, extra):
    with pytest.raises(InputError, match=next(iter(extra)).split(".")[0]):
        solve(knapsack(integer=solver in MIXED), solver, extra=extra)


@pytest.mark.parametrize(
    ("solver", "settings_"),
    [
        ("scip", {"threads": 2}),
        ("glop", {"threads": 2}),
        ("pdlp", {"seed": 1}),
    ],
)
def test_options_a_solver_does_not_support_are_refused(solver, settings_):
    with pytest.raises(UnsupportedError, match=next(iter(settings_))):
        solve(knapsack(integer=False), solver, **settings_)


@pytest.mark.parametrize("solver", ["glop", "pdlp"])
def test_linear_solvers_refuse_integers_by_name(solver):
    with pytest.raises(UnsupportedError, match=r"take\[0\] is integer"):
        solve(knapsack(), solver)


@pytest.mark.parametrize(
    ("solver", "coefficient", "side"),
    [("scip", 1e-10, 1.0), ("scip", 1.0, 1e21)],
)  # fmt: skip
def test_numbers_a_solver_would_change_are_refused(solver, coefficient, side):
    m = Model()
    x = m.continuous("x", 2, upper=1)
    m.add("row", x @ np.array([1.0, coefficient]) <= side)
    with pytest.raises(UnsupportedError, match="rescale"):
        solve(m, solver)


def test_several_threads_and_a_gap_serve_pdlp():
    solution = solve(large_linear_program(500, 40), "pdlp", threads=2, gap=1e-3, time_limit=30)
    assert solution.status in (Status.FEASIBLE, Status.OPTIMAL)
    assert solution.bound >= solution.objective
    assert solution.gap <= 2e-3


def test_the_log_is_shown_on_request(capsys):
    solve(knapsack(), "scip", log=True)
    assert "SCIP Status" in capsys.readouterr().out
    solve(knapsack(), "scip")
    assert capsys.readouterr().out == ""


def test_scip_prints_no_errors_of_its_own_on_a_normal_solve(capfd):
    solve(knapsack(), "scip")
    assert capfd.readouterr().err == ""


# the hand-over


def test_the_proto_holds_the_model_as_it_was_compiled():
    m = knapsack()
    proto = build(m.compile())
    assert list(proto.variables.integers) == [True] * 3
    assert list(proto.linear_constraint_matrix.coefficients) == [3, 2, 2]
    assert list(proto.linear_constraint_matrix.column_ids) == [0, 1, 2]
    assert list(proto.linear_constraints.upper_bounds) == [4]
    assert proto.objective.maximize
    assert proto.objective.offset == 0.5


def test_a_heuristic_of_highs_that_fails_is_left_out():
    """Its feasibility jump ends in an error, with and without presolve."""
    m = Model()
    start, unused, first = m.continuous("start", 3), m.integer("unused", upper=0), m.binary("on", 2)
    m.add("open", -start[1] >= -9993.5)
    m.add("nothing", 0 * unused <= 1)
    m.add("a", start[2] - 1e4 * first[0] >= -9993)
    m.add("b", start[2] + first[0] >= 5)
    m.add("c", start[1] - start[2] - 1e4 * first[1] >= -9993)
    m.add("d", start[2] + 1e4 * first[1] >= 6.5)
    m.minimize(start @ [0.0, 1.0, 8.75])
    solution = solve(m, "highs")
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(55.75)


@pytest.mark.parametrize("first", ["highspy", "ortools.math_opt.python.mathopt"])
def test_ortools_and_highs_live_in_one_process_in_either_order(first):
    program = (
        f"import {first}\n"
        "import numpy as np\n"
        "from optsched import Model, solve\n"
        "m = Model(); x = m.binary('x', 3); m.maximize(x @ np.array([6.0, 5.0, 4.0]))\n"
        "m.add('w', x @ np.array([3.0, 2.0, 2.0]) <= 4)\n"
        "for s in ('highs', 'scip', 'scipy', 'cpsat', 'highs'):\n"
        "    assert solve(m, s).objective == 9, s\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_every_back_end_here_says_its_version_and_what_it_is():
    for name in ALL:
        engine = backend(name)
        assert engine.name == name
        assert engine.version()
        assert engine.solve(knapsack(integer=False).compile(), Options(), None).x is not None


def test_what_glops_presolve_leaves_imprecise_is_solved_without_it():
    m = Model()
    x = m.continuous("x", 5, lower=[-1, 0, -INF, -4, 0], upper=[INF, INF, 3e8, 3e8, 4e8])
    rows = [[400, -1, 0, 0.007, 600], [8e4, 0, 0, 0, 200], [-0.01, 0.5, 8000, 100, 0],
            [-200, 2000, 0, 1e4, 0], [0, 0, 0.005, 40, 4e-4], [0, 6000, 0.005, 0, 0]]  # fmt: skip
    m.add("rows", np.array(rows) @ x <= [1.2e7, 23000, 2, 800, 0, 1400])
    m.maximize(x @ [1, 2, 8, -4, -1])
    solution = solve(m, "glop")
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(17.156052791294638)
