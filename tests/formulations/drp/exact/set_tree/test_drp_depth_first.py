"""A tree searched by several threads: every node once, ends, and what stays open."""

import threading

import pytest

from formulations.drp.exact.set_tree.depth_first import depth_first

THREADS = pytest.mark.parametrize("threads", [1, 2, 5])


def halves(node):
    """A binary tree of 2**k - 1 nodes below (first, 2**k - 1)."""
    first, size = node
    size //= 2
    return [(first + 1, size), (first + 1 + size, size)] if size else []


@THREADS
def test_every_node_is_visited_once(threads):
    seen, nodes = [], [(0, 255)]

    def visit(thread, node):
        assert 0 <= thread < threads
        seen.append(node[0])
        return halves(node)

    assert depth_first(nodes, visit, threads) == 255
    assert sorted(seen) == list(range(255))
    assert not nodes


def test_one_thread_goes_deep_first():
    seen = []
    depth_first([(0, 7)], lambda thread, node: seen.append(node[0]) or halves(node))
    assert seen == [0, 4, 6, 5, 1, 3, 2]


@THREADS
def test_a_search_that_a_visit_ended_goes_on_where_it_was(threads):
    seen, nodes, lock = [], [(0, 63)], threading.Lock()
    for most in range(5, 100, 10):

        def visit(thread, node, most=most):
            with lock:
                if len(seen) >= most:
                    return None
                seen.append(node[0])
            return halves(node)

        before = len(seen)
        assert depth_first(nodes, visit, threads) == len(seen) - before
        assert bool(nodes) is (len(seen) < 63)
    assert sorted(seen) == list(range(63))


@THREADS
def test_an_error_of_a_visit_is_raised_and_loses_no_node(threads):
    nodes, seen = [(0, 63)], []

    def fails(thread, node):
        if node[1] == 3:
            raise KeyError(node)
        return visit(thread, node)

    def visit(thread, node):
        seen.append(node[0])
        return halves(node)

    with pytest.raises(KeyError):
        depth_first(nodes, fails, threads)
    depth_first(nodes, visit)
    assert sorted(seen) == list(range(63))


@pytest.mark.parametrize("threads", [2, 5])
def test_threads_visit_at_the_same_time(threads):
    together = threading.Barrier(2, timeout=20)

    def visit(thread, node):
        if node == "leaf":
            together.wait()
            return []
        return ["leaf", "leaf"]

    assert depth_first(["root"], visit, threads) == 3
