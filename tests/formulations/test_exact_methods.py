"""The papers' exact methods support the options they declare and refuse all others by name."""

import threading
from functools import cache

import numpy as np
import pytest
from typer.testing import CliRunner

from optsched.cli import app
from optsched.errors import InputError
from optsched.instances.document import save
from optsched.problem import problem
from optsched.problem.methods import SUPPORTED_BY_MODELS, ExactMethod, Formulation
from optsched.solvers.options import Options
from optsched.solvers.solution import Status

SMALL = {
    "aerialedge": {"kind": "hard", "tasks": 16},
    "batch": {"jobs": 5, "servers": 6, "types": 2, "time_scale": 0.05},
    "drp": {"jobs": 8},
    "llm_inference": {"requests": 6},
    "okita": {"jobs": 2, "sites": 3, "horizon": 20},
    "preemptive": {"jobs": 5, "servers": 5, "types": 2, "span": 10, "time_scale": 0.03},
}
LIKE = {"batch_completion": "batch", "dsrp": "drp", "preemptive_storage": "preemptive"}
METHODS = [
    ("aerialedge", "packing"),
    ("batch", "problem_2_columns"),
    ("batch", "problem_2_offline"),
    ("batch", "problem_4_columns"),
    ("batch_completion", "problem_2_columns"),
    ("batch_completion", "problem_2_offline"),
    ("drp", "problem_5_projected"),
    ("drp", "soc"),
    ("dsrp", "problem_22_projected"),
    ("dsrp", "soc"),
    ("llm_inference", "by_states"),
    ("okita", "problem_2_columns"),
    ("preemptive", "by_market"),
    ("preemptive", "offline"),
    ("preemptive", "price_guided"),
    ("preemptive", "problem_4_flow"),
]
PROVEN = [method for method in METHODS if method != ("preemptive", "price_guided")]
ASKED = {
    "time_limit": 20.0,
    "gap": 0.5,
    "absolute_gap": 1.0,
    "threads": 2,
    "seed": 5,
    "log": True,
    "extra": {"no such option": 1},
    "isolate": True,
    "memory_limit": 8.0,
    "warm_start": {},
    "profile": "tiny",
    "stop": threading.Event(),
    "on_progress": print,
}
ENDED = {
    Status.OPTIMAL, Status.FEASIBLE, Status.NO_SOLUTION, Status.INTERRUPTED,
}  # fmt: skip


@cache
def instance(name):
    options = SMALL[LIKE.get(name, name)]
    found = problem(name)
    return found.generate(np.random.default_rng(1), **found.generator_call(options))


@cache
def unlimited(name, method):
    return problem(name).solve(method, instance(name))


def sign_of(name, method):
    """1 where bounds lie below the optimum; (4) of batch maximises, whatever it is a part of."""
    maximises = method == "problem_4_columns" or problem(name).sense == "maximise"
    return -1 if maximises else 1


def options(name, value):
    more = {"isolate": True} if name == "memory_limit" else {}
    return Options(**{name: value}, **more)


def test_these_are_all_the_exact_methods_there_are():
    found = {
        (name, key)
        for name in [*SMALL, *LIKE]
        for key, exact in problem(name).formulations.items()
        if isinstance(exact, ExactMethod)
    }
    assert found == set(METHODS)


@pytest.mark.parametrize(("name", "method"), METHODS)
def test_what_a_method_does_not_support_is_refused_by_name(name, method):
    found = problem(name)
    supports = found.formulations[method].supports
    for option in SUPPORTED_BY_MODELS - supports:
        if option in ("solver", "start"):
            asked = {option: object()}
        else:
            asked = {"options": options(option, ASKED[option])}
        with pytest.raises(InputError) as caught:
            found.solve(method, instance(name), **asked)
        refused = {p.field: p.allowed for p in caught.value.problems}
        assert option in refused
        assert method in refused[option]
        assert all(word in refused[option] for word in supports)


@pytest.mark.parametrize(("name", "method"), METHODS)
def test_a_limit_that_a_method_supports_ends_it_with_what_is_known(name, method):
    found, best = problem(name), unlimited(name, method).solution
    supports = found.formulations[method].supports
    stop = threading.Event()
    stop.set()
    asked = [Options(time_limit=1e-9)] * ("time_limit" in supports)
    asked += [Options(stop=stop)] * ("stop" in supports)
    asked += [options(o, ASKED[o]) for o in ("gap", "absolute_gap") if o in supports]
    for limits in asked:
        solution = found.solve(method, instance(name), options=limits).solution
        assert solution.status in ENDED
        sign = sign_of(name, method)
        if solution.bound is not None:
            assert sign * solution.bound <= sign * best.objective + 1e-6
        if solution.status is Status.OPTIMAL:
            assert solution.objective == pytest.approx(best.objective)


@pytest.mark.parametrize(("name", "method"), PROVEN)
def test_what_chooses_the_way_of_a_method_changes_nothing_of_its_optimum(name, method):
    found, best = problem(name), unlimited(name, method)
    assert best.solution.status is Status.OPTIMAL
    supports = found.formulations[method].supports
    for option in ("time_limit", "threads", "seed", "log"):
        if option in supports:
            answer = found.solve(method, instance(name), options=options(option, ASKED[option]))
            assert answer.solution.objective == pytest.approx(best.solution.objective)
    if "start" in supports:
        again = found.solve(method, instance(name), start=best.schedule)
        assert again.solution.objective == pytest.approx(best.solution.objective)
    if "solver" in supports:
        other = found.solve(method, instance(name), solver="highs")
        assert other.solution.objective == pytest.approx(best.solution.objective)


TELLING = [
    (name, method)
    for name, method in METHODS
    if "on_progress" in problem(name).formulations[method].supports
]


def test_every_search_of_its_own_tells_but_the_flow_and_the_prices():
    assert set(METHODS) - set(TELLING) == {
        ("preemptive", "price_guided"), ("preemptive", "problem_4_flow"),
    }  # fmt: skip


@pytest.mark.parametrize(("name", "method"), TELLING)
def test_bound_and_value_only_get_better_on_the_way_and_end_as_the_answer(name, method):
    found, heard = problem(name), []
    told = found.solve(method, instance(name), options=Options(on_progress=heard.append)).solution
    kept = unlimited(name, method).solution
    sign = sign_of(name, method)
    for solution in (told, kept):
        steps = solution.trajectory
        assert steps[-1][1:] == (solution.bound, solution.objective)
        assert [step.seconds for step in steps] == sorted(step.seconds for step in steps)
        bounds = [sign * step.bound for step in steps if step.bound is not None]
        values = [-sign * step.objective for step in steps if step.objective is not None]
        assert len(steps) > 1
        assert bounds == sorted(bounds)
        assert values == sorted(values)
    assert told.objective == pytest.approx(kept.objective)
    assert heard


@pytest.mark.parametrize(("name", "method"), TELLING)
def test_who_listens_can_end_a_search_with_what_is_known(name, method):
    found, best, heard = problem(name), unlimited(name, method).solution, []

    def enough(progress):
        heard.append(progress)
        return True

    solution = found.solve(method, instance(name), options=Options(on_progress=enough)).solution
    assert solution.status in ENDED
    assert len(heard) == 1
    if solution.bound is not None:
        sign = sign_of(name, method)
        assert sign * solution.bound <= sign * best.objective + 1e-6


@pytest.mark.parametrize(("name", "method"), TELLING)
def test_a_listener_that_fails_is_an_error_in_its_words(name, method):
    def fail(progress):
        raise ValueError("no such thing")

    solution = (
        problem(name).solve(method, instance(name), options=Options(on_progress=fail)).solution
    )
    assert solution.status is Status.ERROR
    assert "on_progress raised ValueError: no such thing" in solution.message


STARTING = [
    (name, method)
    for name in [*SMALL, *LIKE]
    for method, exact in problem(name).formulations.items()
    if "start" in exact.supports
]


@cache
def start(name, method):
    """A schedule that the method may find: the best one, if it leaves that one in."""
    found = problem(name)
    admits = found.formulations[method].admits
    best = unlimited(name, found.reference).schedule
    own = admits is not None and admits(instance(name), best)
    return best if own else found.solve(method, instance(name)).schedule


@pytest.mark.parametrize(("name", "method"), STARTING)
def test_an_answer_is_never_worse_than_its_start_whatever_ended_the_solve(name, method):
    found, known, stop = problem(name), start(name, method), threading.Event()
    stop.set()
    for limits in (Options(time_limit=1e-9), Options(time_limit=0.5), Options(stop=stop)):
        answer = found.solve(method, instance(name), options=limits, start=known)
        assert answer.solution.status in ENDED
        assert answer.solution.objective == found.cost(instance(name), known)
        assert answer.solution.objective == found.cost(instance(name), answer.schedule)


def test_a_flow_does_not_pretend_to_support_a_solver_or_a_limit():
    with pytest.raises(InputError) as caught:
        problem("preemptive").solve(
            "problem_4_flow",
            instance("preemptive"),
            solver="cpsat",
            options=Options(time_limit=1e-9),
        )
    assert {p.field for p in caught.value.problems} == {"solver", "time_limit"}
    assert "problem_4_flow" in str(caught.value)


@pytest.mark.parametrize("name", [*SMALL, *LIKE])
def test_a_model_whose_start_cannot_be_encoded_refuses_one(name):
    for key, exact in problem(name).formulations.items():
        if isinstance(exact, Formulation) and exact.encode is None:
            with pytest.raises(InputError, match=f"{key} does not support start"):
                problem(name).solve(key, instance(name), start=object())


# from the command line


@pytest.fixture
def command(tmp_path):
    """Solve the small instance of a problem, and say how that ended and what was written."""

    def run(call, *arguments):
        name, _, method = call.partition(".")
        path, best = tmp_path / "instance.json", tmp_path / "best.json"
        save(instance(name), path)
        output = () if problem(name).formulations[method].relaxation else ("-o", str(best))
        result = CliRunner().invoke(app, ["solve", call, str(path), *arguments, *output])
        return result, best.exists()

    return run


@pytest.mark.parametrize(
    ("call", "written"),
    [
        ("batch.problem_2_offline", True),
        ("okita.problem_2_columns", True),
        ("drp.soc", False),
        ("preemptive.problem_4_flow", False),
    ],
)
def test_an_exact_method_is_solved_by_name_under_a_limit_it_supports(command, call, written):
    limit = ("--time-limit", "30") if call != "preemptive.problem_4_flow" else ()
    result, there = command(call, *limit)
    assert result.exit_code == 0, result.output
    assert there is written


def test_a_memory_limit_too_low_ends_without_a_schedule_and_says_why(command):
    result, there = command("preemptive.problem_4_flow", "--memory-limit", "0.05")
    assert (result.exit_code, there) == (1, False)
    assert "memory" in result.output


def test_a_limit_that_is_not_supported_is_bad_input(command):
    result, _ = command("preemptive.problem_4_flow", "--time-limit", "1", "--solver", "cpsat")
    assert result.exit_code == 2
    assert "time_limit = 1.0: problem_4_flow does not support time_limit" in result.output
    assert "solver = 'cpsat': problem_4_flow does not support solver" in result.output
