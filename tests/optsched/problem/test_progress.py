"""Progress is told in one place and heard in another."""

import pytest

from optsched.problem.progress import heard_by, tell


def test_what_is_told_is_heard_within_the_block_only():
    heard = []
    tell(1, 3)
    with heard_by(lambda *told: heard.append(told)):
        tell(2, 3)
    tell(3, 3)
    assert heard == [(2, 3)]


def test_the_innermost_listener_hears():
    outer, inner = [], []
    with heard_by(lambda *told: outer.append(told)):
        with heard_by(lambda *told: inner.append(told)):
            tell(1, 2)
        tell(2, 2)
    assert (outer, inner) == ([(2, 2)], [(1, 2)])


def test_an_error_leaves_no_listener_behind():
    heard = []
    with pytest.raises(KeyError), heard_by(lambda *told: heard.append(told)):
        raise KeyError
    tell(1, 1)
    assert heard == []
