"""Demands that change with the age of a task: as linear rows, and solved by every back end."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import Model, ModelError, solve
from optsched.solvers.registry import available, backend
from optsched.testing import Feature, project

WHOLE = [name for name in sorted(available()) if Feature.INTEGERS in backend(name).features]
"""Back ends that take integers."""


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10**6), optional=st.booleans(), chosen=st.booleans())
def test_lowered_profiles_allow_the_same_points(seed, optional, chosen):
    rng = np.random.default_rng(seed)
    m = Model()
    low = rng.integers(-2, 2, 2)
    start = m.integer("start", 2, lower=low, upper=low + rng.integers(0, 4, 2))
    length = m.integer("length", 2, upper=[3, 1]) if chosen else rng.integers(0, 4, 2).astype(float)
    there = m.binary("there", 2) if optional else None
    tasks = m.interval(start, length, start + length, presence=there)
    room = m.integer("room", lower=-1, upper=3) if rng.random() < 0.5 else rng.integers(-1, 6)
    m.cumulative_profile(tasks, rng.integers(0, 4, (2, 3)), room, name="use")
    found = project(m)
    assert found.stated == found.lowered


def test_durations_below_zero_take_no_room():
    m = Model()
    start, length = m.integer("start", 2, upper=2), m.integer("length", 2, lower=-1, upper=1)
    tasks = m.interval(start, length, start + length, presence=m.binary("there", 2))
    m.cumulative_profile(tasks, [2], 2, name="use")
    found = project(m)
    assert found.stated == found.lowered


def test_a_profile_of_one_demand_says_what_a_cumulative_says():
    m, n = Model(), Model()
    for model in (m, n):
        start, length = model.integer("start", 3, upper=2), np.array([1.0, 3.0, 2.0])
        tasks = model.interval(start, length, start + length)
        if model is m:
            model.cumulative(tasks, [2, 1, 3], 4)
        else:
            model.cumulative_profile(tasks, [[2], [1, 1, 1], [3, 3]], 4)
    assert project(m).lowered == project(n).lowered != frozenset()


# brute force over all starts, in shapes of its own


def ramp(rng, ages):
    return rng.integers(1, 4) + rng.integers(1, 3) * np.arange(ages)


def decay(rng, ages):
    return np.sort(rng.integers(0, 6, ages))[::-1]


def steps(rng, ages):
    return np.repeat(rng.integers(0, 6, ages), 2)[:ages]


def gaps(rng, ages):
    return rng.integers(1, 6, ages) * (np.arange(ages) % 2)


def one_long(rng, ages):
    """Few ages, or many for one task in three."""
    return rng.integers(0, 4, 7 if rng.random() < 1 / 3 else 1)


SHAPES = [ramp, decay, steps, gaps, one_long]
SLOTS = 9


def drawn(shape, seed):
    """Demands by age, weights, and a capacity that one peak, or two tasks at once, just meet."""
    rng = np.random.default_rng(seed)
    demand = [np.asarray(shape(rng, int(rng.integers(1, 5)))) for _ in range(3)]
    peak = max(int(row.max()) for row in demand)
    return demand, rng.integers(1, 6, 3), peak + int(rng.integers(0, peak + 1))


def load(demand, starts):
    held = np.zeros(SLOTS + 8, dtype=int)
    for row, start in zip(demand, starts, strict=True):
        held[start : start + len(row)] += row
    return held.max()


def best(demand, weights, capacity):
    ranges = (range(SLOTS - len(row) + 1) for row in demand)
    points = [s for s in product(*ranges) if load(demand, s) <= capacity]
    return min((int(weights @ np.array(s)) for s in points), default=None)


def model_of(demand, weights, capacity) -> Model:
    m = Model("demands by age")
    ages = np.array([len(row) for row in demand], dtype=float)
    start = m.integer("start", len(demand), upper=SLOTS - ages)
    m.cumulative_profile(m.interval(start, ages, start + ages), demand, capacity)
    m.minimize(start @ weights.astype(float))
    return m


@pytest.mark.parametrize("solver", WHOLE)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_back_end_finds_the_optimum_that_all_starts_have(shape, solver):
    for seed in range(3):
        case = drawn(shape, seed)
        answer = solve(model_of(*case), solver)
        assert answer.objective == best(*case), seed
        if answer.has_point:
            assert load(case[0], answer["start"].astype(int)) <= case[2]


def inserted(demand, weights, capacity):
    """The cost of tasks that start one after the other, each as early as it fits."""
    starts: list[int] = []
    for i in range(len(demand)):
        starts.append(0)
        while load(demand[: i + 1], starts) > capacity:
            starts[-1] += 1
            if starts[-1] + len(demand[i]) > SLOTS:
                return np.inf
    return weights @ np.array(starts)


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10**6), shape=st.sampled_from(SHAPES))
def test_the_relaxation_is_a_lower_bound_and_insertion_an_upper_one(seed, shape):
    case = drawn(shape, seed)
    answer = solve(model_of(*case))
    if not answer.has_point:
        assert best(*case) is None
        return
    assert solve(model_of(*case).relax()).objective <= answer.objective + 1e-6
    assert answer.objective == best(*case) <= inserted(*case)


# what is refused


def tasks_of(m: Model):
    start, length = m.integer("start", 2, upper=4), np.array([3.0, 1.0])
    return m.interval(start, length, start + length)


@pytest.mark.parametrize(
    ("demand", "said"),
    [
        (2, "rows of numbers"),
        ([1, 2], "task 0 may last 3, demands are given for ages below 2"),
        ([[1, 2, 3], []], "task 1 may last 1, demands are given for ages below 0"),
        ([[1, 2, 3]] * 3, "3 rows of demands for 2 tasks"),
        (np.ones((2, 3, 1)), "2 rows of demands for 2 tasks; allowed are a list of numbers"),
        ([[1, 2, 3], [-1]], "task 1 demands -1 at age 0; allowed are integers, at least 0"),
        ([1, 2.5, 3], "task 0 demands 2.5 at age 1"),
        ([1, np.nan, 3], "task 0 demands nan at age 1"),
        ([1, np.inf, 3], "task 0 demands inf at age 1"),
        (["1", "2"], "not an array of numbers"),
    ],
)
def test_a_demand_that_is_not_allowed_is_an_error_that_says_what_is(demand, said):
    m = Model()
    with pytest.raises(ModelError, match=f"'use'.*{said}"):
        m.cumulative_profile(tasks_of(m), demand, 3, name="use")


def test_a_capacity_that_is_not_allowed_is_an_error():
    m = Model()
    tasks = tasks_of(m)
    with pytest.raises(ModelError, match="one capacity"):
        m.cumulative_profile(tasks, [1, 2, 3], [1, 2])
    with pytest.raises(ModelError, match="capacity must be integer"):
        m.cumulative_profile(tasks, [1, 2, 3], 2.5)


def test_a_duration_that_varies_needs_a_bound_and_demands_up_to_it():
    m = Model()
    start, length = m.integer("start", 1, upper=4), m.integer("length", 1, upper=np.inf)
    with pytest.raises(ModelError, match=r"'use'.*length\[0\] lacks a finite bound"):
        m.cumulative_profile(m.interval(start, length, start + length), [1], 3, name="use")
    length = m.integer("bounded", 1, upper=3)
    with pytest.raises(ModelError, match="task 0 may last 3"):
        m.cumulative_profile(m.interval(start, length, start + length), [1, 2], 3)


def test_a_start_without_a_horizon_is_an_error_that_names_it():
    m = Model()
    start = m.integer("start", 2, upper=[3, np.inf])
    m.cumulative_profile(m.interval(start, 1, start + 1), [1], 1, name="use")
    with pytest.raises(ModelError, match=r"'use'.*start\[1\] lacks a finite bound"):
        m.compile()


def test_added_variables_and_rows_carry_the_name_of_the_block():
    m = Model()
    m.cumulative_profile(tasks_of(m), [1, 2, 3], m.integer("room", lower=-1, upper=4), name="use")
    compiled = m.compile()
    assert [c for c in compiled.column_blocks if c not in m.variables] == ["use:chosen"]
    assert {"use:idle", "use:one", "use:start", "use:capacity"} <= set(compiled.row_blocks)
    assert "use:duration" not in compiled.row_blocks
