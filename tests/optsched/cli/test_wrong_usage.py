"""Whatever is typed wrongly is answered by a sentence that names the field, the value, and what is
allowed; nothing has run by then."""

import json
from pathlib import Path

import pytest

WRONG = [
    # words the parser knows
    (["nope"], ["'nope'", "solve"]),
    (["study", "nope"], ["'nope'", "run, show"]),
    (["solve"], ["Missing", "PROBLEM.FORMULATION", "solve --help"]),
    (["solve", "covering.knapsack"], ["Missing", "INSTANCE"]),
    (["problems", "--schema"], ["PROBLEM", "--schema"]),
    (["run", "covering.greedy", "{instance}", "--nope"], ["--nope", "run --help"]),
    (["check", "covering", "{instance}"], ["SCHEDULE", "missing", "check --help"]),
    (["check", "covering", "--proof", "{instance}"], ["INSTANCE", "missing"]),
    (["check", "covering", "{instance}", "{schedule}", "--items", "3"], ["--items", "--online"]),
    (["check", "covering", "--online", "--proof", "a.json"], ["--online", "only one"]),
    (["check", "preemptive", "--theorems", "{batch}"], ["SCHEDULE", "missing"]),
    (["solve", "covering.knapsack", "{instance}", "--gap"], ["--gap", "requires an argument"]),
    (["solve", "covering.knapsack", "{instance}", "--gap", "small"], ["--gap", "small", "number"]),
    (["check", "covering", "{instance}", "{schedule}", "--speed=x"], ["--speed", "'x'", "number"]),
    (["generate", "covering", "--seed", "-1"], ["--seed", "-1", "greater than or equal to 0"]),
    (["ratio", "covering", "--seeds", "0"], ["--seeds", "0", "greater than or equal to 1"]),
    (["ratio", "covering", "--seeds", "many"], ["--seeds", "many", "integer"]),
    (["ratio", "covering", "--first-seed", "-1"], ["--first-seed", "-1", "equal to 0"]),
    (["ratio", "covering", "--prove", "-1"], ["--prove", "-1", "equal to 0"]),
    (["study", "run", "{study}", "--executor", "cloud"], ["--executor", "cloud", "'dask'"]),
    (["--nope"], ["No such option", "--nope", "--help"]),
    (["study", "--nope"], ["No such option", "--nope", "study --help"]),
    (["ratio", "covering", "--heuristics"], ["--heuristics", "requires", "ratio --help"]),
    # names
    (["generate", "uncovering"], ["uncovering", "covering"]),
    (["generate", "covering", "--items", "0"], ["items", "0", "greater than or equal to 1"]),
    (["generate", "covering", "--itens", "3"], ["itens", "items, tightness, prices"]),
    (["generate", "covering", "--items", "3", "--items", "4"], ["--items", "once"]),
    (["generate", "covering", "loose"], ["loose"]),
    (["generate", "--items", "covering"], ["Missing", "PROBLEM"]),
    (["solve", "covering", "{instance}"], ["problem.name"]),
    (["solve", "covering.knapsac", "{instance}"], ["knapsac", "relaxed"]),
    (["solve", "covering.knapsack(spair=1)", "{instance}"], ["spair", "spare"]),
    (["solve", "covering.knapsack", "{absent}"], ["absent.json", "cannot be read"]),
    (["solve", "covering.knapsack", "{schedule}"], ["price", "(missing)"]),
    (["solve", "covering.knapsack", "{instance}", "--solver", "abacus"], ["abacus", "highs"]),
    (["solve", "covering.knapsack", "{instance}", "--time-limit", "-1"], ["time_limit"]),
    (["solve", "covering.relaxed", "{instance}", "-o", "s.json"], ["relaxation"]),
    (["solve", "covering.knapsack", "{instance}", "-o", "{folder}"], ["folder"]),
    (["solve", "covering.cutting", "{instance}", "--time-limit", "3"], ["cutting", "limit"]),
    (["run", "covering.greedee", "{instance}"], ["greedee", "greedy"]),
    (["run", "covering.greedy(epsilom=1)", "{instance}"], ["epsilom", "epsilon"]),
    (["check", "covering", "{instance}", "{instance}"], ["taken", "(missing)"]),
    (["ratio", "covering", "--heuristics", "greedy,"], ["greedy,"]),
    (["ratio", "covering", "--items", "4,x"], ["items", "'x'", "integer"]),
    (["ratio", "covering", "--items", "4,5,4"], ["items[2]", "'4'", "given once"]),
    (["ratio", "covering", "--bounds", "tight"], ["tight", "fractional"]),
    (["ratio", "covering", "--preset", "huge"], ["huge", "tiny"]),
    (["ratio", "covering", "--plot", "picture.doc"], ["picture.doc", ".png"]),
    (["ratio", "covering", "--workers", "0"], ["workers"]),
    (["problems", "uncovering", "--schema"], ["uncovering"]),
    (["problems", "covering", "--fields"], ["fields", "declares them"]),
    (["problems", "uncovering"], ["uncovering", "covering"]),
    (["claims", "covering"], ["covering", "preemptive"]),
    (["claims", "drp", "--claim", "figure_0"], ["--claim", "figure_0", "--list"]),
    (["adversarial", "find", "covering.greedee"], ["greedee", "greedy"]),
    (["check", "covering", "--online"], ["covering", "problem.name"]),
    (
        ["online-bound", "covering", "--instances", "{instance},"],
        ["list", "instance.json,", "separated by commas"],
    ),
    (["check", "covering", "{instance}", "{schedule}", "--theorems"], ["covering", "lemmas"]),
    (["ratio", "covering", "--reference", "tight"], ["tight", "knapsack"]),
    (["ratio", "covering", "--heuristics", "greedee"], ["greedee", "greedy"]),
    # values
    (["generate", "covering", "--items"], ["items", "integer"]),
    (["generate", "covering", "--tightness", "2"], ["tightness", "2", "less than or equal to 1"]),
    (["generate", "covering", "--prices", "[3]"], ["prices", "required"]),
    (["generate", "covering", "-o", "{folder}"], ["file", "can be written"]),
    (["solve", "covering.knapsack", "{instance}", "--threads", "0"], ["threads", "0", ">= 1"]),
    (
        ["solve", "covering.knapsack", "{instance}", "--threads", "100000000000000"],
        ["error: threads", "100000000000000", "< 2^31"],
    ),
    (["adversarial", "find", "covering.greedy", "--seconds", "inf"], ["seconds", "inf", "finite"]),
    (
        ["solve", "covering.knapsack", "{instance}", "--start", "{schedule}"],
        ["--start", "schedule.json", "breaks (1)"],
    ),
    (["solve", "covering.knapsack", "{instance}", "--memory-limit", "0"], ["memory_limit", "> 0"]),
    (["solve", "covering.knapsack", "{instance}", "--gap", "-1"], ["gap", "-1"]),
    (["run", "covering.greedy(epsilon=x)", "{instance}"], ["epsilon", "'x'", "number"]),
    (["ratio", "covering", "--time-limit", "-1"], ["time_limit", "-1", "> 0"]),
    (["ratio", "covering", "-o", "rows.doc"], ["rows.doc", ".csv"]),
    (["adversarial", "find", "covering.greedy", "--seconds", "-1"], ["seconds", "-1", "> 0"]),
    (
        ["adversarial", "find", "covering.greedy", "--seconds", "1", "--evaluations", "3"],
        ["--evaluations", "3", "either"],
    ),
    (["claims", "--quick", "--full"], ["--quick", "--full"]),
    (["claims", "-o", "claims.doc"], ["claims.doc", ".md"]),
    # files
    (
        ["import", "preemptive", "absent.csv", "-o", "x.json"],
        ["absent.csv", "cannot be read (No such file"],
    ),
    (
        ["import", "preemptive", "{empty}", "-o", "x.json"],
        ["empty.csv", "column names", "it is empty"],
    ),
    (
        ["import", "preemptive", "{header}", "-o", "x.json"],
        ["jobs", "[]", ": should have at least 1 item"],
    ),
    (["study", "run", "{seeds}"], ["seeds", "'ten'", "or a list of seeds"]),
    (["study", "run", "{misspelt}"], ["heuristcs", "heuristics"]),
    (["study", "run", "{unknown}"], ["greedee", "greedy"]),
    (["study", "run", "{exact}"], ["knapsac", "knapsack"]),
    (["study", "run", "{nopreset}"], ["tini", "tiny"]),
    (["study", "run", "{instance}"], ["instance.json", "is not TOML"]),
    (["check", "covering", "{empty}", "{schedule}"], ["empty.csv", "is not JSON"]),
    (["check", "covering", "{instance}", "--proof", "{absent}"], ["absent.json", "cannot be read"]),
    (
        ["check", "covering", "{instance}", "--proof", "{schedule}"],
        ["format", "(missing)", "must be a proof"],
    ),
    (
        ["check", "covering", "{instance}", "--proof", "{batch}"],
        ["format", "optsched/batch/instance", "be a proof"],
    ),
    (["solve", "covering.knapsack", "{broken}"], ["broken.json", "not JSON"]),
    (["solve", "preemptive.problem_4", "{batch}"], ["optsched/batch/instance", "preemptive"]),
    (["adversarial", "check", "{batch}", "-o", "a.json"], ["--output", "only with --shrink"]),
    (["adversarial", "check", "{batch}", "--why", "--shrink"], ["--shrink", "not together"]),
    (["adversarial", "check", "{batch}"], ["optsched/batch/instance", "worst-case"]),
    (["study", "run", "{absent}"], ["absent.json", "cannot be read"]),
    (["study", "show", "{absent}", "-o", "a.csv"], ["absent.json", "study run"]),
    (["study", "show", "{instance}", "-o", "a.csv"], ["instance.json", "not a database"]),
    (["study", "show", "{absent}", "-o", "page.htm"], ["page.htm", ".html"]),
    (["study", "run", "{study}", "--executor", "dask"], ["--address", "tcp://"]),
    (["study", "run", "{study}", "--workers", "0"], ["--workers", "0", ">= 1"]),
]


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Files that commands are wrongly given."""
    folder = tmp_path_factory.mktemp("wrong")
    texts = {
        "instance": '{"price": [3, 4, 10], "size": [2, 3, 5], "demand": 5}',
        "schedule": '{"taken": [0], "speed": 2.0}',
        "broken": '{"price": [3,',
        "batch": json.dumps({"format": "optsched/batch/instance", "version": 1, "jobs": [{}] * 90}),
        "study": '[[grid]]\nproblem = "covering"\nheuristics = ["greedy"]\n',
    }
    grid = '[[grid]]\nproblem = "covering"\n'
    ended = {
        "empty.csv": "",
        "header.csv": "arrival,work\n",
        "seeds.toml": f'{grid}seeds = "ten"\n',
        "misspelt.toml": f'{grid}heuristcs = ["greedy"]\n',
        "unknown.toml": f'{grid}heuristics = ["greedee"]\n',
        "exact.toml": f'{grid}exact = ["knapsac"]\n',
        "nopreset.toml": f'{grid}preset = "tini"\n',
    }
    files = {name: folder / f"{name}.json" for name in (*texts, "absent")}
    files |= {Path(name).stem: folder / name for name in ended}
    for name, text in [*texts.items(), *ended.items()]:
        files[Path(name).stem].write_text(text)
    return {**files, "folder": folder}


def test_sixty_wrong_usages_and_more_are_tried():
    assert len(WRONG) >= 60


@pytest.mark.parametrize(("arguments", "named"), WRONG, ids=lambda part: " ".join(part)[:60])
def test_a_wrong_usage_is_one_sentence_and_exit_status_2(cli, places, arguments, named):
    result = cli(*(a.format(**places) for a in arguments))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert "╭" not in result.stderr
    first, *further = result.stderr.splitlines()
    assert first.startswith("error: ")
    assert all(line.startswith("error: ") for line in further)
    for word in named:
        assert word in result.stderr.replace("\n", " ")


@pytest.mark.parametrize("arguments", [["solve", "preemptive.problem_4"], ["run", "drp.r_dr"]])
def test_an_instance_of_another_problem_is_one_sentence(cli, places, arguments):
    said = cli(*arguments, places["batch"]).stderr
    assert len(said.splitlines()) == 1
    assert "must be 'optsched/" in said


def test_of_many_refused_fields_the_first_are_named_and_the_rest_counted(cli, tmp_path):
    path = tmp_path / "many.json"
    path.write_text(json.dumps({"price": ["x"] * 30, "size": [1] * 30, "demand": 5}))
    lines = cli("solve", "covering.knapsack", path).stderr.splitlines()
    assert len(lines) == 9
    assert lines[0].startswith("error: price[0] = 'x': should be")
    assert lines[-1] == "and 22 errors more"
