"""Federated regression and Algorithm 1."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.aerialedge.generator import hard
from formulations.aerialedge.problem_ae1 import decode_dispatch, dispatch
from heuristics.aerialedge.estimate import fit
from heuristics.aerialedge.regression import Site, aggregate_models, fed_fit, local_solution
from optsched.errors import InputError
from optsched.solve import solve


def sites(seed: int, count: int = 4, width: int = 3) -> list[Site]:
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=(width, 3))
    found = []
    for _ in range(count):
        x = rng.normal(size=(int(rng.integers(5, 40)), width))
        found.append(Site.of(x, x @ theta + 0.1 * rng.normal(size=(len(x), 3))))
    return found


def pooled_ridge(data: list[Site], ridge: float) -> np.ndarray:
    x = np.concatenate([s.features for s in data])
    y = np.concatenate([s.targets for s in data])
    return np.linalg.solve(x.T @ x / len(x) + ridge * np.eye(x.shape[1]), x.T @ y / len(x))


@given(seed=st.integers(0, 10**6), ridge=st.sampled_from([1e-3, 0.1, 1.0]))
@settings(max_examples=30, deadline=None)
def test_sufficient_statistics_give_the_pooled_solution(seed: int, ridge: float) -> None:
    data = sites(seed)
    theta = fed_fit(data, ridge=ridge).theta
    assert theta == pytest.approx(pooled_ridge(data, ridge), abs=1e-8)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_rounds_of_one_step_descend_to_the_pooled_solution(seed: int) -> None:
    data = sites(seed)
    result = fed_fit(data, ridge=0.1, method="rounds", rounds=5000, local_steps=1, tolerance=1e-12)
    assert result.converged
    assert result.theta == pytest.approx(pooled_ridge(data, 0.1), abs=1e-6)


def test_several_local_steps_come_near_with_fewer_rounds() -> None:
    data = sites(1)
    exact = pooled_ridge(data, 0.1)
    one, five = (
        fed_fit(data, ridge=0.1, method="rounds", rounds=10, local_steps=k) for k in (1, 5)
    )
    assert np.linalg.norm(five.theta - exact) < np.linalg.norm(one.theta - exact)


def test_the_mean_of_equal_models_is_the_model_and_the_printed_sum_is_not() -> None:
    models = [[[2.0]]] * 3
    assert aggregate_models(models, [10, 10, 10]) == 2
    assert np.sum(models) == 6
    assert aggregate_models([[[0.0]], [[4.0]]], [3, 1]) == 1


def test_one_federated_step_of_equal_sites_reaches_their_solution() -> None:
    site = Site.of(np.ones((4, 1)), np.full((4, 1), 2.0))
    assert local_solution(site, 0.0) == pytest.approx(2)
    result = fed_fit([site] * 3, ridge=0.0, method="rounds", rounds=2, local_steps=1)
    assert result.theta == pytest.approx(2)
    printed, theta = [], 0.0
    for _ in range(4):
        printed.append(theta)
        theta += 3 * (2.0 - theta)  # (2) with the printed sum over three sites
    assert printed == [0, 6, -6, 18]


def test_data_that_make_no_sense_are_refused() -> None:
    good = sites(0)
    with pytest.raises(InputError, match="site"):
        Site.of(np.ones((3, 2)), np.ones((2, 3)))
    with pytest.raises(InputError, match="finite"):
        Site.of([[np.nan]], [[1.0]])
    with pytest.raises(InputError, match="sites"):
        fed_fit([])
    with pytest.raises(InputError, match="sites"):
        fed_fit([good[0], sites(0, width=2)[0]])
    for options in ({"ridge": -1.0}, {"method": "magic"}, {"rounds": 0}, {"local_steps": 0}):
        with pytest.raises(InputError, match=next(iter(options))):
            fed_fit(good, **options)


def test_estimates_can_be_dispatched_and_stay_above_their_floors() -> None:
    data = [hard(30, np.random.default_rng(seed)) for seed in range(4)]
    model = fit(data[:3])
    estimated = model.estimate(data[3])
    assert estimated.demand.shape == data[3].demand.shape
    assert (estimated.demand >= model.least).all()
    assert (estimated.exec_time >= 1).all()
    assert decode_dispatch(solve(dispatch(estimated))) == [0]
    generous = fit(data[:3], margin=0.5).predict(data[3])
    assert generous == pytest.approx(1.5 * model.predict(data[3]))


def test_without_task_features_all_tasks_of_a_job_get_one_estimate() -> None:
    data = [hard(30, np.random.default_rng(seed)) for seed in range(2)]
    estimate = fit(data, task_features=False).predict(data[0])
    for job in range(data[0].jobs):
        assert np.ptp(estimate[data[0].task_job == job], axis=0) == pytest.approx(0)
    with pytest.raises(InputError, match="margin"):
        fit(data, margin=-1)
    with pytest.raises(InputError, match="sites"):
        fit([])
