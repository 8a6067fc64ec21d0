"""Numbers among the options of every algorithm have a range, held before anything runs."""

import pytest
from typer.testing import CliRunner

from optsched.cli import app
from optsched.errors import InputError
from optsched.problem import problems
from optsched.problem.calls import call_options

NUMBERS = [
    (name, heuristic, option)
    for name, found in problems().items()
    if found.instance_type.__module__.startswith("formulations.")
    for heuristic, card in found.heuristics.items()
    for option, default in (call_options(card.run, given=2) or {}).items()
    if isinstance(default, int | float) and not isinstance(default, bool)
]


@pytest.fixture(scope="module")
def problem_of():
    """Problems by name."""
    return problems().__getitem__


@pytest.mark.parametrize(("name", "heuristic", "option"), NUMBERS)
def test_a_number_out_of_range_is_refused(name, heuristic, option, problem_of):
    with pytest.raises(InputError, match=f"option {option} = -7: input should be"):
        problem_of(name).heuristic(f"{heuristic}({option}=-7)")


@pytest.mark.parametrize(
    ("name", "call", "allowed"),
    [
        ("preemptive", "a_online(epsilon=inf)", "a valid number"),
        ("preemptive", "tiresias_l(service_quantile=1.5)", "less than or equal to 1"),
        ("preemptive", "tiresias_l(promote_knob=0)", "greater than 0"),
        ("preemptive", "tiresias_l(thresholds_gpu_slots=[0])", "greater than 0"),
        ("preemptive", "reoptimise(window=0)", "greater than 0"),
        ("batch", "reoptimise(time_limit=0)", "greater than 0"),
        ("okita", "okita(alpha=[1, -1])", "greater than or equal to 0"),
        ("okita", "okita_exact(latency_offset=1)", "-1 or 0"),
        ("okita", "fifo(share=1.5)", "less than or equal to 1"),
        ("drp", "r_dr(comm_share=1)", "less than 1"),
    ],
)
def test_ranges_have_both_ends(name, call, allowed, problem_of):
    with pytest.raises(InputError, match=f"input should be {allowed}"):
        problem_of(name).heuristic(call)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("preemptive", "a_online(epsilon=1)"),
        ("preemptive", "tiresias_l(thresholds_gpu_slots=[1, 2.5])"),
        ("preemptive", "reoptimise(lookahead=all, window=None)"),
        ("okita", "okita(alpha=[1, 0], latency_offset=0)"),
        ("drp", "r_dr(comm_share=None)"),
    ],
)
def test_what_is_in_range_is_taken(name, call, problem_of):
    problem_of(name).heuristic(call)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ("edge_only=True, no_spill=True", "no_spill"),
        ("printed=True, no_spill=True", "printed"),
        ('printed=True, pending_rule="exact"', "printed"),
    ],
)
def test_options_that_contradict_each_other_are_refused_before_anything_runs(options, field):
    calls = f"all_cloud,a_online({options})"
    typed = ["ratio", "preemptive", "--jobs", "2", "--seeds", "1", "--heuristics", calls]
    result = CliRunner().invoke(app, typed, catch_exceptions=False)
    assert result.exit_code == 2
    assert f"error: {field} = True" in result.stderr
    assert "running" not in result.stderr
