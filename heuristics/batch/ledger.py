"""What the jobs of one round hold, slot by slot, and the prices (7) and (8) that follow."""

from __future__ import annotations

import numpy as np

from formulations.batch.instance import Floats, Integers, Job, System
from formulations.batch.prices import growth, price
from formulations.batch.problem_9 import ServerView


class PriceLedger:
    """Free amounts and prices in the window tau + 1..2 tau, which begins empty.

    Only types that somebody asks for are kept, each as an array (servers, slots).
    """

    def __init__(self, system: System, tau: int) -> None:
        self._system = system
        self.tau = tau
        self._theta = growth(system)
        self._used: dict[tuple[int, int], Floats] = {}
        self._price: dict[tuple[int, int], Floats] = {}

    def _capacity(self, resource: int, kind: int) -> Floats:
        table = self._system.ps_capacity if resource else self._system.worker_capacity
        return table[:, kind]

    def _get(self, resource: int, kind: int) -> tuple[Floats, Floats]:
        key = (resource, kind)
        if key not in self._used:
            shape = (self._system.servers, self.tau)
            self._used[key] = np.zeros(shape)
            self._price[key] = np.zeros(shape)
        return self._used[key], self._price[key]

    def market(self, job: Job, release: Integers) -> tuple[ServerView, Integers]:
        """What a job sees of the servers that have something for it.

        Args:
            job: who asks.
            release: first slot it may use each server in, shape (servers,).

        Returns:
            The market over some servers, and which servers these are.
        """
        workers = self._capacity(0, job.worker_type)
        services = self._capacity(1, job.ps_type)
        rows = np.flatnonzero(((workers >= 1) | (services >= 1)) & (release <= 2 * self.tau))
        used, paid = self._get(0, job.worker_type)
        served, rent = self._get(1, job.ps_type)
        market = ServerView(
            self.tau + 1,
            paid[rows],
            rent[rows],
            workers[rows][:, None] - used[rows],
            services[rows][:, None] - served[rows],
            release[rows],
        )
        return market, rows

    def book(self, job: Job, start: int, end: int, y: Integers, ps: int) -> None:
        """Take what a job needs in slots start..end; prices follow."""
        slots = slice(start - self.tau - 1, end - self.tau)
        servers = np.flatnonzero(y)
        for resource, kind, rows, amount in (
            (0, job.worker_type, servers, y[servers]),
            (1, job.ps_type, np.array([ps]), np.ones(1)),
        ):
            used, paid = self._get(resource, kind)
            used[rows, slots] += np.asarray(amount, dtype=float)[:, None]
            capacity = self._capacity(resource, kind)[rows][:, None]
            paid[rows, slots] = price(used[rows, slots], capacity, self._theta[resource])
