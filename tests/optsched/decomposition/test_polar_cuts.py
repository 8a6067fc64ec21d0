"""Rows that cut a point off a set: valid for every member, and found whenever there is one."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from optsched.decomposition import violated_row


def subsets(size, room):
    """Sets of things that fit together, a row each."""
    rows = np.array(list(itertools.product([0.0, 1.0], repeat=len(size))))
    return rows[rows @ size <= room]


def heaviest_of(members):
    def heaviest(weight):
        k = int((members @ weight).argmax())
        return float(members[k] @ weight), members[k]

    return heaviest


@st.composite
def points(draw):
    size = np.array(draw(st.lists(st.integers(1, 9), min_size=2, max_size=6)), dtype=float)
    members = subsets(size, max(float(size.max()), draw(st.integers(9, 20))))
    point = np.array(draw(st.lists(st.floats(0, 1), min_size=len(size), max_size=len(size))))
    return members, point


@settings(deadline=None)
@given(points())
def test_a_row_holds_for_all_members_and_is_found_if_the_point_lies_outside(case):
    members, point = case
    row = violated_row(point, heaviest_of(members), least=1e-3)
    cover = linprog(np.ones(len(members)), A_ub=-members.T, b_ub=-point).fun
    if row is None:
        assert cover <= 1.0 + 2e-3
    else:
        assert row.min() >= 0
        assert (members @ row).max() <= 1.0 + 1e-9
        assert 1.0 + 1e-3 < row @ point <= cover + 1e-6


@pytest.mark.parametrize(("share", "cut"), [(0.6674, True), (0.6673, False)])
def test_the_least_violation_decides(share, cut):
    members = subsets(np.ones(3), 2)  # two of three fit; row 1/2, violated from 2/3 on
    row = violated_row(np.full(3, share), heaviest_of(members), least=1e-3)
    assert (row is not None) is cut


def test_a_bound_on_the_heaviest_member_gives_a_weaker_row_that_holds():
    members = subsets(np.ones(3), 2)
    exact = heaviest_of(members)
    row = violated_row(np.ones(3), lambda w: (1.2 * exact(w)[0], exact(w)[1]), least=1e-3)
    assert row is not None
    assert (members @ row).max() <= 1.0
