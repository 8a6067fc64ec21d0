"""A study file says what to run, or is told what is wrong with it."""

from pathlib import Path

import pytest

import optsched as osd
from optsched.errors import InputError
from optsched.problem import problem
from optsched.study import StudyGrid, run_study
from optsched.study.plan import plan
from optsched.study.spec import parse, presets, read

PAPERS = ["aerialedge", "batch", "drp", "okita", "preemptive"]

WHOLE = """
title = "Covers"
keep = "all"

[limits]
time_limit = 20
gap = 0.1

[[grid]]
problem = "covering"
generator = { items = [4, 6], tightness = 0.5, prices = [[1, 9]] }
seeds = [0, 7]
heuristics = ["greedy", "greedy(epsilon=0.5)"]
bounds = ["fractional"]
exact = [
    "knapsack",
    { formulation = "knapsack", solver = "scipy", gap = 0.0, start = ["greedy"], name = "again" },
    { formulation = "knapsack(spare=1)", memory_limit = 2 },
]
reference = "knapsack"

[[grid]]
problem = "covering"
preset = "tiny"
seeds = 1
"""


@pytest.fixture
def file(tmp_path):
    """Write a study file."""

    def write(text):
        path = tmp_path / "study.toml"
        path.write_text(text)
        return path

    return write


def test_a_file_says_everything_a_grid_has(file):
    spec = read(file(WHOLE))
    assert (spec.title, spec.keep) == ("Covers", "all")
    grid, preset = spec.grids
    assert grid.problem == "covering"
    assert grid.generator == {"items": [4, 6], "tightness": [0.5], "prices": [[1, 9]]}
    assert list(grid.seeds) == [0, 7]
    assert [one.label for one in grid.exact] == ["knapsack", "again", "knapsack(spare=1)"]
    assert [one.options.time_limit for one in grid.exact] == [20, 20, 20]
    assert [one.options.gap for one in grid.exact] == [0.1, 0.0, 0.1]
    assert [one.options.isolate for one in grid.exact] == [False, False, True]
    assert grid.exact[1].start == ("greedy",)
    assert preset.generator == {"items": [4, 6]}
    assert list(preset.seeds) == [0]
    assert preset.heuristics == ["greedy", "everything"]
    assert preset.bounds == ["fractional"]


def test_a_file_runs(file):
    results = run_study(read(file(WHOLE)).grids, workers=1)
    assert results.progress.finished == results.progress.planned == 2 * 2 * 6 + 2 * 4
    assert {row.parameters.get("prices") for row in results.rows} == {(1, 9), None}
    assert {row.status for row in results.rows} <= {"optimal", "feasible"}


def test_instance_files_are_found_beside_the_study(file, tmp_path):
    (tmp_path / "here").mkdir()
    for name in ("a", "b"):
        text = '{"price": [3, 4, 10], "size": [2, 3, 5], "demand": 5}'
        (tmp_path / "here" / f"{name}.json").write_text(text)
    text = '[[grid]]\nproblem = "covering"\nfiles = ["here/*.json"]\nheuristics = ["greedy"]'
    results = run_study(read(file(text)).grids, workers=1)
    assert [Path(row.instance).name for row in results.rows] == ["a.json", "b.json"]
    assert results.progress.planned == 4


def test_what_is_left_out_is_all_heuristics_and_the_reference(file):
    (grid,) = read(file('[[grid]]\nproblem = "covering"')).grids
    whole = plan([grid])
    places = [step.place for step in whole.layouts[0].steps]
    assert ("exact", "knapsack") in places
    assert {label for kind, label in places if kind == "heuristic"} >= {"greedy", "shuffled"}
    assert len(whole.cases) == 1


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("grid = 3", ["grid", "3", "list"]),
        ("", ["grid", "(missing)"]),
        ("[[grid]", ["is not TOML", "line 1"]),
        ("[[grid]]", ["grid[0].problem", "(missing)"]),
        ('[[grid]]\nproblem = "uncovering"', ["grid[0].problem", "uncovering", "covering"]),
        ('[[grid]]\nproblem = "covering"\npreset = "huge"', ["grid[0].preset", "huge", "tiny"]),
        ('[[grid]]\nproblem = "covering"\nseeds = 0', ["grid[0].seeds", "0", "list of seeds"]),
        ('[[grid]]\nproblem = "covering"\nseeds = [-1]', ["grid[0].seeds[0]", "-1"]),
        ('[[grid]]\nproblem = "covering"\nseed = 1', ["grid[0].seed", "seeds, heuristics"]),
        ('[[grid]]\nproblem = "covering"\nfiles = ["*.jsn"]', ["grid[0].files[0]", "*.jsn"]),
        ('[[grid]]\nproblem = "covering"\nseeds = [0, 1, 0, 1]', ["grid[0].seeds[2]", "0", "once"]),
        ('[[grid]]\nproblem = "covering"\nseeds = []', ["grid[0].seeds", "[]"]),
        ('[[grid]]\nproblem = "covering"\nfiles = []', ["grid[0].files", "[]"]),
        (
            '[[grid]]\nproblem = "covering"\nfiles = ["study.toml", "./*.toml"]',
            ["grid[0].files[1]", "study.toml", "once"],
        ),
        (
            '[[grid]]\nproblem = "covering"\ngenerator = { items = [3, 4, 3] }',
            ["grid[0].items[2]", "3", "once"],
        ),
        (
            '[[grid]]\nproblem = "covering"\ngenerator = { items = [] }',
            ["grid[0].items", "[]", "one value or more"],
        ),
        (
            '[[grid]]\nproblem = "covering"\nexact = [{ formulation = "knapsack", limit = 1 }]',
            ["grid[0].exact[0].limit", "time_limit"],
        ),
        (
            '[limits]\ntime_limit = -1\n[[grid]]\nproblem = "covering"',
            ["limits.time_limit", "-1", "greater than 0"],
        ),
        (
            '[limits]\ntime = 1\n[[grid]]\nproblem = "covering"',
            ["limits.time", "memory_limit"],
        ),
        ('keep = "some"\n[[grid]]\nproblem = "covering"', ["keep", "some", "'exact'"]),
    ],
)
def test_a_mistake_is_named_with_its_value_and_what_is_allowed(file, text, named):
    with pytest.raises(InputError) as caught:
        read(file(text))
    for word in named:
        assert word in str(caught.value)


def test_limits_of_a_preset_give_way_to_the_studys_and_those_to_the_grids():
    (grid,) = parse(
        {
            "limits": {"gap": 0.25, "seed": 5},
            "grid": [
                {
                    "problem": "covering",
                    "preset": "limited",
                    "generator": {"items": 9},
                    "limits": {"seed": 6},
                }
            ],
        },
        Path(),
    ).grids
    (exact,) = grid.exact
    assert (exact.options.time_limit, exact.options.gap, exact.options.seed) == (7, 0.25, 6)
    assert grid.generator == {"items": [9], "tightness": [0.3]}
    assert list(grid.seeds) == [0, 1, 2]


@pytest.mark.parametrize("name", ["dsrp", "preemptive_storage", "batch_completion", *PAPERS])
def test_the_papers_own_studies_name_what_there_is(name):
    found = problem(name)
    own = presets(found)
    assert "quick" in own
    assert all(grid.summary for grid in own.values())
    spec = read(found.presets)
    assert len(spec.grids) == len(own)
    assert plan(spec.grids).cases
    assert {grid.x for grid in own.values()} - {None} <= set(found.generator_options.model_fields)


def test_a_solve_that_does_not_support_a_limit_is_refused_before_anything_runs():
    text = {"problem": "covering", "exact": ["cutting"], "limits": {"time_limit": 1}}
    with pytest.raises(InputError, match=r"exact\[0\] = 1.0: cutting does not support time_limit"):
        plan(parse({"grid": [text]}, Path()).grids)


def test_an_instance_counts_once_however_its_options_are_written():
    with pytest.raises(InputError, match=r"instance = 'items=3,seed=0': given once"):
        osd.ratios("covering", ["greedy"], grid={"items": ["3", "3.0"]})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seeds": (4, 4)}, r"seeds\[1\] = 4: given once"),
        ({"seeds": iter((4, 4))}, r"seeds\[1\] = 4: given once"),
        ({"seeds": ()}, "seeds = .*one value or more"),
        ({"generator": {"items": ()}}, "items = .*one value or more"),
        ({"generator": {"items": [(3, [4]), (3, [4])]}}, r"items\[1\] = .*: given once"),
        ({"files": ["a.json", "./a.json"]}, r"files\[1\] = './a.json': given once"),
    ],
)
def test_what_counts_twice_is_refused_from_python_too(change, said):
    with pytest.raises(InputError, match=said):
        run_study([StudyGrid("covering", **change)], workers=1)


def test_every_mistake_of_a_file_is_told_at_once():
    grids = [{"problem": "covering", "seeds": 0}, {"problem": "covering", "preset": 3}]
    with pytest.raises(InputError) as caught:
        parse({"grid": grids, "titel": "x"}, Path())
    assert {problem.field for problem in caught.value.problems} == {
        "grid[0].seeds",
        "grid[1].preset",
        "titel",
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = " + "[" * 5000 + "]" * 5000, "is not TOML"),
        ("[" + ".".join(["a"] * 3000) + "]", "a is not a field here"),
        ("a = " + "9" * 5000, "is not TOML"),
        ('[[grid]]\nproblem = "covering"\nseeds = 1000001', "from 1 to 1000000"),
        (f'[[grid]]\nproblem = "covering"\nseeds = [{2**63}]', "less than 9223372036854775808"),
    ],
)
def test_what_no_study_can_hold_is_told(text, said, tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=said):
        read(file)


def test_seeds_may_be_counted():
    grid = StudyGrid("covering", {"items": [4]}, seeds=3, heuristics=["greedy"], exact=[])
    assert [case.seed for case in run_study([grid], workers=1).cases] == [0, 1, 2]


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path / "absent.toml")


def test_the_format_as_documented_is_accepted():
    import textwrap
    import tomllib

    from optsched.study import spec

    text = spec.__doc__.split("::\n", 1)[1].split("\nFurther fields")[0]
    document = spec.StudyDocument.model_validate(tomllib.loads(textwrap.dedent(text)))
    assert len(document.grid) == 3
    assert len(document.grid[0].exact) == 3
