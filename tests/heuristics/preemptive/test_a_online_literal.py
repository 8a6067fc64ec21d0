"""A_online against a literal rendering of its lines: chunk by chunk, in exact fractions.

The reference recomputes every price for every chunk, and every worker from time zero.
"""

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.preemptive.instance import CLOUD, Instance
from heuristics.preemptive.a_online import a_online
from heuristics.preemptive.engine.queues import BUCKET_SIZE
from heuristics.preemptive.online_run import OnlineRun

BIG = Fraction(10**9)


def exact(value: float) -> Fraction:
    return Fraction(float(value)).limit_denominator(5000)


@dataclass
class Chunk:
    job: int
    number: int
    arrival: Fraction
    work: Fraction
    weight: Fraction
    left: Fraction = Fraction(0)
    runs: list[tuple[Fraction, Fraction]] = field(default_factory=list)

    @property
    def completion(self) -> Fraction:
        return self.runs[-1][1]


def simulate(chunks: list[Chunk], until: Fraction, residual: bool) -> int:
    """Run one worker from time zero; chunks are in order of dispatch. Returns preemptions."""
    for chunk in chunks:
        chunk.left, chunk.runs = chunk.work, []
    now, last, preemptions = Fraction(0), None, 0
    while now < until:
        arrivals = [c.arrival for c in chunks if c.arrival > now]
        ready = [i for i, c in enumerate(chunks) if c.arrival <= now and c.left > 0]
        step = min([until, *arrivals])
        if not ready:
            if not arrivals:
                break
            now, last = step, None
            continue

        def key(i: int) -> tuple[Fraction, Fraction, int]:
            amount = chunks[i].left if residual else chunks[i].work
            return amount / chunks[i].weight, chunks[i].arrival, i

        best = chunks[min(ready, key=key)]
        if last is not None and last is not best and last.left > 0:
            preemptions += 1
        end = min(step, now + best.left)
        if best.runs and best.runs[-1][1] == now:
            best.runs[-1] = (best.runs[-1][0], end)
        else:
            best.runs.append((now, end))
        best.left -= end - now
        now, last = end, best
    return preemptions


class Literal:
    """The whole algorithm; arrays in order of (job, chunk)."""

    def __init__(
        self, instance: Instance, priority: str, rule: str, epsilon: Fraction, cloud: str
    ) -> None:
        self.residual, self.rule, self.cloud = priority == "residual", rule, cloud
        self.instance, self.speed = instance, 1 + epsilon
        self.workers: list[list[Chunk]] = [[] for _ in range(instance.workers)]
        self.alpha: list[Fraction] = []
        self.place: list[int] = []
        self.completion: dict[tuple[int, int], Fraction] = {}
        for j in range(instance.jobs):
            self.arrive(j)
        self.preemptions = 0
        for chunks in self.workers:
            self.preemptions += simulate(chunks, BIG, self.residual)
            for chunk in chunks:
                self.completion[chunk.job, chunk.number] = chunk.completion

    def arrive(self, j: int) -> None:
        instance, D = self.instance, int(self.instance.num_chunks[j])  # noqa: N806
        w, r = Fraction(1, D), exact(instance.release_time[j])
        p0 = exact(instance.chunk_time_slow[j]) / self.speed
        p1 = exact(instance.chunk_time_fast[j]) / self.speed
        eligible = np.flatnonzero(instance.worker_eligible[j]).tolist()
        reach = instance.upload_delay_cloud[j]
        if np.isinf(reach) or (self.cloud == "edge_only" and eligible):
            fast = slow = BIG
        else:
            fast, slow = w * (exact(reach) + p1), w * (exact(reach) + p0)
        if self.cloud == "no_spill":
            slow = fast
        placed: list[tuple[int, Fraction]] = []
        while len(placed) < D:
            prices = [self.price(j, x, p0, w, r) for x in eligible]
            limit = slow if placed else fast
            if not prices or min(prices) > limit:
                break
            x = eligible[prices.index(min(prices))]
            placed.append((x, min(prices)))
            self.workers[x].append(self.chunk(j, x, len(placed) - 1, p0, w, r))
        if self.cloud == "no_spill" and len(placed) < D:
            for x, _ in placed:
                self.workers[x] = [c for c in self.workers[x] if c.job != j]
            placed = []
        if not placed:
            slow, p0 = fast, p1
        for number in range(len(placed), D):
            placed.append((CLOUD, slow))
            self.completion[j, number] = r + exact(reach) + p0
        self.place += [x for x, _ in placed]
        self.alpha += [price for _, price in placed]

    def chunk(self, j: int, x: int, number: int, p0: Fraction, w: Fraction, r: Fraction) -> Chunk:
        delay = exact(self.instance.upload_delay_edge[j, self.instance.worker_server[x]])
        return Chunk(j, number, r + delay, p0, w)

    def price(self, j: int, x: int, p0: Fraction, w: Fraction, r: Fraction) -> Fraction:
        known = self.workers[x]
        new = self.chunk(j, x, 0, p0, w, r)
        if self.rule == "exact":
            simulate(known, BIG, self.residual)
            before = sum((c.weight * c.completion for c in known), Fraction(0))
            simulate([*known, new], BIG, self.residual)
            after = sum((c.weight * c.completion for c in [*known, new]), Fraction(0))
            return after - before - w * r
        simulate(known, new.arrival, self.residual)
        price = w * (new.arrival - r + p0)
        for c in known:
            if c.arrival <= new.arrival and c.left > 0:
                rest = c.left if self.residual else c.work
                ahead = c.weight / rest >= w / p0
                price += w * c.left if ahead else p0 * c.weight
        return price


@given(data=st.data())
@settings(max_examples=250, deadline=None)
def test_water_filling_equals_recomputing_every_price_for_every_chunk(data, instances, rng):
    instance = data.draw(instances(common_delay=data.draw(st.booleans()), parts=(1, 3, 7, 10)))
    priority = data.draw(st.sampled_from(["static", "residual"]))
    rule = data.draw(st.sampled_from(["arrived", "arrived", "exact"]))
    epsilon = data.draw(st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1, 3)]))
    cloud = data.draw(st.sampled_from(["spill", "edge_only", "no_spill"]))

    literal = Literal(instance, priority, rule, epsilon, cloud)
    run = a_online(
        instance,
        rng,
        priority=priority,
        pending_rule=rule,
        epsilon=float(epsilon),
        edge_only=cloud == "edge_only",
        no_spill=cloud == "no_spill",
    )
    assert_same(run, literal)


@pytest.mark.parametrize("priority", ["static", "residual"])
def test_long_queues_are_kept_and_priced_like_short_ones(rng, priority):
    """More chunks wait than a bucket of the queue holds, many of them of equal density."""
    random, jobs = np.random.default_rng(1), 130
    instance = Instance.build(
        release_time=np.sort(random.integers(0, 40, jobs)),
        num_chunks=random.integers(1, 3, jobs),
        chunk_time_slow=random.integers(1, 30, jobs),
        upload_delay_edge=random.integers(0, 4, (jobs, 1)),
        upload_delay_cloud=np.inf,
        worker_server=[0],
    )
    literal = Literal(instance, priority, "arrived", Fraction(0), "edge_only")
    run = a_online(instance, rng, priority=priority)
    assert np.sum(run.completion > 40) > 2 * BUCKET_SIZE
    assert_same(run, literal)


def assert_same(run: OnlineRun, literal: Literal) -> None:
    assert run.dispatch.tolist() == literal.place
    assert run.alpha == pytest.approx([float(a) for a in literal.alpha], rel=1e-9)
    completion = [float(literal.completion[key]) for key in sorted(literal.completion)]
    assert run.completion == pytest.approx(completion, rel=1e-9)
    assert run.preemptions == literal.preemptions
    runs = {
        (c.job, c.number, x): c.runs for x, chunks in enumerate(literal.workers) for c in chunks
    }
    at_edge = run.run_worker != CLOUD
    assert at_edge.sum() == sum(map(len, runs.values()))
    for (j, d, x), expected in runs.items():
        mine = (run.run_job == j) & (run.run_chunk == d) & (run.run_worker == x)
        found = np.stack([run.run_start[mine], run.run_end[mine]], axis=1)
        assert found == pytest.approx(np.array(expected, dtype=float), rel=1e-9)
