"""Annealing over moves: where it ends, how it cools, and that steps alone decide its path."""

import math
import time

import numpy as np
import pytest

from optsched.decomposition import anneal, beside
from optsched.solvers.deadline import Deadline


class Valleys:
    """A walk over a line with many local minima, the deepest at 0."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.at = self.met = self.best = 60
        self.temperatures = []
        self.taken = 0

    def cost(self, x):
        return abs(x) / 10 + math.sin(2 * x) + 1

    def steps(self, count, temperature):
        self.temperatures.append(temperature)
        self.taken += count
        self.met = self.at
        for _ in range(count):
            there = self.at + int(self.rng.choice([-2, -1, 1, 2]))
            if self.cost(there) - self.cost(self.at) <= temperature * self.rng.exponential():
                self.at = there
            self.met = min(self.met, self.at, key=self.cost)
        return self.cost(self.met)

    def keep(self):
        self.best = self.met


def cooled(seed, **more):
    moves = Valleys(seed)
    asked = {"temperature": (2.0, 0.05), "patience": 10**6, "most": 3000, "batch": 50, **more}
    least = anneal(moves, Deadline(None), best=moves.cost(moves.best), **asked)
    return moves, least


def test_it_leaves_local_minima_that_a_descent_does_not():
    annealed = [cooled(seed)[1] for seed in range(5)]
    descended = [cooled(seed, temperature=(1e-9, 1e-9))[1] for seed in range(5)]
    assert max(annealed) < 1.2 < min(descended)


def test_what_is_returned_is_the_cost_of_what_was_kept():
    moves, least = cooled(1)
    assert moves.cost(moves.best) == least


def test_with_a_limit_of_steps_the_same_seed_gives_the_same_path():
    (one, _), (same, _) = cooled(3), cooled(3)
    assert (one.at, one.best, one.temperatures) == (same.at, same.best, same.temperatures)


def test_temperatures_fall_geometrically_from_the_first_to_the_last():
    moves, _ = cooled(1)
    ratios = np.divide(moves.temperatures[1:], moves.temperatures[:-1])
    assert moves.temperatures[0] == 2.0
    assert ratios == pytest.approx((0.05 / 2.0) ** (50 / 3000))


def test_non_improving_steps_end_it():
    moves, least = cooled(1, patience=200, temperature=(1e-9, 1e-9))
    assert moves.taken < 3000
    assert least < Valleys(1).cost(60)


def test_a_deadline_ends_it():
    moves = Valleys(1)
    anneal(moves, Deadline(0.05), best=9.0, temperature=(2.0, 0.1), patience=10**9)
    assert moves.taken > 0


def test_each_new_incumbent_is_announced():
    costs = []
    moves = Valleys(2)
    anneal(
        moves, Deadline(None), best=9.0, temperature=(2.0, 0.1), patience=10**6, most=500, batch=10,
        improved=lambda: costs.append(moves.cost(moves.best)),
    )  # fmt: skip
    assert costs
    assert costs == sorted(costs, reverse=True)


def test_work_beside_a_block_ends_with_it():
    turns = []

    def work(deadline):
        while not deadline.over():
            turns.append(1)

    with beside(work, Deadline(None)):
        while not turns:
            pass
    count = len(turns)
    time.sleep(0.01)
    assert len(turns) == count


def test_what_goes_wrong_beside_a_block_is_raised_after_it():
    def wrong(deadline):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), beside(wrong, Deadline(None)):
        pass
