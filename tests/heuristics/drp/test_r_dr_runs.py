"""R-DR: every run feasible, as many rounds as jobs at most, nothing admitted twice."""

import numpy as np
import pytest
from brute_force import fixed_share, optimum
from drp_cases import examples, instances, worked_drp
from hypothesis import given
from hypothesis import strategies as st

from formulations.drp import PROBLEM
from formulations.drp.check import check
from formulations.drp.generator import generate
from heuristics.drp.baselines import greedy, nearest, nearest_literal, random
from heuristics.drp.r_dr import r_dr
from heuristics.drp.rounding import NO_PAIR, draw_pairs, keep_prefix
from optsched.errors import InputError

SETTINGS = [(mode, prune) for mode in ("eps", "exact") for prune in ("paper", "safe")]


@pytest.mark.parametrize(("mode", "prune"), SETTINGS)
@given(instance=instances(jobs=4, servers=3), seed=st.integers(0, 1000))
@examples(25)
def test_every_run_is_feasible_and_ends_within_as_many_rounds_as_jobs(mode, prune, instance, seed):
    run = r_dr(instance, np.random.default_rng(seed), mode=mode, prune=prune)
    assert check(instance, run) == []
    assert run.rounds <= instance.num_jobs
    assert len(set(run.order.tolist())) == len(run.order) == run.admit.sum()
    assert (instance.pair_of(np.flatnonzero(run.assoc >= 0), run.assoc[run.assoc >= 0]) >= 0).all()


@given(instance=instances(jobs=3), seed=st.integers(0, 1000))
@examples(30)
def test_no_run_admits_more_than_the_optimum_of_its_mode(instance, seed):
    rng = np.random.default_rng(seed)
    assert r_dr(instance, rng).admit.sum() <= optimum(instance, fits=fixed_share(0.5))
    assert r_dr(instance, rng, mode="exact").admit.sum() <= optimum(instance)


def test_the_worked_example_step_by_step():
    """The first worked example: 0 at epsilon 1/2, at most 2 at 0.4, all 4 in exact mode."""
    instance = worked_drp()
    rng = np.random.default_rng(0)
    assert r_dr(instance, rng).admit.sum() == 0
    assert {r_dr(instance, rng, comm_share=0.4).admit.sum() for _ in range(20)} == {2}
    exact = [r_dr(instance, rng, mode="exact").admit.sum() for _ in range(30)]
    assert max(exact) == 4


def test_rounding_draws_each_server_with_its_probability():
    instance = generate(np.random.default_rng(0), jobs=1)
    rng = np.random.default_rng(1)
    x = rng.random(instance.num_pairs)
    x /= np.bincount(instance.pair_node, weights=x)[instance.pair_node] / 0.8
    nodes = np.arange(instance.num_data_nodes)
    draws = np.array([draw_pairs(instance, nodes, x, rng) for _ in range(4000)])
    assert np.mean(draws == NO_PAIR) == pytest.approx(0.2, abs=0.01)
    seen = np.bincount(draws[draws != NO_PAIR], minlength=instance.num_pairs) / len(draws)
    assert np.abs(seen - x).max() < 5 * np.sqrt(0.25 / len(draws))
    first = instance.first_pair[nodes]
    inside = (draws == NO_PAIR) | ((draws >= first) & (draws < instance.first_pair[nodes + 1]))
    assert inside.all()


def test_a_server_keeps_the_longest_prefix_by_priority():
    from drp_cases import system

    instance = system([(0, 1, [0]), (1, 2, [0]), (2, 1, [0])], [3])
    pairs = np.arange(3)
    kept = keep_prefix(instance, pairs, np.array([2, 0, 1]), np.ones(1))
    assert sorted(kept.tolist()) == [1, 2]
    assert keep_prefix(instance, pairs, np.array([0, 1, 2]), np.array([0.5])).tolist() == [0]


def test_eps_mode_keeps_the_promises_of_the_sheet_at_forty_jobs():
    """T1 and T3 on two seeds; the claims' script measures more."""
    ratios, gains = [], []
    for seed in range(2):
        instance = generate(np.random.Generator(np.random.PCG64(seed)), jobs=40)
        run = r_dr(instance, np.random.default_rng(seed))
        exact = r_dr(instance, np.random.default_rng(seed), mode="exact")
        ratios.append(run.admit.sum() / run.lp1_first)
        gains.append(exact.admit.sum() - run.admit.sum())
        assert check(instance, run) == check(instance, exact) == []
        for baseline in (greedy, nearest, nearest_literal, random):
            made = baseline(instance, np.random.default_rng(seed))
            assert check(instance, made) == []
            assert made.admit.sum() <= run.admit.sum()
    assert np.mean(ratios) >= 0.9
    assert np.mean(gains) > 0


@pytest.mark.parametrize("baseline", [greedy, nearest, nearest_literal, random])
@pytest.mark.parametrize("mode", ["eps", "exact"])
def test_baselines_are_feasible_with_and_without_services(baseline, mode):
    from formulations.drp import DSRP

    instance = generate(np.random.default_rng(2), jobs=15, topology="grid")
    made = baseline(instance, np.random.default_rng(0), mode=mode)
    assert PROBLEM.check(instance, made) == []
    held = baseline(instance, np.random.default_rng(0), mode=mode, services=True)
    assert DSRP.check(instance, held) == []
    assert held.admit.sum() <= made.admit.sum()
    assert made.admit.sum() > 0


def test_stopping_at_the_first_failure_admits_no_more():
    instance = generate(np.random.default_rng(2), jobs=40)
    for baseline in (greedy, nearest):
        rng = np.random.default_rng(0)
        stopped = baseline(instance, rng, stop_at_first_failure=True)
        assert stopped.admit.sum() <= baseline(instance, rng).admit.sum()
        assert check(instance, stopped) == []


def test_options_out_of_range_are_refused():
    instance, rng = worked_drp(), np.random.default_rng(0)
    with pytest.raises(InputError, match="mode"):
        r_dr(instance, rng, mode="fast")
    with pytest.raises(InputError, match="prune"):
        r_dr(instance, rng, prune="none")
    with pytest.raises(InputError, match="comm_share"):
        greedy(instance, rng, comm_share=1.5)
    with pytest.raises(InputError, match="node_xy"):
        nearest(instance, rng)
