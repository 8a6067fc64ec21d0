"""What is said of instances whose times are no whole slots, and what holds for them as given."""

import json
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from preemptive_cases import examples, instances
from typer.testing import CliRunner

import optsched as osd
from formulations.preemptive import PROBLEM
from formulations.preemptive.exact.lagrangian import lb_prices
from formulations.preemptive.instance import ROUNDING, Instance
from optsched import problem
from optsched.cli import app
from optsched.evaluation.tables import frame, interpretations
from optsched.instances.document import save
from optsched.solvers.options import Options

TAKEN_UP = "times taken up to whole slots"


def one(time: float = 1.1, release: float = 0.0) -> Instance:
    """One chunk, one worker without delay, a cloud with a delay of 1."""
    return Instance.build(
        release_time=[release],
        num_chunks=1,
        chunk_time_slow=time,
        upload_delay_edge=[[0]],
        upload_delay_cloud=1,
        worker_server=[0],
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "one.json"
    save(one(), path)
    return path


def said(*arguments: object) -> dict[str, object]:
    """What a command prints for machines."""
    result = CliRunner().invoke(app, [*map(str, arguments), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_an_optimum_of_whole_slots_says_so(file: Path) -> None:
    solved = said("solve", "preemptive.problem_2_compact", file)
    assert (solved["objective"], solved["interpretation"]) == (2.0, TAKEN_UP)
    shown = CliRunner().invoke(app, ["solve", "preemptive.problem_2_compact", str(file)])
    assert TAKEN_UP in shown.stdout


def test_an_optimum_in_continuous_time_is_one_of_the_instance(file: Path) -> None:
    solved = said("solve", "preemptive.price_guided", file)
    assert solved["interpretation"] == ""
    assert solved["objective"] == pytest.approx(1.1)
    assert PROBLEM.solve("problem_2_compact", one(2.0)).interpretation == ""


@pytest.mark.parametrize(("off", "whole"), [(0.9 * ROUNDING, True), (1.1 * ROUNDING, False)])
def test_what_is_taken_for_rounding_error_is_a_whole_slot(off: float, whole: bool) -> None:
    assert one(1 + off).is_integral is whole
    assert one(1 - off).is_integral is whole


def test_a_schedule_between_slots_says_why_it_is_none_of_the_exact_models(file: Path) -> None:
    run = said("run", "preemptive.a_online", file)
    assert run["feasible"]
    assert not run["feasible_offline"]
    message = str(run["offline_message"])
    assert all(part in message for part in ("slotted=True", TAKEN_UP, "breaks (2b)"))
    save(one(2.0), file)
    run = said("run", "preemptive.a_online", file)
    assert (run["feasible_offline"], run["offline_message"]) == (True, "")


def test_ratios_to_an_optimum_of_whole_slots_are_marked() -> None:
    chosen = problem("preemptive")
    options = {"reference": "problem_2_compact", "bounds": ["lb_prices", "lb_alone"]}
    found = osd.ratios(chosen, ["a_online"], instances=one(), **options)
    rows = found.rows
    assert [(row.interpretation, row.may_beat) for row in rows] == [(TAKEN_UP, True)]
    assert rows[0].record()["interpretation"] == TAKEN_UP
    table = frame(rows + osd.ratios(chosen, ["a_online"], instances=one(2.0), **options).rows)
    assert interpretations(table) == f"optima and bounds hold for {TAKEN_UP} (1 of 2 rows)"
    assert interpretations(table[1:]) == ""
    assert TAKEN_UP in found._repr_html_()


def test_a_fraction_of_a_large_release_time_is_marked_too() -> None:
    chosen = problem("preemptive")
    instance = one(11.0, release=1764316803.25)
    (row,) = osd.ratios(chosen, ["a_online"], instances=instance).rows
    assert (row.cost, row.optimum) == (11.0, 11.75)
    assert (row.interpretation, row.may_beat) == (TAKEN_UP, True)
    assert lb_prices(instance) <= 11.0


@given(instance=instances(fractional=True))
@examples(30)
def test_prices_bound_schedules_between_slots(instance: Instance) -> None:
    schedule = problem("preemptive").run("a_online", instance, np.random.default_rng(0))
    assert lb_prices(instance) <= PROBLEM.cost(instance, schedule) + 1e-9


@pytest.mark.parametrize("name", list(PROBLEM.formulations))
@pytest.mark.parametrize("time", [1.1, 2.0, 1e-3])
def test_every_exact_method_takes_what_the_command_line_sets_by_itself(
    name: str, time: float, tmp_path: Path
) -> None:
    path = tmp_path / "instance.json"
    save(one(time), path)
    result = CliRunner().invoke(app, ["solve", f"preemptive.{name}", str(path), "--json"])
    assert result.exit_code == 0, result.output


def test_a_search_for_prices_that_is_stopped_answers_with_what_it_has() -> None:
    stop = threading.Event()
    stop.set()
    instance = replace(one(1.1), num_chunks=np.array([3]), gang_size=np.array([1]))
    found = PROBLEM.solve("offline", instance, options=Options(stop=stop))
    assert found.schedule is not None
    assert found.solution.status in ("interrupted", "optimal")


def test_a_bound_on_whole_slots_is_none_on_an_optimum_in_continuous_time() -> None:
    in_cloud = replace(one(1.25), job_worker_type=np.array([1]))
    asked = {"instances": in_cloud, "bounds": ["lb_alone", "lb_prices"]}
    for reference, optimum, left_out in (
        ("offline", 2.25, True),
        ("problem_2_compact", 3.0, False),
    ):
        (row,) = osd.ratios("preemptive", "all_cloud", reference=reference, **asked).rows
        assert (row.status, row.optimum) == ("optimal", pytest.approx(optimum))
        assert row.extra["bound_lb_alone"] == 3.0
        assert ("lb_alone bounds another optimum" in row.message) is left_out
        assert "lb_prices" not in row.message
