"""Problem (11), the speed-augmented dual: (6) for the offline machine."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from preemptive_cases import examples, instances

from formulations.preemptive.instance import Instance
from formulations.preemptive.problem_4 import problem_4
from formulations.preemptive.problem_6 import problem_6
from formulations.preemptive.problem_11 import at_offline_speed, problem_11
from optsched.errors import InputError
from optsched.solve import solve


@given(
    instance=instances(),
    epsilon=st.sampled_from([0.0, 0.5, 1.0, 2.0]),
    rates=st.sampled_from(["fast", "slow"]),
)
@examples(40)
def test_problem_11_has_the_value_of_problem_4_at_offline_speed(instance, epsilon, rates):
    offline = at_offline_speed(instance, epsilon)
    primal = solve(problem_4(offline, rates=rates, integer=False)).objective
    model = problem_11(instance, epsilon=epsilon, rates=rates)
    dual = solve(model)
    assert dual.objective == pytest.approx(primal, rel=1e-7)
    assert model.violations(dual.values) == []


def test_dual_values_of_the_worked_example_at_half_speed(example: Instance) -> None:
    model = problem_11(example, epsilon=1.0, rates="slow", chunk_parallelism=False)
    assert solve(model).objective == pytest.approx(9.1667, abs=5e-5)


@given(instance=instances(cloud=False, jobs=(2,)), epsilon=st.sampled_from([0.5, 1.0]))
@examples(25)
def test_betas_divided_by_the_speed_turn_a_point_of_6_into_one_of_11(instance, epsilon):
    """Row by row, so Lemma 5 holds exactly where Lemma 2 does; one horizon for both.

    Storage that holds nothing, which neither looks at, keeps the edge from ending a window sooner.
    """
    options = {"rates": "slow", "chunk_parallelism": False}
    work = instance.num_chunks @ instance.chunk_time_slow * (1 + epsilon)
    end = int(instance.release_time.max() + instance.upload_delay_edge.max() + work) + 2
    instance = replace(
        instance,
        upload_delay_cloud=np.full(instance.jobs, end - 1.0),
        chunk_storage=np.ones(instance.jobs),
        storage_capacity=np.zeros(instance.edge_servers),
    )
    online = problem_6(replace(instance, horizon=end), **options)
    offline = problem_11(replace(instance, horizon=end), epsilon=epsilon, **options)
    alpha, beta = (solve(online)[name] for name in ("alpha", "beta"))
    assert offline.violations({"alpha": alpha, "beta": beta / (1 + epsilon)}) == []


@pytest.mark.parametrize("epsilon", [-0.1, np.inf, np.nan])
def test_a_speed_that_is_none_is_refused(example: Instance, epsilon: float) -> None:
    with pytest.raises(InputError, match="epsilon"):
        problem_11(example, epsilon=epsilon)
