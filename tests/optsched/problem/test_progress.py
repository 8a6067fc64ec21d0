"""Progress is told in one place and heard in another."""

import pytest

from optsched.problem.progress import report, reported_to


def test_what_is_told_is_heard_within_the_block_only():
    heard = []
    report(1, 3)
    with reported_to(lambda *told: heard.append(told)):
        report(2, 3)
    report(3, 3)
    assert heard == [(2, 3)]


def test_the_innermost_listener_hears():
    outer, inner = [], []
    with reported_to(lambda *told: outer.append(told)):
        with reported_to(lambda *told: inner.append(told)):
            report(1, 2)
        report(2, 2)
    assert (outer, inner) == ([(2, 2)], [(1, 2)])


def test_an_error_leaves_no_listener_behind():
    heard = []
    with pytest.raises(KeyError), reported_to(lambda *told: heard.append(told)):
        raise KeyError
    report(1, 1)
    assert heard == []
