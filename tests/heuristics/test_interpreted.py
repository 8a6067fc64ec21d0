"""Loops give the same interpreted and compiled: schedules, and what every function does."""

import copy
import importlib
import math
import pkgutil
import sys
from collections import Counter

import numpy as np
import pytest

import formulations
import heuristics
from formulations.aerialedge.exact.exchange import pack_into
from formulations.aerialedge.instance import Instance
from formulations.aerialedge.vector_packing import aggregate
from formulations.batch.domain_reduction import prospects
from formulations.batch.exact.columns import PooledColumns
from formulations.batch.exact.improve import BATCH, Annealing
from formulations.batch.exact.server_cuts import Runs
from formulations.batch.insertion import Occupancy, inserted
from formulations.common.traces import TraceJobs
from formulations.drp.exact.covering_sets import covering_sets
from formulations.drp.exact.service_columns import ServiceColumns
from formulations.drp.exact.set_exchange.annealing import SetExchange
from formulations.drp.exact.set_tree.configuration_prices import ConfigurationPrices
from formulations.drp.exact.set_tree.configuration_rows import configuration_row
from formulations.drp.exact.set_tree.configurations import heaviest
from formulations.drp.exact.set_tree.near_sets import sets_within
from formulations.drp.exact.set_tree.pivot import pivot
from formulations.drp.exact.set_tree.tree import set_tree
from formulations.drp.generator import tiny
from formulations.drp.problem_p3_p5 import ANGLES
from formulations.okita.check import cost as sites_cost
from formulations.okita.exact.joint_states import JointStates
from formulations.okita.exact.pricing import Pricing
from formulations.okita.horizon import windows
from formulations.okita.one_job import planner as planning
from formulations.okita.one_job.labels import cheapest_by_labels
from formulations.okita.one_job.paths import free_terms, priced_terms
from formulations.okita.one_job.planner import Planner
from formulations.okita.one_job.units import ByUnits
from heuristics.common.count_placement import POLICIES, simulate
from optsched.decomposition.knapsack import Knapsack, ThresholdValue
from optsched.decomposition.knapsack_search import tabulated
from optsched.evaluation.heuristic_run import run_heuristic
from optsched.evaluation.runs import InstanceRunner, MethodSpec, instance_rng
from optsched.instances.document import dumps
from optsched.jit import always
from optsched.jit import dispatcher as jit
from optsched.jit.interpreting import copied, put_back
from optsched.problem import problem
from optsched.solvers.deadline import Deadline

SMALL = {
    "preemptive": {"jobs": 8, "servers": 3},
    "okita": {"jobs": 6, "sites": 8, "horizon": 40},
}
"""Options of the generators of the problems whose algorithms have compiled loops."""


def schedules(compiled, name, seed):
    """Every heuristic's schedule or complaint on one instance."""
    found = problem(name)
    instance = found.generate(instance_rng(seed), **SMALL[name])
    made = {}
    for call in found.heuristics.keys() - {"reoptimise"}:  # what a clock ends has no one result
        with always(compiled=compiled):
            run = run_heuristic(found, instance, call, seed)
        assert (run.time.interpreted_seconds == 0) or not compiled
        made[call] = run.message if run.schedule is None else dumps(run.schedule)
    return made


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", SMALL)
def test_both_ways_give_the_same_schedules(name, seed):
    assert schedules(False, name, seed) == schedules(True, name, seed)


TINY = {
    "preemptive": {"jobs": 60, "servers": 4, "types": 2, "span": 20, "time_scale": 0.03},
    "okita": {"jobs": 2, "sites": 3, "horizon": 20},
    "batch": {"jobs": 6, "servers": 3},
    "dsrp": {"jobs": 6, "nodes_per_job": 4},
    "llm_inference": {"requests": 7},
}

CALLS = {
    "preemptive": [
        "exact price_guided",
        'heuristic a_online(pending_rule="exact")',
        'heuristic a_online(priority="residual",pending_rule="exact")',
    ],
    "okita": ["exact problem_2_columns", "bound lb_alone"],
    "batch": [],
    "dsrp": ["exact problem_22_projected"],
    "llm_inference": ["exact by_states"],
}
"""What has compiled loops beside heuristics."""

LOOKED_AT = 40
"""Calls of each function that are made both ways; the rest runs compiled."""

LONG_QUEUES = {"_make_room", "_free_bucket"}
"""What runs only where more jobs wait at a worker than a bucket of its queue holds; compared with
the literal algorithm in ``preemptive/test_a_online_literal.py``."""


def same(one, other):
    """Whether two results are, numbers bit by bit except that all "not a number" are one."""
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.random.Generator):
        return one.bit_generator.state == other.bit_generator.state
    if isinstance(one, np.ndarray | np.void) and one.dtype.names:
        return all(same(one[field], other[field]) for field in one.dtype.names)
    return np.array_equal(one, other, equal_nan=np.asarray(one).dtype.kind == "f")


def test_every_function_does_the_same_both_ways(monkeypatch):
    calls, entered, differing = Counter(), set(), set()

    def both(function, *args):
        calls[function] += 1
        if calls[function] > LOOKED_AT:
            return function.machine(*args)
        before = copied(args)
        expected = copy.deepcopy((function.machine(*args), args))
        put_back(args, before)
        sys.setprofile(lambda frame, event, _: event == "call" and entered.add(frame.f_code))
        result = function._interpret(args, math.inf)[1]
        sys.setprofile(None)
        if not same((result, args), expected):
            differing.add(function.__name__)
        return result

    monkeypatch.setattr(jit.Dispatcher, "__call__", both)
    monkeypatch.setattr(
        "formulations.drp.exact.method.SMALL", 0
    )  # so that the search has something to do
    monkeypatch.setattr("formulations.okita.one_job.labels.MOST_LABELS", (2, 4))
    for seed in range(4):
        lone = problem("okita").generate(instance_rng(seed), jobs=1, sites=3, horizon=12)
        terms, rng = free_terms(lone, 0, 12), instance_rng(seed)
        shape = terms.server_price.shape
        worker, server = rng.exponential(1.0, (2, *shape)) * (rng.random((2, *shape)) < 0.5)
        priced = priced_terms(terms, worker, server, 1.0)
        cheapest_by_labels(ByUnits(lone, 0, by_server=True), priced)
    for name, others in CALLS.items():
        found = problem(name)
        for seed in (0, 1, 3):
            if (name, seed) == ("okita", 3):  # as where the schedules of a job are too many to list
                monkeypatch.setattr(planning, "LARGEST_LATTICE", 0)
            runner = InstanceRunner(found, found.generate(instance_rng(seed), **TINY[name]), seed)
            own = [f"heuristic {call}" for call in found.heuristics if call != "reoptimise"]
            if name == "llm_inference":  # some of its policies evict without end
                own = []
            for kind, call in map(str.split, [*own, *others]):
                run = runner.run(MethodSpec(kind, call))
                assert run.status in ("done", "optimal", "feasible"), (call, run.message)
    knapsack = Knapsack(
        np.array([[3, 2], [2, 2], [2, 3], [1, 0], [4, 1]]), np.array([0, 1, 2, 2, 3]),
        np.array([2, 1, 2, 1]), np.array([9, 8]),
    )  # fmt: skip
    terms = [ThresholdValue({0: 2, 3: 1}, 0.5), ThresholdValue({1: 1}, -0.2)]
    for nodes in (3, 100):
        worth = np.array([1.0, 0.9, 0.8, -0.1, 1.1])
        assert len(knapsack.solve(worth, beat=0.0, terms=terms, keep=4, nodes=nodes).units)
    tabulated(np.array([[2, 1], [1, 1]]), np.array([1.0, 0.7]), np.array([2, 3]), np.array([5, 4]))
    assert knapsack.listed(np.arange(5.0), least=3, most=100).shape[0] > 1
    nodes = aggregate(Instance.build(demand=[[2, 1], [1, 2]] * 6, capacity=[[4, 4], [5, 3]] * 3), 0)
    monkeypatch.setattr("formulations.aerialedge.exact.exchange.STEPS", 30)
    assert pack_into(nodes, nodes.available - 1, instance_rng(0), Deadline(0.0)) is None
    sites = problem("okita").generate(instance_rng(0), **TINY["okita"])
    assert len(Planner(sites).greedy().worker_job)
    pair = problem("okita").generate(instance_rng(0), jobs=2, sites=2, horizon=3)
    known = sites_cost(pair, Planner(pair).greedy())
    monkeypatch.setattr(planning, "LARGEST_LATTICE", 1000)
    planner = Planner(pair)
    pricing = Pricing.of(planner, windows(pair, known_cost=known))
    monkeypatch.setattr("formulations.okita.exact.joint_states.FIRST_STATES", 1)
    states = JointStates(planner.lattices, pricing, np.zeros(len(pricing.room())), 8192)
    assert states.search(2 * known, lambda: True)[1]
    crowded = {"jobs": 12, "servers": 4, "types": 1, "time_scale": 0.1}
    chosen = prospects(problem("batch").generate(instance_rng(0), **crowded))
    order = np.flatnonzero(chosen.contested).tolist()
    runs = inserted(Occupancy(chosen), [], order)
    assert len(runs) > 1
    annealing = Annealing(chosen, chosen.instance.weight, runs, instance_rng(0))
    annealing.steps(3 * BATCH, 1.0)
    crowd = Runs(chosen, *PooledColumns(chosen).schedules)
    halves = np.full(len(crowd.start), 0.5)
    assert [crowd.row(cut) for cut in crowd.violated(halves)]
    assert pivot(np.eye(2), np.ones(2), np.array([1.0, 0.5])) == 0
    few = problem("preemptive").generate(instance_rng(1), **TINY["preemptive"] | {"jobs": 12})
    assert problem("preemptive").solve("by_market", few).solution.status == "optimal"
    stored = tiny(instance_rng(0), jobs=6, servers=2, storage=True)  # for five jobs too small
    sets = covering_sets(stored, stored.service_load, np.zeros(stored.num_pairs))
    monkeypatch.setattr("formulations.drp.exact.set_exchange.annealing.STEPS", 30)
    looks = iter(range(3))
    go_on = lambda: next(looks, None) is not None  # noqa: E731
    exchange = SetExchange(stored, sets, instance_rng(0))
    assert exchange.search(5, go_on) is None
    first, light, size = np.arange(5), np.full((4, 4), 0.1), np.array([0.6, 0.6, 0.5, 0.6])
    point = np.array([0.8, 0.8, 0.3, 0.0])
    assert configuration_row(point, first, size, light, light, 0.01)[1].any()
    many, busy, nothing = np.arange(25), np.zeros((24, 4)), np.zeros(24, np.int64)
    busy[:, 0] = np.linspace(0.15, 0.3, 24)  # bandwidth binds, so storage alone bounds badly
    worth = busy[:, 0] + many[:-1] % 5 / 100
    assert heaviest(worth, many, np.full(24, 0.03), busy, 0.0, np.zeros(4), nothing)[0] > 1
    columns = ServiceColumns(stored, ANGLES)
    free = np.zeros(len(columns.storage.server) + columns.weights.shape[0] * stored.num_servers)
    tree = set_tree(stored, columns, free, 1, lambda sets, chosen: True)
    assert tree is not None
    tree._relaxations[0].goal = 0.0
    relaxed = tree._relaxations[0].solve(tree._open[0], 0, 1.0, lambda: True)
    assert relaxed is not None
    prices = ConfigurationPrices(tree._relaxations[0]._rows, tree._branching.counts)
    assert 0 < prices.bound(relaxed, 0.0, lambda: True).bound <= relaxed.bound + 1e-9
    fees = np.array([0.2, 0.3])
    assert len(sets_within(fees, np.zeros((2, 2)), np.arange(2), 0.4, 9)[0]) == 2
    hours = np.arange(1.0, 41.0) * 3600
    trace = TraceJobs(hours / 8, hours[::-1].copy(), np.arange(40) % 4 + 1, np.full(40, "one"))
    for policy in POLICIES:
        simulate(trace, 8, policy)
    assert differing == set()
    modules = [
        importlib.import_module(found.name)
        for package in (heuristics, formulations)
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ]
    there = {
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, jit.Dispatcher)
    }
    reached = {(code.co_filename, code.co_name) for code in entered}
    codes = [function.py_func.__code__ for function in there]
    missed = {code.co_name for code in codes if (code.co_filename, code.co_name) not in reached}
    assert missed <= LONG_QUEUES
