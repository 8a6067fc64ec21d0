"""Intervals and cumulatives as linear rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import Model, ModelError
from optsched.testing import project

small = settings(deadline=None, max_examples=10)


@small
@given(seed=st.integers(0, 10**6), optional=st.booleans())
def test_lowered_intervals_allow_the_same_points(seed, optional):
    rng = np.random.default_rng(seed)
    m = Model()
    start, length, end = (
        m.integer(name, lower=low, upper=low + 2)
        for name, low in zip(("start", "length", "end"), rng.integers(-1, 2, 3), strict=True)
    )
    m.interval(start, length, end, presence=m.binary("there") if optional else None)
    found = project(m)
    assert found.stated == found.lowered


@small
@given(
    seed=st.integers(0, 10**6),
    optional=st.booleans(),
    chosen=st.sampled_from(["nothing", "demand", "capacity"]),
)
def test_lowered_cumulatives_allow_the_same_points(seed, optional, chosen):
    rng = np.random.default_rng(seed)
    m = Model()
    low = rng.integers(-1, 2, 2)
    start = m.integer("start", 2, lower=low, upper=low + rng.integers(0, 3, 2))
    length = rng.integers(0, 3, 2).astype(float)
    tasks = m.interval(
        start, length, start + length, presence=m.binary("there", 2) if optional else None
    )
    demand = m.integer("demand", 2, upper=2) if chosen == "demand" else rng.integers(0, 3, 2)
    room = m.integer("room", lower=-1, upper=3) if chosen == "capacity" else rng.integers(-1, 4)
    m.cumulative(tasks, demand, room, name="use")
    found = project(m)
    assert found.stated == found.lowered


def test_a_capacity_below_zero_is_infeasible_even_for_tasks_of_no_length():
    m = Model()
    start = m.integer("start", 1, upper=2)
    room = m.integer("room", lower=-1, upper=1)
    m.cumulative(m.interval(start, 0, start), 1, room)
    found = project(m)
    assert found.stated == found.lowered
    assert {point[1] for point in found.stated} == {0.0, 1.0}


def test_a_start_or_end_without_a_bound_is_an_error_that_names_it():
    m = Model()
    start = m.integer("start", 2, upper=[3, np.inf])
    m.cumulative(m.interval(start, 1, start + 1), 1, 1, name="use")
    with pytest.raises(ModelError, match=r"'use'.*start\[1\] lacks a finite bound"):
        m.compile()


def test_an_optional_interval_without_bounds_is_an_error_that_names_the_variable():
    m = Model()
    start, end = m.integer("start", upper=3), m.integer("end")
    m.interval(start, 1, end, presence=m.binary("there"), name="job")
    with pytest.raises(ModelError, match=r"'job:length'.*end lacks a finite bound"):
        m.compile()


def test_added_variables_carry_the_name_of_the_block():
    m = Model()
    start = m.integer("start", 2, upper=3)
    tasks = m.interval(start, 1, start + 1, presence=m.binary("there", 2), name="job")
    m.cumulative(tasks, m.integer("ask", 2, upper=2), 2, name="use")
    compiled = m.compile()
    added = [c for c in compiled.column_blocks if c not in m.variables]
    assert added
    assert all(name.startswith("use:") for name in added)
    assert all(name.startswith(("use:", "job:")) for name in compiled.row_blocks)


def test_wrong_shapes_and_values_are_refused():
    m = Model()
    start = m.integer("start", (2, 2), upper=3)
    with pytest.raises(ModelError, match="one axis"):
        m.cumulative(m.interval(start, 1, start + 1), 1, 1)
    tasks = m.interval(start[0], 1, start[0] + 1)
    with pytest.raises(ModelError, match="negative"):
        m.cumulative(tasks, [-1, 1], 1)
    with pytest.raises(ModelError, match="one capacity"):
        m.cumulative(tasks, 1, [1, 2])
    with pytest.raises(ModelError, match="integer"):
        m.cumulative(tasks, 0.5, 1)
    with pytest.raises(ModelError, match="integer"):
        m.interval(m.continuous("x", upper=1), 1, start[0, 0])
    with pytest.raises(ModelError, match="literal"):
        m.interval(start[0], 1, start[0] + 1, presence=m.integer("n", 2, upper=2))
