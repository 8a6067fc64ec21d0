"""What a model shows of itself: tables of blocks, generated formulas, rows in words, lowering."""

import pickle
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from optsched import InputError, Model, solve
from optsched.analysis.lowering_report import explain_lowering
from optsched.model.latex import variable_formula
from optsched.model.view import block_formula, block_size, objective_formula
from optsched.model.words import Writer

INF = np.inf


def every_kind() -> Model:
    m = Model("every <kind> & more")
    x = m.binary("x", (3, 4))
    y = m.integer("y", 3, upper=5)
    w = m.continuous("work_load", 3, upper=9.5)
    m.minimize((y * np.array([1, 2.0, 3])).sum() + w.sum() - 5)
    m.add("all", x.sum(axis=1) <= 2)
    m.add("next", x[:, :-1] >= x[:, 1:])
    m.add("weighted", (x * np.arange(4.0)).sum(axis=1) - y * np.array([1.0, 2, 3]) <= 0)
    m.add("by key", x.sum_by(np.arange(12).reshape(3, 4) % 5, 5) + 3 <= np.arange(5.0))
    m.add("ranged", y.between(1, 4))
    m.add("one", (y + w).sum() == 3)
    m.add("picked", y[[2, 0, 1]] - 2.5 * w >= -1)
    m.add("scaled", 1e-7 * y <= 1)
    m.add("given", y <= 3, formula=r"y_{jk}(t) \le C_k")
    m.indicator([x[:, 0], x[:, 1]], y >= w, active=[True, False], name="when")
    m.product(y, w, name="z")
    m.table([1.0, 4, 9, 5, 6, 8], y, name="f")
    m.last_active(x, name="c")
    m.maximum(y, w, 3, name="m")
    m.minimum(x.reshape(2, 6), name="least")
    m.rotated_cone(w, 1, x, name="cone")
    tasks = m.interval(y, 2, y + 2, presence=x[:, 0], name="tasks")
    m.cumulative(tasks, [1, 2, 3], 4, name="resource")
    m.cumulative_profile(tasks, [1, 2], 4, name="by age")
    return m


@pytest.mark.parametrize(
    ("block", "latex"),
    [
        ("all", r"\sum_{s} x_{is} \le 2"),
        ("next", r"x_{ij} \ge x_{i, j + 1}"),
        ("weighted", r"\sum_{s \in K_{i}} \alpha_{is}\, x_{is} \le \gamma_{i}\, y_{i}"),
        ("by key", r"\sum_{(s, t) \in K_{i}} x_{st} \le \beta_{i}"),
        ("ranged", r"1 \le y_{i} \le 4"),
        ("one", r"\sum_{s} y_{s} + \sum_{s} \mathrm{work\_load}_{s} = 3"),
        ("picked", r"y_{s(i)} - 2.5\, \mathrm{work\_load}_{i} \ge -1"),
        ("scaled", r"1 \cdot 10^{-7}\, y_{i} \le 1"),
        ("given", r"y_{jk}(t) \le C_k"),
        ("when", r"x_{i0} = 1 \wedge x_{i1} = 0 \;\Rightarrow\; y_{i} \ge \mathrm{work\_load}_{i}"),
        ("z", r"z_{i} = y_{i} \cdot \mathrm{work\_load}_{i}"),
        ("f", r"f_{i} = f\bigl(y_{i}\bigr)"),
        ("c", r"c_{i} = \max \{j : x_{ij} = 1\}"),
        ("m", r"m_{i} = \max\bigl(y_{i}, \mathrm{work\_load}_{i}, 3\bigr)"),
        ("least", r"\mathrm{least}_{i} = \min_{j} x_{s(i, j), t(i, j)}"),
        ("cone", r"\sum_{j} x_{ij}^2 \le \mathrm{work\_load}_{i}"),
        ("tasks", r"x_{i0} = 1 \;\Rightarrow\; y_{i} + 2 = y_{i} + 2"),
        (
            "resource",
            r"\sum_{i :\, y_{i} \le t < y_{i} + 2} \alpha_{i}\, x_{i0} \le 4 \quad \forall t",
        ),
        (
            "by age",
            r"\sum_{i :\, y_{i} \le t < y_{i} + 2} q_{i}(t - y_{i})\, x_{i0} \le 4 \quad \forall t",
        ),
    ],
)  # fmt: skip
def test_a_block_without_a_formula_is_given_its_generic_entry(block, latex):
    m = every_kind()
    assert block_formula(m, m.blocks[block]) == latex


def test_a_single_variable_in_every_row_has_a_formula():
    m = Model()
    x, most = m.binary("x", shape=2), m.continuous("most")
    m.add("below", x <= most)
    m.add("both", most + most <= 1)
    assert block_formula(m, m.blocks["below"]) == r"x_{i} \le \mathrm{most}"
    assert "most" in block_formula(m, m.blocks["both"])
    assert "<table" in m._repr_html_()


def test_an_objective_has_a_formula_and_variables_keep_the_papers():
    m = every_kind()
    goal = r"\min\; \sum_{s} \alpha_{s}\, y_{s} + \sum_{s} \mathrm{work\_load}_{s} - 5"
    assert objective_formula(m) == goal
    a = m.continuous("a1", 2, formula="A_j(t)")
    m.maximize(a.sum())
    assert objective_formula(m) == r"\max\; \sum A_j(t)"
    assert variable_formula(a) == "A_j(t)"
    assert variable_formula(m["x"]) == "x_{ij}"
    assert objective_formula(Model()) == r"\min\; 0"


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ("next", "x[0, 1] - x[0, 2] >= 0"),
        ("weighted", "x[1, 1] + 2 x[1, 2] + 3 x[1, 3] - 2 y[1] <= 0"),
        ("by key", "x[0, 1] + x[1, 2] + x[2, 3] <= -2"),
        ("ranged", "1 <= y[1] <= 4"),
        ("picked", "y[0] - 2.5 work_load[1] >= -1"),
        ("when", "x[1, 0] = 1 and x[1, 1] = 0 implies y[1] - work_load[1] >= 0"),
        ("z", "z[1] = y[1] * work_load[1]"),
        ("f", "f[1] = (1, 4, 9, 5, 6, 8)[y[1]]"),
        ("c", "c[1] = last active of (x[1, 0], x[1, 1], x[1, 2], x[1, 3])"),
        ("m", "m[1] = max(y[1], work_load[1], 3)"),
        ("cone", "work_load[1] * 1 >= |(x[1, 0], x[1, 1], x[1, 2], x[1, 3])|^2"),
        ("tasks", "y[1] + 2 = y[1] + 2 where x[1, 0] = 1"),
        ("resource", "load of 3 tasks <= 4"),
    ],
)
def test_entries_are_said_in_words(block, text):
    m = every_kind()
    entry = 0 if block == "resource" else 1
    assert m.blocks[block].words(Writer(m), np.array([entry])) == [text]


def test_long_sums_are_cut_and_numbers_are_short():
    m = Model()
    x = m.continuous("x", 100)
    m.add("long", (x / 3).sum() == 123456789)
    text = m.blocks["long"].words(Writer(m), np.array([0]))[0]
    assert text.startswith("0.333333 x[0] + 0.333333 x[1]")
    assert text.endswith("+ ... (88 more) == 123456789")


def test_the_text_view_is_aligned_and_fits_100_columns():
    m = every_kind()
    for i in range(70):
        m.add(f"a block with a rather long name, number {i}", m["x"].sum() <= i)
    lines = repr(m).splitlines()
    assert max(map(len, lines)) <= 100
    table = [line for line in lines if line.startswith("  (")]
    assert len({line.index(" linear ") for line in table if " linear " in line}) == 1
    assert lines[-1] == f"... and {len(m.blocks) - 60} more"
    assert lines[0] == "every <kind> & more:"  # the totals did not fit
    assert f"{m.columns} variables" in lines[1]
    assert repr(Model("short")).startswith("short: 0 variables")


def test_sizes_count_what_the_block_says():
    m = every_kind()
    size = block_size(m, m.blocks["weighted"])
    # the first of four coefficients is zero
    assert (size.rows, size.columns, size.nonzeros) == (3, 3 * 3 + 3, 3 * 3 + 3)
    assert block_size(m, m.blocks["resource"]).rows == 1


class Tags(HTMLParser):
    """Collects text, and fails on tags that do not close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        assert tag not in ("script", "link", "style", "img")
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_the_notebook_view_is_well_formed_and_leaves_colours_to_the_page():
    m = every_kind()
    html = m._repr_html_()
    reader = Tags()
    reader.feed(html)
    assert not reader.open
    assert not re.search(r"(?<![-\w])color:|background:(?!transparent)", html)
    assert "every <kind> & more" in reader.text  # escaped
    for block in m.blocks.values():
        assert f"$\\displaystyle {block_formula(m, block)}$" in reader.text
    assert reader.text.count("$") == 2 * (1 + len(m.variables) + len(m.blocks))


def test_models_with_nothing_in_them_show_themselves():
    m = Model("empty")
    assert repr(m).startswith("empty: 0 variables")
    none = m.continuous("none", (0, 3))
    m.add("nothing", none <= 1)
    m.minimize(none.sum())
    assert "(nothing)" in repr(m)
    assert "none" in m._repr_html_()


# lowering


def test_a_lowering_report_counts_what_lowering_adds():
    m = every_kind()
    report = explain_lowering(m, "highs")
    without = m.without("cone")
    compiled = without.compile()
    assert report.columns == len(compiled.cost) - m.columns
    assert report.rows == compiled.rows.count
    by_name = {b.name: b for b in report.blocks}
    assert by_name["next"].native
    assert not by_name["z"].native
    assert by_name["when"].largest == 9.5  # y >= w where y >= 0 and w <= 9.5
    assert "highs does not take it" in str(report)
    assert "outer approximation" in by_name["cone"].why


def test_a_report_tells_what_is_native_and_what_cannot_be_lowered():
    m = Model()
    x, b = m.integer("x", upper=INF), m.binary("b")
    m.indicator(b, x <= 1, name="when")
    assert explain_lowering(m, "cpsat").blocks[0].native
    assert "x lacks a finite bound" in explain_lowering(m, "highs").blocks[0].why
    with pytest.raises(InputError, match="solver"):
        explain_lowering(m, "none")


# pickling


def test_pickling_a_large_model_drops_nothing():
    n = 100_000
    m = Model("large")
    x = m.integer("x", n, upper=np.arange(n) % 5 + 1.0, formula="x_i")
    b = m.binary("b", n)
    m.minimize((x * (1.0 + np.arange(n))).sum())
    m.add("rows", (x * 2.0).sum_by(np.arange(n) % 1000, 1000) >= 50, formula="r")
    m.indicator(b, x <= 1, name="when")
    copied = m.copy("copied")
    copied.add("more", copied["x"] <= 4)
    for original in (m, copied):
        data = pickle.dumps(original)
        assert len(data) < 100 * n  # arrays, not objects for each variable
        other = pickle.loads(data)
        assert repr(other) == repr(original)
        assert [b.formula for b in other.blocks.values()] == [
            b.formula for b in original.blocks.values()
        ]
        ours, theirs = original.compile(), other.compile()
        assert (ours.rows.matrix != theirs.rows.matrix).nnz == 0
        for field in ("cost", "lower", "upper", "integer"):
            np.testing.assert_array_equal(getattr(ours, field), getattr(theirs, field))
        np.testing.assert_array_equal(ours.rows.lower, theirs.rows.lower)
        np.testing.assert_array_equal(ours.rows.upper, theirs.rows.upper)


def test_a_copy_of_many_copies_is_pickled_and_goes_on():
    m = Model()
    x = m.binary("x", 3)
    m.maximize(x.sum())
    for i in range(300):
        m = m.copy()
        m.add(f"row {i}", x.sum() <= 2)
    other = pickle.loads(pickle.dumps(m))
    other.add("last", other["x"].sum() <= 1)
    assert solve(other).objective == 1
