"""What ``optsched.ratios`` takes, refuses, and gives."""

from dataclasses import replace

import covering
import numpy as np
import pandas as pd
import pytest

import optsched as osd
from optsched.errors import InputError
from optsched.instances.document import save
from optsched.study import Ratios, Store

INSTANCE = covering.Cover(price=[3, 4, 10], size=[2, 3, 5], demand=5)


def worst_fit(instance, rng):
    """Take all."""
    return covering.everything(instance, rng)


def names(found):
    return [row.instance for row in found.rows]


def test_instances_are_objects_sequences_mappings_and_files(tmp_path):
    file = tmp_path / "cover.json"
    save(INSTANCE, file)
    given = {
        "instance": INSTANCE,
        "instance[1]": [str(file), INSTANCE],
        "here": {"here": INSTANCE},
        "cover": file,
    }
    for name, instances in given.items():
        found = osd.ratios("covering", "greedy", instances=instances)
        assert names(found)[-1] == name
        assert {row.optimum for row in found.rows} == {7.0}


def test_a_table_is_refused_where_the_problem_imports_none():
    table = pd.DataFrame({"release_time": [0, 1], "items": [3, 4]})
    with pytest.raises(InputError):
        osd.ratios("covering", "greedy", instances=table)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"instances": 3}, "instances = 3: a Cover, a DataFrame"),
        ({"instances": [INSTANCE, None]}, r"instance\[1\] = None"),
        ({"instances": []}, "one instance or more"),
        ({"instances": INSTANCE, "grid": {"items": 4}}, "left out: instances are given"),
        ({"instances": ["a.json"]}, "a.json"),
        ({"seeds": 0}, "seeds = 0"),
        ({"first_seed": -1}, "first_seed"),
        ({"seeds": [1, 2], "first_seed": 3}, "left out: the seeds are listed"),
        ({"seeds": [1, 1]}, "given once"),
        ({"workers": 0}, "workers"),
        ({"time_limit": -1}, "time_limit"),
        ({"heuristics": []}, "one or more of"),
    ],
)
def test_what_is_refused_is_refused_before_anything_runs(asked, said):
    ran = []
    heuristic = osd.Heuristic("greedy", lambda *_: ran.append(1), "", "")
    problem = replace(covering.PROBLEM, heuristics={"greedy": heuristic})
    with pytest.raises(InputError, match=said):
        osd.ratios(problem, **{"heuristics": ["greedy"], **asked})
    assert not ran


def test_a_number_of_seeds_counts_from_the_first():
    found = osd.ratios("covering", "greedy", grid={"items": 4}, seeds=2, first_seed=5)
    assert [row.seed for row in found.rows] == [5, 6]
    listed = osd.ratios("covering", "greedy", grid={"items": [4]}, seeds=[5, 6])
    assert [row.cost for row in listed.rows] == [row.cost for row in found.rows]


def test_without_a_word_all_heuristics_run_on_the_generator_s_defaults():
    problem = replace(
        covering.PROBLEM, heuristics={"greedy": covering.PROBLEM.heuristics["greedy"]}
    )
    (row,) = osd.ratios(problem).rows
    assert (row.heuristic, row.instance) == ("greedy", "seed=0")


@pytest.mark.parametrize("workers", [1, 2])
def test_functions_and_names_stand_side_by_side(workers):
    found = osd.ratios("covering", [worst_fit, "greedy"], instances=INSTANCE, workers=workers)
    assert [row.heuristic for row in found.rows] == ["worst_fit", "greedy"]
    assert found.rows[0].ratio_low == 17 / 7


def test_a_store_keeps_what_is_there_and_needs_names(tmp_path):
    asked = {"grid": {"items": 4}, "seeds": 2, "store": tmp_path / "runs.sqlite"}
    first = osd.ratios("covering", "greedy", **asked)
    steps = []
    again = osd.ratios("covering", "greedy", **asked, progress=steps.append)
    assert steps[-1].computed == 0
    assert again.rows == first.rows
    with Store.reading(tmp_path / "runs.sqlite") as store:
        assert Ratios.of(store) == again
    with pytest.raises(InputError, match=r"heuristics\[0\].*a function with a name"):
        osd.ratios("covering", [lambda instance, rng: None], **asked)


@pytest.fixture(scope="module")
def found():
    return osd.ratios("covering", ["greedy", worst_fit], grid={"items": [4, 5]}, seeds=3)


def test_ratios_print_their_summary(found):
    lines = repr(found).splitlines()
    assert lines[0] == "6 of 6 instances"
    assert [line.split()[0] for line in lines[1:]] == ["heuristic", "greedy", "worst_fit"]


def test_ratios_are_tables(found):
    assert len(found.table()) == len(found.rows) == 12
    assert found.summary()["measured"].tolist() == [6, 6]
    assert len(found.summary(by=["heuristic", "items"])) == 4
    (pair,) = found.pairs().to_dict("records")
    assert (pair["first"], pair["second"], pair["instances"]) == ("greedy", "worst_fit", 6)
    for ask in (found.summary, found.pairs):
        with pytest.raises(InputError, match="by = 'colour': one of problem, instance"):
            ask(by=["colour"])


@pytest.mark.parametrize("y", ["ratio", "cost", "seconds"])
@pytest.mark.parametrize("x", [None, "items", "seed"])
def test_ratios_are_drawn_by_any_column(found, y, x, tmp_path):
    found.plot(y, x=x).savefig(tmp_path / "picture.svg")
    assert "<svg" in (tmp_path / "picture.svg").read_text()


def test_a_column_s_picture_shows_its_means_and_how_many_there_are(found):
    (axes,) = found.plot("cost", x="items").axes
    line = {one.get_label(): one for one in axes.get_lines()}["greedy"]
    table = found.table()
    means = table[table["heuristic"] == "greedy"].groupby("items")["cost"].mean()
    assert np.allclose(line.get_ydata(), means)
    assert "n = 3" in axes.figure._supxlabel.get_text()
    with pytest.raises(InputError, match="y = 'colour'"):
        found.plot("colour")


def test_ratios_in_memory_make_the_whole_page_with_functions_and_given_instances(found, tmp_path):
    page = tmp_path / "page.html"
    found.to_html(page)
    assert "Ratios: covering" in page.read_text()
    assert "worst_fit" in page.read_text()
    osd.ratios("covering", worst_fit, instances={"one": INSTANCE}).to_html(page, "Mine")
    assert "one: the worst ratio of worst_fit" in page.read_text()
