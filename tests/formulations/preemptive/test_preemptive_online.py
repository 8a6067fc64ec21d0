"""Planning anew on every arrival where slots are too long for the jobs: time is continuous."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from preemptive_cases import examples, instances

from formulations.preemptive import PROBLEM
from formulations.preemptive.check import check, cost
from formulations.preemptive.instance import Instance
from formulations.preemptive.online import State
from formulations.preemptive.time_indexed.decode import fits_slots
from formulations.preemptive.workload import philly_workload
from optsched.errors import InputError
from optsched.instances.document import dumps
from optsched.online import anticipation, reoptimise, simulate


def one_worker(release: list[float], work: list[float]) -> Instance:
    """Jobs of one chunk each, for one worker at the edge; no cloud, no delay."""
    return Instance.build(
        release_time=release,
        num_chunks=1,
        chunk_time_slow=work,
        upload_delay_edge=np.zeros((len(release), 1)),
        upload_delay_cloud=np.inf,
        worker_server=[0],
    )


def followed(instance: Instance, **options: Any) -> float:
    """Cost of a schedule that holds, each plan of which has the time to be made to its end."""
    schedule = reoptimise(PROBLEM, instance, time_limit=3600.0, **options)
    assert check(instance, schedule) == []
    return cost(instance, schedule)


def test_short_jobs_that_are_done_are_not_done_again() -> None:
    instance = one_worker([1, 1, 2], [0.25, 0.5, 0.125])
    assert not fits_slots(instance)
    assert followed(instance) == pytest.approx(0.25 + 0.75 + 0.125)


def test_what_is_left_of_a_job_is_what_it_has_not_done() -> None:
    """The second job comes when half of the first is left, and the third runs before the rest."""
    instance = one_worker([1, 1.75, 2], [1.5, 0.5, 0.125])
    assert followed(instance) == pytest.approx((1.5 + 0.5 + 0.125) + (0.5 + 0.125) + 0.125)


def test_time_that_has_been_continuous_remains_so() -> None:
    """The first job alone fits slots, with the next two slots are too long, with the last not."""
    instance = one_worker([1, 2, 2, 3, 3, 3], [4, 0.25, 0.25, 3, 3, 3])
    some = [instance.select_jobs(np.arange(n)) for n in (1, 3, 6)]
    assert [fits_slots(part) for part in some] == [True, False, True]
    # at 3 the first has 2.5 slots left
    assert followed(instance) == pytest.approx(4.5 + 0.25 + 0.5 + 5.5 + 8.5 + 11.5)


@given(data=st.data())
@examples(20)
def test_in_continuous_time_it_keeps_above_the_bound(data: st.DataObject) -> None:
    short = data.draw(st.sampled_from([0.1, 0.3]))
    drawn = data.draw(instances(fractional=True, tables=data.draw(st.booleans())))
    instance = replace(
        drawn,
        chunk_time_slow=drawn.chunk_time_slow * short,
        chunk_time_fast=drawn.chunk_time_fast * short,
        jobs_document=None,
    )
    bound = PROBLEM.solve("price_guided(slotted=False)", instance).solution.bound
    assert followed(instance) >= bound - 1e-6


def test_on_a_cluster_it_does_what_the_prices_guide_to() -> None:
    """With all foresight that is the offline schedule; without, hardly a worse one here."""
    instance = philly_workload(np.random.default_rng(0), 300)
    best = PROBLEM.solve("price_guided", instance).solution
    assert followed(instance, lookahead="all") == pytest.approx(best.objective)
    assert best.bound <= followed(instance) <= 1.01 * best.objective


@pytest.mark.parametrize(
    "instance",
    [
        one_worker([1, 1.75, 2, 2, 3], [1.5, 0.5, 0.125, 0.25, 0.5]),
        one_worker([1, 2, 2, 3, 3, 3], [4, 0.25, 0.25, 3, 3, 3]),
    ],
    ids=["short", "long and short"],
)
def test_in_continuous_time_it_does_not_look_ahead_either(instance: Instance) -> None:
    run = lambda one, rng: reoptimise(PROBLEM, one)  # noqa: E731
    assert anticipation(PROBLEM, run, instance, cuts=3, changes=2) is None


class Careless:
    """Sends chunks anywhere and at any time, and keeps what it was told of each decision."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.told: list[str] = []

    def arrive(self, job: Any, state: State) -> None:
        for _ in range(min(job.num_chunks + 1, 12)):
            draw = self.rng.random(3)
            worker = int(self.rng.integers(-1, state.known.workers + 1))
            try:
                if draw[0] < 0.1:
                    state.send_to_cloud(job)
                elif draw[0] < 0.15 and len(state.plan.run_job):
                    state.follow(replace(state.plan))  # as it is, but not sent chunk by chunk
                elif draw[1] < 0.5 and worker < state.known.workers:
                    state.send(job, worker)
                else:
                    state.send(job, worker, start=state.now + 8 * draw[2] - 1)
            except (InputError, IndexError) as error:
                self.told.append(str(error))
            self.told.append(f"{len(state.plan.run_job)} runs, finished: {state.finished}")


@pytest.mark.parametrize("seed", range(4))
def test_a_decision_judged_alone_ends_as_if_the_whole_plan_were_checked(seed, monkeypatch):
    instance = PROBLEM.generate(
        np.random.default_rng(seed), jobs=4, servers=3, types=2, span=6, time_scale=0.02
    )
    alone, whole = Careless(seed), Careless(seed)
    found = simulate(PROBLEM, instance, alone)
    monkeypatch.setattr(State, "_is_legal", lambda *_, **__: False)
    assert dumps(simulate(PROBLEM, instance, whole)) == dumps(found)
    assert alone.told == whole.told
    refused = [one for one in alone.told if one.startswith("the decision at")]
    assert 0 < len(refused) < len(alone.told) / 2
