"""First and last active slots as linear rows."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import Model, ModelError
from optsched.testing import project


@settings(deadline=None, max_examples=12)
@given(seed=st.integers(0, 10**6), last=st.booleans(), shape=st.sampled_from([(3,), (2, 2), (1,)]))
def test_lowered_slots_allow_the_same_points(seed, last, shape):
    rng = np.random.default_rng(seed)
    m = Model()
    x = m.binary("x", shape)
    slots = np.cumsum(rng.integers(1, 3, shape[-1]))
    empty = slots[0] - rng.integers(0, 3) if last else slots[-1] + rng.integers(0, 3)
    activity = x if rng.random() < 0.6 else 1 - x
    state = m.last_active if last else m.first_active
    state(activity, slots, empty=float(empty), name="z")
    found = project(m)
    assert found.stated == found.lowered
    # one value per pattern of activity: it is a function
    assert len(found.stated) == 2 ** int(np.prod(shape))


@pytest.mark.parametrize("last", [True, False])
def test_the_relaxation_at_whole_activity_leaves_one_value(last):
    from optsched import solve

    m = Model()
    x = m.binary("x", 4)
    z = (m.last_active if last else m.first_active)(x)
    for bits in itertools.product((0, 1), repeat=4):
        on = [t for t, bit in enumerate(bits) if bit]
        value = (on[-1] if last else on[0]) if on else (-1 if last else 4)
        fixed = m.copy()
        fixed.add("x", x == np.array(bits))
        for sense in (1.0, -1.0):
            fixed.minimize(sense * z)
            assert solve(fixed.relax()).objective == pytest.approx(sense * value)


def test_slots_and_the_value_for_none_are_checked():
    m = Model()
    x = m.binary("x", 3)
    for slots in ([2, 1, 3], [1, 2], [1, 1, 2]):
        with pytest.raises(ModelError, match=r"'z'.*ascend"):
            m.last_active(x, slots, name="z")
    with pytest.raises(ModelError, match=r"'z'.*among the slots"):
        m.last_active(x, empty=1, name="z")
    with pytest.raises(ModelError, match=r"'z'.*among the slots"):
        m.first_active(x, empty=1, name="z")
    with pytest.raises(ModelError, match=r"'z'.*binary"):
        m.last_active(m.integer("n", 2, upper=2), name="z")
    with pytest.raises(ModelError, match=r"'z'.*axis"):
        m.last_active(m.binary("b"), name="z")


def test_added_variables_carry_the_name_of_the_block():
    m = Model()
    m.first_active(m.binary("x", (2, 3)), name="release")
    compiled = m.compile()
    assert [c for c in compiled.column_blocks if c not in m.variables] == ["release:seen"]
    assert all(name.startswith("release:") for name in compiled.row_blocks)
