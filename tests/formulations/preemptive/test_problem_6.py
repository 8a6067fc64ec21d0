"""Problem (6): the dual of the relaxation of (4), as it should be and as printed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from preemptive_cases import examples, instances

from formulations.preemptive.instance import Instance
from formulations.preemptive.problem_4 import problem_4
from formulations.preemptive.problem_6 import problem_6
from optsched.errors import InputError
from optsched.solve import solve
from optsched.solvers.solution import Status

RATES = ("fast", "slow")


@pytest.mark.parametrize("rates", RATES)
@pytest.mark.parametrize("chunk_parallelism", [True, False])
@given(data=st.data())
@examples(30)
def test_the_corrected_dual_has_the_value_of_the_relaxation_of_4(rates, chunk_parallelism, data):
    instance = data.draw(instances(fractional=data.draw(st.booleans())))
    primal = solve(
        problem_4(instance, rates=rates, chunk_parallelism=chunk_parallelism, integer=False)
    )
    model = problem_6(instance, rates=rates, chunk_parallelism=chunk_parallelism)
    dual = solve(model)
    assert primal.status is dual.status is Status.OPTIMAL
    assert dual.objective == pytest.approx(primal.objective, rel=1e-7)
    assert model.violations(dual.values) == []


def test_dual_values_of_the_worked_example(example: Instance, doubled: Instance) -> None:
    for instance, expected in ((example, 8.1111), (doubled, 9.1667)):
        dual = solve(problem_6(instance, rates="slow", chunk_parallelism=False))
        assert dual.objective == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize("rates", RATES)
def test_the_printed_dual_of_the_worked_example_is_0(
    example: Instance, doubled: Instance, rates: str
) -> None:
    for instance in (example, doubled):
        printed = problem_6(instance, rates=rates, chunk_parallelism=False, printed_rows=True)
        assert solve(printed).objective == pytest.approx(0, abs=1e-9)


@given(instance=instances(cloud=True), rates=st.sampled_from(RATES))
@examples(25)
def test_the_printed_dual_is_0_wherever_there_is_a_cloud(instance, rates):
    printed = problem_6(instance, rates=rates, chunk_parallelism=False, printed_rows=True)
    assert solve(printed).objective == pytest.approx(0, abs=1e-9)


@given(instance=instances(cloud=False), rates=st.sampled_from(RATES))
@examples(25)
def test_rows_before_the_upload_only_ever_lower_the_dual(instance, rates):
    values = [
        solve(problem_6(instance, rates=rates, printed_rows=printed)).objective
        for printed in (True, False)
    ]
    assert values[0] <= values[1] + 1e-9


def test_without_a_cloud_rows_before_the_upload_lower_the_dual_by_the_delay():
    instance = Instance.build(
        release_time=[0],
        num_chunks=1,
        chunk_time_slow=1,
        upload_delay_edge=[[2]],
        upload_delay_cloud=np.inf,
        worker_server=[0],
    )
    assert solve(problem_6(instance)).objective == pytest.approx(2)
    assert solve(problem_6(instance, printed_rows=True)).objective == pytest.approx(0, abs=1e-9)


@given(instance=instances(), rates=st.sampled_from(RATES))
@examples(25)
def test_leaving_4e_out_never_raises_the_relaxation(instance, rates):
    """It is dropped, not redundant."""
    values = [
        solve(problem_6(instance, rates=rates, chunk_parallelism=kept)).objective
        for kept in (False, True)
    ]
    assert values[0] <= values[1] + 1e-9


def test_4e_is_not_redundant_in_the_worked_example(example: Instance) -> None:
    with_4e = solve(problem_6(example, rates="fast")).objective
    without = solve(problem_6(example, rates="fast", chunk_parallelism=False)).objective
    assert with_4e == pytest.approx(7.5)
    assert without == pytest.approx(22 / 3)


def test_the_dual_needs_one_speed_per_job(example: Instance) -> None:
    with pytest.raises(InputError, match="rates"):
        problem_6(example, rates="exact")
