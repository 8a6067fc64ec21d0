"""What a server may bear of jobs together, beside enumeration."""

from contextlib import contextmanager

import numpy as np
import pytest
from drp_cases import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from set_tree_cases import configurations

from formulations.drp.exact.set_tree.configuration_rows import configuration_row
from formulations.drp.exact.set_tree.configurations import SAFE, bears, heaviest
from formulations.drp.loads import server_load_factor

NOTHING = np.zeros(4)


@st.composite
def servers(draw):
    """Burdens of a few jobs on one server: where those of a job begin, sizes, loads."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = rng.integers(0, 4, draw(st.integers(1, 5)))
    first = np.concatenate([[0], np.cumsum(count)])
    size = np.repeat(rng.uniform(0.05, 0.7, len(count)), count)
    a, b = rng.uniform(0, 0.5, (2, first[-1]))
    load = np.column_stack([rng.uniform(0, 0.6, first[-1]), a, b, np.sqrt(a * b)])
    return first, size, load, rng


@given(servers())
@examples(150)
def test_the_heaviest_configuration_is_that_of_enumeration(case):
    first, size, load, rng = case
    weight = rng.uniform(-0.3, 1.0, len(size))
    value, chosen = heaviest(weight, first, size, load, 0.0, NOTHING, np.zeros(len(size), int))
    every = configurations(first, size, load)
    assert value == pytest.approx((every @ np.maximum(weight, 0)).max(initial=0.0), abs=1e-8)
    assert value == pytest.approx(weight @ chosen)
    assert (every == chosen).all(axis=1).any()


@given(servers())
@examples(60)
def test_what_a_server_bears_already_leaves_less(case):
    first, size, load, rng = case
    weight, stored = rng.uniform(0, 1, len(size)), 0.4
    loaded = np.array([0.3, 0.2, 0.2, 0.2])
    none = np.zeros(len(size), int)
    value, chosen = heaviest(weight, first, size, load, stored, loaded, none)
    best = 0.0
    for one in configurations(first, size, load):
        inbound, *rest = loaded + one @ load
        if max(stored + one @ size, inbound, server_load_factor(*rest)) <= 1 + SAFE:
            best = max(best, float(one @ weight))
    assert value == pytest.approx(best, abs=1e-8)
    assert value == pytest.approx(weight @ chosen)


@given(servers(), st.integers(0, 2**32 - 1))
@examples(60)
def test_a_configuration_to_begin_with_changes_no_answer(case, seed):
    first, size, load, rng = case
    weight, every = rng.uniform(-0.3, 1.0, len(size)), configurations(first, size, load)
    known = every[seed % len(every)].astype(int)
    value, chosen = heaviest(weight, first, size, load, 0.0, NOTHING, known)
    assert value == pytest.approx((every @ np.maximum(weight, 0)).max(initial=0.0), abs=1e-8)
    assert value == pytest.approx(weight @ chosen)


@contextmanager
def within(few: int, most: int):
    """The search within so many steps, bounded by storage alone and then by loads as well."""
    with pytest.MonkeyPatch.context() as steps:
        steps.setattr("formulations.drp.exact.set_tree.configurations.FEW_STEPS", few)
        steps.setattr("formulations.drp.exact.set_tree.configurations.MOST_STEPS", most)
        yield heaviest.py_func


@given(servers(), st.integers(0, 20), st.integers(0, 20))
@examples(60)
def test_a_search_that_is_cut_short_returns_no_less_than_the_most(case, few, most):
    first, size, load, rng = case
    weight, every = rng.uniform(-0.3, 1.0, len(size)), configurations(first, size, load)
    none = np.zeros(len(size), int)
    with within(few, most) as search:
        value, chosen = search(weight, first, size, load, 0.0, NOTHING, none)
    assert value >= (every @ np.maximum(weight, 0)).max(initial=0.0) - 1e-8
    assert (every == chosen).all(axis=1).any()


@given(servers(), st.booleans())
@examples(100)
def test_bounds_that_know_loads_change_no_answer(case, begun):
    first, size, load, rng = case
    weight, every = rng.uniform(-0.3, 1.0, len(size)), configurations(first, size, load)
    known = every[rng.integers(len(every))].astype(int) * begun
    with within(0, 10_000) as search:
        value, chosen = search(weight, first, size, load, 0.0, NOTHING, known)
    assert value == pytest.approx((every @ np.maximum(weight, 0)).max(initial=0.0), abs=1e-8)
    assert value == pytest.approx(weight @ chosen)


def test_bounds_that_know_loads_end_what_storage_alone_does_not():
    first, size, load = np.arange(25), np.full(24, 0.03), np.zeros((24, 4))
    load[:, 0] = np.linspace(0.15, 0.3, 24)
    weight, none = load[:, 0] + np.arange(24) % 5 / 100, np.zeros(24, int)
    most, _ = heaviest(weight, first, size, load, 0.0, NOTHING, none)
    with within(100_000, 0) as search:
        assert search(weight, first, size, load, 0.0, NOTHING, none)[0] > most + 1e-3
    with within(1_000, 20_000) as search:
        value, chosen = search(weight, first, size, load, 0.0, NOTHING, none)
    assert value == pytest.approx(most, abs=1e-9)
    assert value == pytest.approx(weight @ chosen)
    program = milp(
        -weight,
        constraints=LinearConstraint(load[:, :1].T, ub=1),
        integrality=1,
        bounds=Bounds(0, 1),
    )
    assert most == pytest.approx(-program.fun)


@pytest.mark.parametrize("loaded", [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0.5, 0.5, 0.5]])
def test_where_loads_bind_their_price_bounds_what_storage_does_not(loaded):
    # storage has room for ten jobs, bandwidth or (P1) for three
    first, size, weight = np.arange(11), np.full(10, 0.05), np.ones(10)
    load, known = 0.3 * np.tile(loaded, (10, 1)), np.arange(10) < 3
    with within(0, 0) as search:
        value, _ = search(weight, first, size, load, 0.0, NOTHING, known.astype(int))
    assert 3 <= value < 4


def test_bounds_that_know_loads_allow_what_a_server_bears_within_the_tolerance():
    # three jobs of six fill bandwidth to just inside it; those that are known weigh a trifle less
    first, size, load = np.arange(7), np.full(6, 0.01), np.zeros((6, 4))
    load[:, 0] = (1 + 0.5 * SAFE) / 3
    weight = np.repeat([1e6, 1e6 - 1e-3], 3)
    with within(0, 0) as search:
        value, _ = search(weight, first, size, load, 0.0, NOTHING, np.repeat([0, 1], 3))
    assert value >= 3e6


@given(servers(), st.sampled_from([0.0, 0.02]))
@examples(150)
def test_a_row_holds_for_every_configuration_and_the_point_violates_it(case, least):
    first, size, load, rng = case
    lightest = np.full((len(first) - 1, 4), np.inf)
    np.minimum.at(lightest, np.repeat(np.arange(len(first) - 1), np.diff(first)), load)
    point = rng.uniform(0, 1, len(size)) * (rng.random(len(size)) < 0.7)
    every = configurations(first, size, load)
    worth, row = configuration_row(point, first, size, load, lightest, least)
    # the most that any row is violated by
    most = -linprog(-point, A_ub=every, b_ub=np.ones(len(every))).fun if len(size) else 0.0
    if worth == 0.0:
        assert not row.any()
        assert most <= 1 + least + 1e-4
        return
    assert worth > 1 + least
    assert worth - 1e-4 <= most
    assert (row >= 0).all()
    assert (every @ row).max() <= 1 + 1e-7
    assert row @ point >= worth - 1e-9


def test_a_burden_that_asks_no_less_counts_as_much():
    # job 0 in two ways, the second of which is not chosen, fits beside job 1 in neither
    first, size = np.array([0, 2, 3]), np.array([0.6, 0.6, 0.6])
    load = np.array([[0.1, 0, 0, 0], [0.2, 0, 0, 0], [0.1, 0, 0, 0]])
    lightest = load[[0, 2]]
    _, row = configuration_row(np.array([0.8, 0.0, 0.8]), first, size, load, lightest, 0.02)
    assert row == pytest.approx([1, 1, 1])


def test_a_job_that_is_not_there_counts_what_is_left_beside_the_others():
    # two of three services fit; the third is as large as they are
    first, size, load = np.arange(4), np.full(3, 0.6), np.zeros((3, 4))
    _, row = configuration_row(np.array([0.8, 0.8, 0.0]), first, size, load, load, 0.02)
    assert row == pytest.approx([1, 1, 1], abs=1e-8)


@pytest.mark.parametrize(("beyond", "allowed"), [(0.5 * SAFE, True), (2 * SAFE, False)])
def test_a_server_is_too_full_from_the_tolerance_on(beyond, allowed):
    full = 1 + beyond
    assert bears(np.array([full, 0, 0, 0])) is allowed
    assert bears(np.array([0, full, 0, 0])) is allowed
    one = np.array([0, 1])
    none = np.zeros(1, int)
    value, _ = heaviest(np.ones(1), one, np.array([full]), np.zeros((1, 4)), 0.0, NOTHING, none)
    assert (value == 1) is allowed
