"""Every exact model against enumeration, its own rows, and the checker of the paper."""

import numpy as np
import pytest
from brute_force import exact, fixed_share, linear, optimum
from drp_cases import examples, instances
from hypothesis import given
from hypothesis import strategies as st

from formulations.drp import DSRP, PROBLEM
from formulations.drp.generator import tiny
from formulations.drp.instance import Instance
from formulations.drp.problem_22 import problem_22_cone
from formulations.drp.problem_p3_p5 import (
    covers_of,
    problem_5_projected,
    problem_22_projected,
)
from optsched.errors import InputError
from optsched.problem import Problem
from optsched.problem.methods import Formulation
from optsched.solve import solve
from optsched.solvers.options import Options
from optsched.solvers.solution import Status

EXACT = ("problem_5_projected", "problem_5_oa", "problem_5_cone", "problem_5")
EXACT_SERVICES = (
    "problem_22_projected",
    "problem_22_oa",
    "problem_22_cone",
    'problem_22_cone(level="node")',
    "problem_22",
)


def assert_solved(problem: Problem, name: str, instance: Instance, expected: int, solver="highs"):
    """The optimum is proven, its point holds in the model, its decision passes the checker."""
    answer = problem.solve(name, instance, solver=solver)
    assert answer.solution.status is Status.OPTIMAL, answer.solution.message
    assert answer.solution.objective == pytest.approx(expected, abs=1e-6)
    _, options = problem.formulation(name)
    model = problem.formulations[name.replace("_projected", "_oa").partition("(")[0]]
    assert isinstance(model, Formulation)
    assert model.build(instance, **options).violations(answer.solution.values) == []
    assert problem.check(instance, answer.schedule) == []
    assert problem.cost(instance, answer.schedule) == expected


@pytest.mark.parametrize("name", EXACT)
@given(instance=instances(jobs=3))
@examples(20)
def test_every_exact_model_of_drp_finds_the_enumerated_optimum(name, instance):
    assert_solved(PROBLEM, name, instance, optimum(instance))


@pytest.mark.parametrize("name", EXACT_SERVICES)
@given(instance=instances(jobs=3, storage=True))
@examples(15)
def test_every_exact_model_of_dsrp_finds_the_enumerated_optimum(name, instance):
    assert_solved(DSRP, name, instance, optimum(instance, services=True))


@pytest.mark.parametrize("name", ["problem_22_projected", "problem_22_oa"])
@given(instance=instances(jobs=3, storage=True, shared_services=True))
@examples(15)
def test_jobs_that_share_a_service_share_its_storage(name, instance):
    assert_solved(DSRP, name, instance, optimum(instance, services=True))


@given(instance=instances(jobs=4, servers=3, most_nodes=2))
@examples(15)
def test_three_servers_and_four_jobs_are_solved_too(instance):
    assert_solved(PROBLEM, "problem_5_projected", instance, optimum(instance))


@pytest.mark.parametrize("solver", ["cpsat", "scip"])
@given(instance=instances(jobs=3, storage=True))
@examples(12)
def test_other_solvers_find_the_same_optima(solver, instance):
    assert_solved(PROBLEM, "problem_5_oa", instance, optimum(instance), solver)
    assert_solved(DSRP, "problem_22_oa", instance, optimum(instance, services=True), solver)


@pytest.mark.parametrize("name", ["problem_5_cone", "problem_5"])
@given(instance=instances(jobs=3))
@examples(12)
def test_scip_takes_the_cones_of_the_extended_models_as_they_are(name, instance):
    assert_solved(PROBLEM, name, instance, optimum(instance), "scip")


@given(instance=instances(jobs=3), share=st.floats(0.1, 0.9))
@examples(20)
def test_the_model_with_one_communication_share_finds_its_enumerated_optimum(instance, share):
    expected = optimum(instance, fits=fixed_share(share))
    assert_solved(PROBLEM, f"drp_eps(comm_share={share})", instance, expected)


@given(instance=instances(jobs=3, storage=True))
@examples(20)
def test_the_linear_models_find_their_enumerated_optima(instance):
    assert_solved(PROBLEM, "drp_lin", instance, optimum(instance, fits=linear))
    expected = optimum(instance, services=True, fits=linear)
    assert_solved(DSRP, "dsrp_lin", instance, expected)
    shared = optimum(instance, services=True, fits=fixed_share(0.5))
    assert_solved(DSRP, "dsrp_eps", instance, shared)


@given(instance=instances(jobs=3, storage=True))
@examples(15)
def test_resources_held_by_nodes_or_by_jobs_give_equal_optima(instance):
    values = [
        DSRP.solve(f'problem_22_cone(level="{level}")', instance).solution.objective
        for level in ("job", "node")
    ]
    assert values[0] == pytest.approx(values[1], abs=1e-6)


def test_a_level_that_does_not_exist_is_refused():
    instance = tiny(np.random.default_rng(0))
    with pytest.raises(InputError, match="level"):
        problem_22_cone(instance, level="server")
    with pytest.raises(InputError, match="angles"):
        problem_5_projected(instance, angles=1)


@given(instance=instances(jobs=3, most_nodes=4), seed=st.integers(0, 1000))
@examples(40)
def test_cover_cuts_hold_at_every_feasible_association_of_one_job(instance, seed):
    """A job's part that fits on a server never has more nodes there than its cover allows."""
    covers = covers_of(instance)
    rng = np.random.default_rng(seed)
    for cover, (job, most) in enumerate(zip(covers.job, covers.most, strict=True)):
        pairs = covers.pair[covers.of_pair == cover]
        assert most < len(pairs)
        assert (instance.pair_job[pairs] == job).all()
        taken = rng.permutation(pairs)[: most + 1]
        a = instance.compute_load[taken].sum()
        b = instance.comm_load[taken].sum()
        assert instance.inbound_load[taken].sum() > 1 or not exact([a], [b])


def test_covers_change_no_optimum_and_tighten_the_relaxation():
    tightened = 0
    for seed in range(30):
        instance = tiny(np.random.default_rng(seed), jobs=3, most_nodes=4)
        with_covers, without = (
            solve(problem_5_projected(instance, covers=covers).relax()).bound
            for covers in (True, False)
        )
        assert with_covers <= without + 1e-6
        tightened += with_covers < without - 1e-3
        integer = [
            solve(problem_5_projected(instance, covers=covers)).objective
            for covers in (True, False)
        ]
        assert integer[0] == pytest.approx(integer[1], abs=1e-6)
    assert tightened > 0


def test_a_time_limit_leaves_a_true_interval():
    instance = DSRP.generate(np.random.default_rng(5), jobs=20)
    answer = DSRP.solve("problem_22_projected", instance, options=Options(time_limit=1.0))
    solution = answer.solution
    assert solution.bound is None or solution.bound >= (solution.objective or 0)
    if answer.schedule is not None:
        assert DSRP.check(instance, answer.schedule) == []


def test_projected_and_extended_relaxations_have_one_value():
    """Their points are one set in x."""
    for seed in range(5):
        instance = tiny(np.random.default_rng(seed), jobs=3, storage=True)
        eliminated = solve(problem_22_projected(instance, covers=False).relax())
        extended = solve(problem_22_cone(instance).relax())
        assert eliminated.objective == pytest.approx(extended.objective, abs=1e-4)
