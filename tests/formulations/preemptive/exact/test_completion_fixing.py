"""The completions that prices leave open, against enumeration and the compact model."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from preemptive_cases import examples, instances
from purchase_cases import PRICE_BITS, Shop

from formulations.preemptive import PROBLEM
from formulations.preemptive.check import completion_times
from formulations.preemptive.exact.completion_fixing import NONE, CompletionFixing, values_by_end
from formulations.preemptive.exact.components import components
from formulations.preemptive.exact.lagrangian import improve
from formulations.preemptive.instance import whole_slots
from formulations.preemptive.problem_2 import compact_model
from formulations.preemptive.time_indexed.grid import build_grid
from optsched import solve


def test_completions_have_the_least_price_of_all_ways_to_end_with_their_slot() -> None:
    for seed in range(250):
        shop = Shop(np.random.default_rng(seed), slotted=True)
        job = shop.jobs[0]
        found = values_by_end(shop.jobs, shop.steps, shop.edges, shop.price, PRICE_BITS)[0]
        ways = {int(job["release"]) + at: paid for at, paid in shop.ways(job)}
        for cell, end in enumerate(shop.edges[1:-1].tolist()):
            paid = ways.get(end)
            age = (end - int(job["release"])) << PRICE_BITS
            assert found[cell] == (NONE if paid is None else age + paid)


@pytest.mark.parametrize(("by_server", "steps"), [(False, 1), (False, 60), (True, 10)])
@given(data=st.data())
@examples(15)
def test_prices_leave_open_every_completion_of_a_schedule_within_the_total(
    by_server: bool, steps: int, data: st.DataObject
) -> None:
    """At the optimum all schedules that are optimal remain, and the model over them has its value;
    just below it nothing is left."""
    more = {name: data.draw(st.booleans()) for name in ("fractional", "tables")}
    instance = data.draw(instances(**more))
    for component in components(instance, by_server=by_server):
        part = instance.select_jobs(component.jobs)
        fixing = CompletionFixing(build_grid(part), component, improve(component, steps=steps))
        optimum = PROBLEM.solve("problem_2_compact", part)
        ages = whole_slots(completion_times(part, optimum.schedule)) - fixing.grid.first_slot
        total = int(ages.sum())
        job, slot = fixing.grid.windows
        completion = (fixing.grid.first_slot + ages)[job]
        for within in (total, total + 1, 10 * total + 10):
            assert fixing.within(within)[slot + 1 == completion].all()
        found = solve(compact_model(fixing.grid, fixing.within(total)))
        assert found.objective == pytest.approx(optimum.solution.objective)
        low = math.ceil(fixing.priced.bound)
        assert low <= total
        assert all(fixing.within(low - 1).sum() <= fixing.within(t).sum() for t in (low, total))
