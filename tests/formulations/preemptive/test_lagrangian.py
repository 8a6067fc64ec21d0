"""The Lagrangian bound: valid at any prices, exact at good ones."""

import numpy as np
import preemptive_enumeration as brute_force
import pytest
from hypothesis import given
from hypothesis import strategies as st
from preemptive_cases import examples, instances

from formulations.preemptive.bounds import lb_alone, lb_ext, lb_theta
from formulations.preemptive.check import cost
from formulations.preemptive.generator import generate
from formulations.preemptive.grid import Grid, build_grid
from formulations.preemptive.instance import Instance
from formulations.preemptive.lagrangian import CapacityRelaxation, lagrangian_bound, lb_lagrangian
from heuristics.preemptive.a_online import a_online
from optsched.errors import InputError


def prices(grid: Grid, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Random prices, many of them zero."""

    def draw(rows: int) -> np.ndarray:
        return rng.exponential(0.4, rows) * (rng.random(rows) < 0.5)

    return draw(len(grid.class_slots[1])), draw(len(grid.group_slots[1]))


@pytest.mark.parametrize("hub", [False, True])
@given(data=st.data())
@examples(40)
def test_at_any_prices_it_stays_below_the_completion_indexed_bound(hub, data):
    instance = data.draw(
        instances(fractional=data.draw(st.booleans()), tables=data.draw(st.booleans()))
    )
    grid = build_grid(instance, hub=hub)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    relaxation, ext = CapacityRelaxation(grid), lb_ext(instance)
    for _ in range(5):
        value, _ = relaxation.value(*prices(grid, rng))
        assert value <= ext + 1e-7


@pytest.mark.parametrize("hub", [False, True])
@given(instance=instances(jobs=(2, 4)))
@examples(30)
def test_without_prices_every_job_runs_as_if_alone(hub, instance):
    grid = build_grid(instance, hub=hub)
    free = np.zeros(len(grid.class_slots[1])), np.zeros(len(grid.group_slots[1]))
    assert CapacityRelaxation(grid).value(*free)[0] == pytest.approx(lb_alone(instance))


@given(instance=instances())
@examples(30)
def test_hubs_change_nothing_at_prices_per_group(instance):
    """A price per (group, slot) alone costs a job the same whether it names classes or not."""
    with_hub, without = build_grid(instance), build_grid(instance, hub=False)
    slots = int(max(with_hub.end_slot.max(), without.end_slot.max())) + 1
    price = np.random.default_rng(instance.jobs).exponential(0.3, (len(with_hub.group_size), slots))
    charged = []
    for grid in (with_hub, without):
        row, _ = grid.group_slots
        group_price = np.zeros(row.max(initial=-1) + 1)
        group_price[row] = price[grid.cell_group, grid.cell_slot]
        free = np.zeros(len(grid.class_slots[1]))
        value, _ = CapacityRelaxation(grid).value(free, group_price)
        charged.append(value + grid.group_slots[1] @ group_price)
    assert charged[0] == pytest.approx(charged[1])


@given(data=st.data())
@examples(40)
def test_the_units_asked_for_are_a_subgradient(data):
    """L at other prices lies below the plane that use minus capacity spans."""
    instance = data.draw(instances())
    grid = build_grid(instance)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    here, there = prices(grid, rng), prices(grid, rng)
    relaxation = CapacityRelaxation(grid)
    value, units = relaxation.value(*here)
    plane = value
    for (row, capacity), cells, p, q in zip(
        (grid.class_slots, grid.group_slots),
        (units[grid.named], units),
        here,
        there,
        strict=True,
    ):
        use = np.bincount(row, weights=cells, minlength=len(capacity))
        plane += (use - capacity) @ (q - p)
    assert relaxation.value(*there)[0] <= plane + 1e-7


@given(instance=instances())
@examples(25)
def test_the_bound_found_is_proven_by_its_prices(instance):
    found = lagrangian_bound(instance, steps=40)
    relaxation = CapacityRelaxation(build_grid(instance))
    proof, _ = relaxation.value(found.class_price, found.group_price)
    assert proof == found.value
    assert lb_alone(instance) - 1e-9 <= found.value <= brute_force.problem_2(instance) + 1e-7


@given(instance=instances(), target=st.floats(0, 200))
@examples(25)
def test_a_wrong_target_steers_but_never_enters_the_bound(instance, target):
    found = lagrangian_bound(instance, steps=20, target=target)
    assert found.value <= brute_force.problem_2(instance) + 1e-7


def test_300_steps_find_the_best_prices_of_the_worked_example(
    example: Instance, doubled: Instance
) -> None:
    assert lagrangian_bound(example, steps=300).value == pytest.approx(14.5, abs=5e-4)
    assert lagrangian_bound(doubled, steps=300).value == pytest.approx(21, abs=5e-4)
    assert lb_lagrangian(example) == pytest.approx(14.5, abs=5e-3)


def test_the_search_may_stop_at_any_step_with_a_proof() -> None:
    instance = generate(np.random.default_rng(4), jobs=60, servers=12, types=3, span=20)
    heard: list[tuple[int, int]] = []
    cut = lagrangian_bound(
        instance, steps=50, time_limit=0.0, progress=lambda *told: heard.append(told)
    )
    assert (cut.steps, heard) == (1, [(1, 50)])
    assert cut.value == pytest.approx(lb_alone(instance))
    full = lagrangian_bound(instance, steps=50)
    assert full.steps == 50
    assert cut.value < full.value <= cost(instance, a_online(instance, np.random.default_rng(0)))


def test_at_larger_sizes_it_beats_the_linear_programs() -> None:
    instance = generate(np.random.default_rng(0), jobs=60, servers=12, types=3, span=20)
    assert lagrangian_bound(instance, steps=200).value > lb_theta(instance) > lb_alone(instance)


@pytest.mark.parametrize(("option", "value"), [("time_limit", -1.0), ("steps", 0)])
def test_limits_out_of_range_are_refused_by_name(example: Instance, option, value) -> None:
    with pytest.raises(InputError, match=option):
        lagrangian_bound(example, **{option: value})
