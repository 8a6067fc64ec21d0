"""A tree searched depth first, by one thread or by several that share its open nodes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

Node = TypeVar("Node")
Visit = Callable[[int, Node], "list[Node] | None"]


def depth_first(nodes: list[Node], visit: Visit[Node], threads: int = 1) -> int:
    """Visit open nodes, the last one first, until none is left or a visit ends it.

    Args:
        nodes: those open, before and afterwards.
        visit: told the thread's number and a node; its children, or None, which ends the search:
            the node stays open, as do those of other visits that end the same way.
        threads: visits at a time, at least 1. With one the order is always the same.

    Returns:
        Nodes that did not stay open.

    Raises:
        Exception: what a visit raised; its node stays open.
    """
    search = _Search(nodes, visit)
    if threads == 1:
        search.work(0)
        return search.done
    with ThreadPoolExecutor(threads) as pool:
        try:
            for run in [pool.submit(search.work, n) for n in range(threads)]:
                run.result()
        finally:
            search.ended = True
    return search.done


class _Search(Generic[Node]):
    """What threads share."""

    def __init__(self, nodes: list[Node], visit: Visit[Node]) -> None:
        self._nodes, self._visit = nodes, visit
        self._changed, self._busy = threading.Condition(), 0
        self.done, self.ended = 0, False

    def work(self, thread: int) -> None:
        """One thread's visits."""
        while (node := self._next()) is not None:
            children = None
            try:
                children = self._visit(thread, node[0])
            finally:
                with self._changed:
                    self._busy -= 1
                    self.done += children is not None
                    self.ended |= children is None
                    self._nodes += node if children is None else children
                    self._changed.notify_all()

    def _next(self) -> list[Node] | None:
        """A node alone, as soon as there is one; None once there will be none."""
        with self._changed:
            self._changed.wait_for(lambda: self._nodes or not self._busy or self.ended)
            if self.ended or not self._nodes:
                return None
            self._busy += 1
            return [self._nodes.pop()]
