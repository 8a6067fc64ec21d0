"""Follow a running study from another process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from optsched.study.reading import Ratios
from optsched.study.store import Store

QUIET = 10.0
"""Seconds without anybody who writes the store, after which an unfinished study has stopped."""

REST = 4.0
"""Times as long between two looks as a look took, at the least: looking must not slow the study."""


@dataclass(frozen=True)
class Look:
    """A study at one moment."""

    store: Store
    """Open until the next look."""
    results: Ratios
    state: Literal["running", "done", "stopped"]
    """Stopped: runs are missing and nobody computes them."""


def follow(path: str | Path, every: float) -> Iterator[Look]:
    """Look at a study until it is done, or has stopped: that look is the last.

    The store is let go of between two looks, and never kept from being written.

    Args:
        path: of the store.
        every: seconds between two looks; more where a look, and what is made of it, takes long.

    Raises:
        InputError: there is no such store.

    Example:
        >>> import tempfile
        >>> from optsched.study import StudyGrid, run_study
        >>> path = tempfile.mkdtemp() + "/study.sqlite"
        >>> grid = StudyGrid("preemptive", {"jobs": [2], "servers": [3]}, heuristics=["a_online"])
        >>> _ = run_study([grid], path, workers=1)
        >>> [(look.state, look.results.progress.finished) for look in follow(path, every=1)]
        [('done', 2)]
    """
    heard = time.monotonic()
    while True:
        began = time.monotonic()
        written = Store.is_being_written(path)
        heard = began if written else heard
        with Store.reading(path) as store:
            results = Ratios.of(store)
            missing = results.progress.finished < results.progress.planned
            if written or (missing and began - heard < QUIET):
                yield Look(store, results, "running")
            else:
                yield Look(store, results, "stopped" if missing else "done")
                return
        time.sleep(max(every, REST * (time.monotonic() - began)))
