"""A kind of block from outside the package: solved, printed, checked, explained as any other."""

import itertools
import pickle
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from support.enumeration import counted_case, enumerate_optimum

from optsched import Model, ModelError, UnsupportedError, explain, solve
from optsched.analysis.lowering_report import explain_lowering
from optsched.model import Block
from optsched.model.blocks import Linear, Product, RotatedCone
from optsched.model.blocks.product import product
from optsched.solvers.registry import available, backend
from optsched.testing import Feature, project

sys.path.insert(0, str(Path(__file__).parent))
from exactly_k import ExactlyK, exactly

sys.path.pop(0)

WHOLE = [name for name in sorted(available()) if Feature.INTEGERS in backend(name).features]
"""Back ends that take integers."""


def chosen(seed: int) -> Model:
    """Exactly two of four in each of two rows, which share columns and a budget."""
    rng = np.random.default_rng(seed)
    m = Model("chosen")
    x = m.binary("x", (2, 4))
    exactly(m, 2, x, name="two each")
    m.add("apart", x.sum(axis=0) <= 1)
    m.add("budget", (x * rng.integers(1, 6, (2, 4))).sum() <= 14)
    m.maximize((x * rng.integers(-3, 9, (2, 4))).sum())
    return m


@pytest.mark.parametrize("solver", WHOLE)
@pytest.mark.parametrize("seed", range(3))
def test_every_back_end_finds_the_optimum_that_brute_force_finds(solver, seed):
    m = chosen(seed)
    weights = m.objective.at
    points = (np.array(p, dtype=float) for p in itertools.product((0, 1), repeat=8))
    best = max(
        (float(weights(x)) for x in points
         if (x.reshape(2, 4).sum(axis=1) == 2).all()
         and not m.without("two each").violations({"x": x.reshape(2, 4)})),
        default=None,
    )  # fmt: skip
    answer = solve(m, solver)
    assert answer.objective == best
    assert answer.checked
    assert enumerate_optimum(m).value == best
    assert counted_case("chosen", m).optimum == best


def test_its_rows_allow_the_points_that_it_allows():
    m = Model()
    exactly(m, 2, m.binary("x", 5), name="two")
    found = project(m)
    assert found.stated == found.lowered
    assert len(found.stated) == 10


def test_it_says_itself_in_words_in_latex_and_in_a_notebook():
    m = chosen(0)
    assert "exactly_k" in repr(m)
    assert "  exactly 2 of (x[0, 0], " in repr(m)
    assert r"$\displaystyle |\{j : x_{ij} = 1\}| = 2$" in m._repr_html_()
    exactly(m, 1, m["x"], name="given", formula="K_1")
    assert r"$\displaystyle K_1$" in m._repr_html_()


def test_a_point_is_checked_against_it():
    m = chosen(0)
    x = np.array([[1, 1, 0, 0], [0, 0, 1, 0]])
    (broken,) = m.violations({"x": x})
    assert (broken.block, broken.kind, broken.index) == ("two each", "exactly_k", (1,))
    assert broken.amount == 1.0


def test_a_conflict_names_the_entries_of_it_that_are_needed():
    m = Model()
    x = m.binary("x", (3, 2))
    exactly(m, 2, x, name="both")
    m.add("not here", x[1].sum() <= 1)
    explanation = explain(m)
    assert explanation.blocks == ("both", "not here")
    texts = [member.text for member in explanation.members]
    assert "both[1]: exactly 2 of (x[1, 0], x[1, 1])" in texts
    assert not any("both[0]" in text or "both[2]" in text for text in texts)


def test_a_lowering_report_tells_what_it_becomes():
    report = explain_lowering(chosen(0), "highs").blocks[0]
    assert (report.kind, report.native, report.rows) == ("exactly_k", False, 2)
    assert "the choices sum to the count" in report.why


def test_it_is_copied_dropped_relaxed_and_pickled_as_any_block():
    m = chosen(0)
    assert m.kinds == {"exactly_k"}
    assert m.without("two each").kinds == frozenset()
    assert m.relax().kinds == frozenset()
    assert solve(pickle.loads(pickle.dumps(m))).objective == solve(m).objective


def test_a_name_that_is_taken_and_variables_of_another_model_are_refused():
    m = chosen(0)
    with pytest.raises(ModelError, match="'two each' exists already"):
        exactly(m, 1, m["x"], name="two each")
    with pytest.raises(ModelError, match="'one' uses variables of another model"):
        exactly(m, 1, Model().binary("x", 2), name="one")


# what a kind declares


@dataclass(frozen=True, eq=False)
class OneOfProducts(Block):
    """Exactly one product of neighbours is 1: becomes two kinds, each lowered in turn."""

    of: object
    kind = "one_of_products"
    becomes = (ExactlyK, Product)

    @property
    def shape(self):
        return ()

    def excess(self, x):
        at = np.round(self.of.at(x))
        return np.asarray(abs((at[1:] * at[:-1]).sum() - 1.0))

    def lower(self, model):
        pairs = product(model, self.of[1:], self.of[:-1], name=f"{self.name}:pairs")
        model.add_block(ExactlyK(f"{self.name}:one", "", pairs, 1))


def test_what_a_kind_becomes_is_lowered_in_turn():
    m = Model()
    m.add_block(OneOfProducts("one pair", "", m.binary("x", 4)))
    found = project(m)
    assert found.stated == found.lowered
    assert len(found.stated) == 5  # three of 1 1 0 0 in any place, and 1 1 0 1 and 1 0 1 1
    assert m.compile({"exactly_k"}).nonlinear[0].kind == "exactly_k"


def test_a_kind_that_says_nothing_of_itself_is_still_shown():
    m = Model()
    m.add_block(OneOfProducts("one pair", "", m.binary("x", 4)))
    assert "one_of_products" in repr(m)
    assert r"\text{one_of_products}" in m._repr_html_()


def test_a_kind_without_a_linear_form_is_left_to_solvers_that_take_it():
    class Hidden(OneOfProducts):
        kind = "hidden"
        becomes = ()
        lower = Block.lower

    m = Model()
    m.add_block(Hidden("h", "", m.binary("x", 4)))
    with pytest.raises(UnsupportedError, match="a hidden has no exact linear form"):
        solve(m)


def test_a_kind_that_becomes_what_it_does_not_declare_is_an_error():
    class Liar(OneOfProducts):
        kind = "liar"
        becomes = (Linear, RotatedCone)

    m = Model()
    m.add_block(Liar("l", "", m.binary("x", 4)))
    with pytest.raises(ModelError, match="'l': a liar does not say that it becomes product"):
        m.compile({"rotated_cone"})
