"""Workers of a Dask cluster, for a study that outgrows one machine."""

from __future__ import annotations

import time
from collections.abc import Collection
from concurrent.futures import Executor as FuturesExecutor
from concurrent.futures import Future
from typing import Any

from optsched.errors import InputError
from optsched.parallel import Executor

_LOOK = 5.0  # seconds between two looks at how many workers there are


class Cluster(Executor):
    """A cluster, by the address of its scheduler; its workers need optsched as it is here.

    A worker's process takes one task per thread; ``dask worker --nthreads 1`` keeps a crash to one
    task. What is under way when a worker dies goes to another, up to three times.

    Raises:
        InputError: Dask is not installed, or there is no scheduler at that address.
    """

    def __init__(self, address: str) -> None:
        try:
            import distributed
        except ImportError:
            allowed = "needs the extra: pip install 'optsched[dask]'"
            raise InputError.of("executor", "dask", allowed) from None
        try:
            module: Any = distributed  # some of it has no types
            self._client = module.Client(address, timeout=10, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            allowed = f"the address of a scheduler, such as tcp://host:8786 ({error})"
            raise InputError.of("address", address, allowed) from None
        super().__init__()
        self._looked = 0.0

    def start(self) -> FuturesExecutor:
        """Hand tasks to the cluster."""
        executor: FuturesExecutor = self._client.get_executor(pure=False)
        return executor

    def size(self) -> int:
        """Threads of all workers, which may come and go."""
        if time.monotonic() - self._looked > _LOOK:
            self.workers = max(1, sum(self._client.nthreads().values()))
            self._looked = time.monotonic()
        return self.workers

    def end(self, abandoned: Collection[Future[Any]]) -> None:
        """Leave the cluster; the scheduler then forgets what only we have asked for."""
        self._client.close()
