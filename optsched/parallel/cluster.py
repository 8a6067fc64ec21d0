"""Workers of a Dask cluster, for a study that is too large for one machine."""

from __future__ import annotations

import time
from collections.abc import Collection
from concurrent.futures import Executor as FuturesExecutor
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from optsched.errors import InputError, needs_extra
from optsched.parallel.local import ExecutorLostError, Remote

PATIENCE = 30.0
"""Seconds for which a cluster may be without workers, or silent, before a study stops."""

_HAS_US = "__import__('importlib.util').util.find_spec('optsched') is not None"

_LOOK = 5.0  # seconds between two looks at how many workers there are


class DaskCluster(Remote):
    """A cluster, by the address of its scheduler; its workers need optsched as it is here.

    A worker's process takes one task per thread; ``dask worker --nthreads 1`` keeps a crash to one
    task. What is under way when a worker dies goes to another, up to three times. Certificates for
    ``tls://`` are those of Dask's settings (``distributed.comm.tls``).

    Raises:
        InputError: Dask is not installed, there is no scheduler at that address, its workers are
            none or lack optsched, or there is no certificate for a ``tls://`` address.
    """

    def __init__(self, address: str) -> None:
        try:
            import distributed
        except ImportError:
            raise InputError.of("executor", "dask", needs_extra("a cluster", "dask")) from None
        module: Any = distributed  # some of it has no types
        secured = module.Security().get_connection_args("client")["ssl_context"]
        if address.startswith("tls:") and secured is None:
            allowed = "needs certificates: distributed.comm.tls.ca-file and .client.cert of Dask's"
            raise InputError.of("address", address, f"{allowed} settings")
        try:
            self._client = module.Client(address, timeout=10, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            allowed = f"the address of a scheduler, such as tcp://host:8786 ({error})"
            raise InputError.of("address", address, allowed) from None
        super().__init__()
        self._looked = 0.0
        self._well = time.monotonic()
        try:
            self._check_workers(address)
        except BaseException:
            self._client.close()
            raise

    def _check_workers(self, address: str) -> None:
        if not self._client.nthreads():
            allowed = "a cluster with workers: this one has none (dask worker ADDRESS)"
            raise InputError.of("address", address, allowed)
        lacking = [worker for worker, there in self._client.run(eval, _HAS_US).items() if not there]
        if lacking:
            allowed = f"workers with optsched installed: {', '.join(sorted(lacking))} have none"
            raise InputError.of("address", address, allowed)

    def start(self) -> FuturesExecutor:
        """Hand tasks to the cluster."""
        executor: FuturesExecutor = self._client.get_executor(pure=False)
        return executor

    def size(self) -> int:
        """Threads of all workers, which may come and go."""
        if time.monotonic() - self._looked > _LOOK:
            self.workers = max(1, self._threads())
            self._looked = time.monotonic()
        return self.workers

    def check(self) -> None:
        """Look for the scheduler and for workers; for a while they may be away.

        Raises:
            ExecutorLostError: for ``PATIENCE`` seconds there was nobody.
        """
        if not self._threads() and time.monotonic() - self._well > PATIENCE:
            running = self._client.status == "running"
            raise ExecutorLostError(
                "the cluster has no workers left" if running else "the scheduler does not answer"
            )

    def _threads(self) -> int:
        """Threads of all workers; none if the scheduler does not answer."""
        threads = 0
        if self._client.status == "running":
            with suppress(OSError, TimeoutError):
                threads = sum(self._client.nthreads().values())
        if threads:
            self._well = time.monotonic()
        return threads

    def end(self, abandoned: Collection[Future[Any]]) -> None:
        """Leave the cluster; the scheduler then forgets what only we have asked for."""
        self._client.close()
