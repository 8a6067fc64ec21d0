"""Prices of relaxed rows: each value a bound, improving towards the best."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import InputError, Model, Status, solve
from optsched.decomposition import maximise_dual


def multiple_choice(seed: int):
    """Each group picks its cheapest item at the prices of two shared resources."""
    rng = np.random.default_rng(seed)
    cost = rng.integers(1, 20, (5, 4)).astype(float)
    use = rng.integers(0, 6, (2, 5, 4)).astype(float)
    room = np.floor(use.mean(axis=(1, 2)) * 5)

    def evaluate(price):
        reduced = cost + np.tensordot(price, use, axes=1)
        pick = reduced.argmin(axis=1)
        used = use[:, np.arange(5), pick].sum(axis=1)
        return reduced.min(axis=1).sum() - price @ room, used - room

    m = Model("multiple choice")
    x = m.binary("x", (5, 4))
    m.minimize((cost * x).sum())
    m.add("one", x.sum(axis=1) == 1)
    for resource in range(2):
        m.add(f"room {resource}", (use[resource] * x).sum() <= room[resource])
    return evaluate, m


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6))
def test_the_best_value_lies_below_the_optimum_and_near_the_relaxation(seed):
    evaluate, model = multiple_choice(seed)
    exact, relaxed = solve(model), solve(model.relax())
    found = maximise_dual(evaluate, np.zeros(2), steps=300)
    if relaxed.status is not Status.OPTIMAL:
        return
    # choices per group are integral by themselves: the best value is the linear relaxation's
    assert found.value <= relaxed.objective + 1e-9 * relaxed.objective
    assert found.value >= 0.95 * relaxed.objective
    assert exact.status is Status.INFEASIBLE or found.value <= exact.objective + 1e-9
    value, _ = evaluate(found.prices)
    assert value == found.value
    assert (found.prices >= 0).all()


def test_prices_at_which_nothing_is_overused_are_optimal():
    found = maximise_dual(lambda price: (5.0 - price.sum(), -np.ones(3)), np.zeros(3))
    assert (found.value, found.steps, found.optimal) == (5.0, 1, True)


def test_prices_of_equations_may_be_negative():
    # min x over x in [0, 4] subject to x = 3, priced: the best price of the equation is -1
    def evaluate(price):
        x = 4.0 if 1 + price[0] < 0 else 0.0
        return x + price[0] * (x - 3), np.array([x - 3])

    found = maximise_dual(evaluate, [0.0], lower=-np.inf, steps=200, target=3.0)
    assert found.value == pytest.approx(3, abs=1e-3)
    assert found.prices[0] < 0


def test_an_infinite_value_ends_the_search():
    found = maximise_dual(lambda price: (np.inf, np.zeros(1)), [0.0])
    assert (found.value, found.steps) == (np.inf, 1)


@pytest.mark.parametrize(("start", "steps", "field"), [([-1.0], 5, "start"), ([0.0], 0, "steps")])
def test_bad_input_is_refused_by_name(start, steps, field):
    with pytest.raises(InputError, match=field):
        maximise_dual(lambda price: (0.0, price), start, steps=steps)


def test_the_search_makes_do_with_what_it_has_when_told_to_stop():
    evaluate, _ = multiple_choice(1)
    asked = []

    def stop() -> bool:
        asked.append(len(asked))
        return len(asked) == 3

    cut = maximise_dual(evaluate, np.zeros(2), steps=50, stop=stop)
    assert cut.steps == 3
    assert not cut.optimal
    assert evaluate(cut.prices)[0] == cut.value
    assert cut.value <= maximise_dual(evaluate, np.zeros(2), steps=50).value
