"""The numbers of models, what tolerances let through, and answers that hang on that."""

import numpy as np
import pytest

from optsched import InputError, Model, solve
from optsched.analysis.numerics import conditioning
from optsched.solvers.backend import MIXED_INTEGER, SolverResult
from optsched.solvers.options import Options
from optsched.solvers.solution import Solution, Status
from optsched.solvers.tolerances import row_tolerances, switches, with_warning


def block(model, name, solver="highs"):
    return next(b for b in conditioning(model, solver).blocks if b.name == name)


def opened(big, upper=40.0):
    """Work of 12, on a machine that is opened or not."""
    m = Model("one machine")
    load, on = m.continuous("load", upper=upper), m.binary("on")
    m.add("open", load <= big * on)
    m.add("work", load >= 12)
    m.minimize(load + 100 * on)
    return m


def idle(big):
    """Two machines of which one is enough; nothing bounds their loads."""
    m = Model("idle")
    load, on = m.continuous("load", 2), m.binary("on", 2)
    m.add("open", load <= big * on)
    m.add("enough", on.sum() >= 1)
    m.minimize(on.sum())
    return m


def test_ranges_are_of_sizes_other_than_nought():
    m = Model()
    x = m.continuous("x", 3, upper=1)
    m.add("wide", x @ [1e-3, 0, -2e4] <= 7)
    m.add("bare", 0 * x[0] <= 1)
    m.minimize(x @ [0, 5, -0.25])
    found = conditioning(m)
    assert found.costs == (0.25, 5)
    wide, bare = found.blocks
    assert (wide.rows, wide.smallest, wide.largest) == (1, 1e-3, 2e4)
    assert (bare.smallest, bare.largest) == (0, 0)
    assert conditioning(Model()).blocks == ()


def test_a_big_m_stands_beside_the_one_that_bounds_imply():
    found = block(opened(1e6), "open")
    assert (found.switched, found.big_m) == (1, 1e6)
    assert 40 <= found.implied <= 40 * (1 + 2**-9)  # rounded up to ten binary digits
    assert found.by_whole == pytest.approx(found.implied * 1e-6)
    assert block(opened(1e6), "work").by_whole == 0


def test_without_a_bound_no_smaller_one_is_implied():
    found = block(opened(1e6, upper=np.inf), "open")
    assert (found.big_m, found.implied, found.by_whole) == (1e6, 1e6, 1)


@pytest.mark.parametrize(("big", "rows"), [(999, 0), (1000, 1)])
def test_a_constant_is_a_big_m_from_a_thousand_on(big, rows):
    assert block(opened(big), "open").switched == rows


def test_a_constant_counts_beside_a_continuous_column_only():
    m = Model()
    x, z, fixed = m.continuous("x"), m.integer("z", 2, upper=9), m.integer("f", lower=3, upper=3)
    m.add("whole", 1e6 * z[0] + z[1] >= 5)
    m.add("known", x + 1e6 * fixed >= 5)
    m.add("alone", 1e6 * x >= 5)
    m.add("mixed", x - 1e6 * z[0] + 2e6 * z[1] >= 5)
    assert switches(m.compile(set())).tolist() == [0, 0, 0, 2e6]


def test_a_row_is_held_to_its_side_less_what_whole_numbers_contribute():
    m = Model()
    x, z = m.continuous("x"), m.integer("z", upper=3)
    many = m.integer("many")
    m.add("small", x <= 0.5)
    m.add("side", x <= 5e6)
    m.add("least", x >= -7e6)
    m.add("both", x - 4e6 * z <= 2e6)  # 2e6 .. 14e6 is left
    m.add("whole", z <= 5e9)  # decided exactly
    m.add("endless", x + many >= 1)
    found = row_tolerances(m.compile(set()))
    assert found == pytest.approx([1e-6, 5, 7, 14, 0, np.inf])


def test_a_row_is_held_to_what_its_columns_can_move():
    m = Model()
    x, z = m.continuous("x", upper=50), m.integer("z", upper=3)
    m.add("divided", x / 1e8 + z <= 3)
    assert row_tolerances(m.compile(set())) == pytest.approx([5e-13])


def test_blocks_are_lowered_for_the_solver_that_is_asked():
    m = Model()
    on, load = m.binary("on"), m.continuous("load", upper=5000)
    m.indicator(on, load <= 2, name="off")
    m.minimize(load - on)
    assert block(m, "off:upper").big_m == 4998
    assert conditioning(m, "scip").blocks == ()
    with pytest.raises(InputError, match="solver"):
        conditioning(m, "none")


def test_a_model_with_a_cone_is_looked_at_beside_it():
    m = Model()
    u, v, w = (m.continuous(name, upper=2) for name in "uvw")
    m.rotated_cone(u, v, w.reshape(1))
    m.add("row", u + 3 * v <= 4)
    m.minimize(-w)
    assert [b.name for b in conditioning(m).blocks] == ["row"]


def test_the_table_names_the_blocks_in_doubt():
    assert "tenth or more" not in str(conditioning(opened(1e6)))
    shown = str(conditioning(idle(1e6)))
    assert "(open)" in shown
    assert shown.endswith("tolerances let a tenth or more through: open")


@pytest.mark.parametrize(("big", "doubtful"), [(0.99e5, ()), (1.01e5, ("open",))])
def test_a_tenth_of_a_unit_is_in_doubt(big, doubtful):
    assert conditioning(idle(big)).doubtful == doubtful


@pytest.mark.parametrize(("big", "warned"), [(0.99e5, False), (1.01e5, True), (1e7, True)])
def test_an_answer_behind_a_large_constant_says_so(big, warned):
    m = idle(big)
    for answer in (solve(m, "cbc"), solve(m)):
        assert answer.status is Status.OPTIMAL
        assert ("tolerance for whole numbers" in answer.message) is warned
        assert (f"lets {big / 1e6:.3g} through 'open'" in answer.message) is warned


def test_an_answer_says_nothing_where_bounds_make_the_constant_small():
    assert solve(opened(1e8)).message == ""


def test_an_answer_says_nothing_where_a_look_around_it_has_small_constants():
    m = opened(1e8, upper=np.inf)
    m.minimize(m.variables["on"] + m.variables["load"])
    assert conditioning(m).doubtful == ("open",)
    assert solve(m).message == ""


def said_of(form, x):
    solution = Solution(Status.OPTIMAL, 0.0, checked=True, message="")
    return with_warning(solution, form, np.asarray(x, dtype=float)).message


@pytest.mark.parametrize(("load", "warned"), [(1e6 - 1.001, False), (1e6 - 0.999, True)])
def test_a_row_with_more_to_spare_than_a_tolerance_lets_through_is_none_to_hang_on(load, warned):
    assert bool(said_of(opened(1e6, upper=np.inf).compile(set()), [load, 1])) is warned


@pytest.mark.parametrize(("over", "warned"), [(0.0999, False), (0.1001, True)])
def test_a_row_that_a_point_keeps_by_its_tolerance_alone_is_named(over, warned):
    m = Model()
    x = m.continuous("x")
    m.add("large", x >= 2e5)
    m.minimize(x)
    said = said_of(m.compile(set()), [2e5 - over])
    assert ("'large' is kept to within its tolerance only" in said) is warned


def test_a_start_that_a_limit_leaves_standing_is_no_point_of_what_the_solver_was_given():
    form = idle(1e7).compile(set())
    assert said_of(form, [0.0]) == ""
    unchecked = Solution(Status.ERROR, message="broke")
    assert with_warning(unchecked, form, np.zeros(4)) is unchecked


def test_a_point_that_had_to_be_mended_is_what_the_warning_is_of():
    class Rounding:
        """Says at first what breaks the row once it is rounded, then, all whole, what does not."""

        name, native, features = "rounding", frozenset(), MIXED_INTEGER

        def version(self):
            return "1"

        def solve(self, compiled, options, start):
            x = [0, 0.9, 1, 9e-7] if compiled.has_integers else [0, 0, 1, 0]
            return SolverResult(Status.FEASIBLE, np.array(x, dtype=float), bound=0.0)

    solution = solve(idle(1e6), Rounding(), options=Options())
    assert solution["load"].tolist() == [0, 0]
    assert "lets 1 through 'open'" in solution.message
