"""What a proof that holds comes to: sums over parts, nodes, and how near a cost must be to it."""

import math
import time
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import covering
import pytest

from optsched.errors import InputError
from optsched.evaluation import proofs
from optsched.evaluation.proofs import ProofVerdict, nodes
from optsched.problem.methods import Answer, ExactMethod
from optsched.problem.violation import Violation
from optsched.proof import NotProvenError, find
from optsched.solvers.solution import Solution, Status

WHOLE = covering.Cover(price=[5, 4, 12], size=[2, 3, 5], demand=5)
"""Its optimum is 9."""


def verdict(cost, bound, *violations, of_the_problem=True):
    return ProofVerdict(Fraction(bound), "f", of_the_problem, cost, list(violations))


@pytest.mark.parametrize("cost", [0.0, 1.0, 1000.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_cost_is_proven_within_a_millionth_of_the_bound(cost, sign):
    size = max(1.0, cost)
    assert verdict(cost, cost + sign * 0.9e-6 * size).closed
    assert not verdict(cost, cost + sign * 1.1e-6 * size).closed
    assert not verdict(cost, cost, Violation("2a", {}, 1.0)).closed


@pytest.mark.parametrize("cost", [math.inf, -math.inf, math.nan])
def test_a_schedule_without_a_finite_cost_meets_no_bound(cost):
    found = verdict(cost, 7)
    assert not found.closed
    assert found.sentence("minimise").endswith(f"but the schedule costs {cost}")


@pytest.mark.parametrize("sign", [1, -1])
def test_a_bound_beyond_the_numbers_of_the_machine_is_infinite(sign):
    found = verdict(7.0, sign * 10**400)
    assert not found.closed
    assert found.rounded_bound == sign * math.inf


def test_a_verdict_says_what_is_proven_of_what():
    assert verdict(7.0, 7).sentence("minimise") == (
        "proven: no schedule costs less than 7, and this one costs 7")  # fmt: skip
    assert verdict(8.0, 7, of_the_problem=False).sentence("minimise") == (
        "proven: no point of f costs less than 7, but the schedule costs 8")  # fmt: skip
    assert verdict(6.0, 7).sentence("maximise") == (
        "proven: no schedule is worth more than 7, but the schedule is worth 6")  # fmt: skip
    assert verdict(7.0, 7).sentence("maximise").endswith("and this one is worth 7")
    assert verdict(7.0, 7, Violation("2a", {}, 1.0)).sentence("minimise").endswith(
        "but the schedule breaks (2a)")  # fmt: skip


def test_nodes_of_parts_count_wherever_they_are():
    leaf = {"parts": [{"nodes": [{}, {}]}, {"nodes": [{}]}]}
    assert nodes({"nodes": [{}, leaf]}) == 5
    assert nodes({"parts": [{"nodes": [leaf]}, {"nodes": [{}]}]}) == 5


# parts


def buying(price, size=1.0):
    """An instance of one item, whose optimum is its price; none if the item is too small."""
    return covering.Cover(price=[price], size=[size], demand=1.0)


def in_parts(*parts, **changes):
    """The covering problem, whose instances fall into these parts, solved by a search."""
    limits = []

    def search(instance, options):
        limits.append(options.time_limit)
        time.sleep(0.02)
        return covering.PROBLEM.solve("knapsack", instance)

    method = ExactMethod("search", search, "", "", frozenset({"time_limit"}))
    formulations = {**covering.PROBLEM.formulations, "search": method}
    given = {"proof_model": "knapsack", "proof_parts": lambda _: list(parts), **changes}
    return replace(covering.PROBLEM, formulations=formulations, **given), limits


def document(problem, claim, *, call="search", instance=WHOLE, seconds=None):
    """What proves a claim; None if nothing does."""
    answer = Answer(Solution(Status.OPTIMAL, claim), covering.Choice(taken=[0]))
    with suppress(NotProvenError):
        return proofs.prove(problem, call, instance, answer, seconds)
    return None


@pytest.mark.parametrize(
    ("optima", "claim", "by_parts"),
    [
        ((3.0, 4.0), 7.0, True),
        ((3.0, 4.0), 7 * (1 + 0.9e-6), True),
        ((3.0, 4.0), 7 * (1 - 0.9e-6), True),
        ((3.0, 4.0), 7 * (1 + 1.1e-6), False),
        ((3.0, 4.0), 7 * (1 - 1.1e-6), False),
        ((0.25, 0.25), 0.5 + 0.9e-6, True),
        ((0.25, 0.25), 0.5 + 1.1e-6, False),
        ((0.0, 7.0), 7.0, True),
        ((0.0, 0.0), 1e-6, True),
    ],
)
def test_parts_are_proven_one_by_one_where_their_optima_add_up_to_the_claim(
    optima, claim, by_parts
):
    problem, _ = in_parts(*map(buying, optima))
    found = document(problem, claim)
    assert ("parts" in found) == by_parts
    verdict = proofs.check_proof(problem, WHOLE, found)
    assert verdict.formulation == ("knapsack and knapsack" if by_parts else "knapsack")
    if by_parts:  # as one it is 9, and what proves less of it may prove more than was asked
        assert float(verdict.bound) == pytest.approx(claim, abs=1e-5)


@pytest.mark.parametrize(
    ("parts", "call"),
    [
        ([buying(3.0), buying(6.0, size=0.5)], "search"),  # a part without an optimum
        ([buying(9.0)], "search"),
        ([buying(3.0), buying(6.0)], "knapsack"),  # whose own model is at hand
    ],
)
def test_what_is_whole_or_has_a_part_without_an_optimum_is_proven_as_one(parts, call):
    found = document(in_parts(*parts)[0], 9.0, call=call)
    assert (found["formulation"], "parts" in found) == ("knapsack", False)
    assert document(in_parts(*parts, proof_parts=None)[0], 9.0)["formulation"] == "knapsack"


def test_parts_have_the_time_that_is_left():
    parts = [buying(3.0), buying(4.0)]
    problem, limits = in_parts(*parts)
    assert document(problem, 7.0, seconds=60.0)
    assert 60.0 > limits[0] > limits[1] + 0.015
    problem, limits = in_parts(*parts)
    document(problem, 7.0, seconds=0.01)
    assert limits[1] == 1e-3  # a limit of nothing is refused
    problem, limits = in_parts(*parts)
    assert document(problem, 7.0)
    assert limits == [None, None]


def test_the_last_model_is_asked_where_the_others_have_no_proof():
    problem, _ = in_parts(proof_relaxation="relaxed")
    assert document(problem, 3.0, instance=buying(3.0))["formulation"] == "relaxed"
    assert document(problem, 9.0)["formulation"] == "knapsack"  # 8.4, if items are cut
    assert document(problem, 9.5) is None


def part_of(call, price=3.0):
    """What proves the optimum of one item by a formulation."""
    return document(covering.PROBLEM, price, call=call, instance=buying(price))


@pytest.mark.parametrize(
    ("calls", "of_the_problem"),
    [
        (["relaxed"], True),
        (["knapsack"], True),
        (["relaxed", "knapsack"], True),
        (["knapsack(spare=0)"], False),
        (["relaxed", "knapsack(spare=0)"], False),
    ],
)
def test_a_proof_is_of_the_problem_by_its_reference_or_a_relaxation(calls, of_the_problem):
    parts = {"proof_relaxation": "relaxed", "proof_model": None}
    problem, _ = in_parts(*[buying(3.0)] * len(calls), **parts)
    whole = {"parts": [part_of(call) for call in calls], "schedule": {"taken": [0]}}
    found = proofs.check_proof(problem, buying(3.0 * len(calls)), whole)
    assert float(found.bound) == pytest.approx(3 * len(calls))
    assert (found.formulation, found.closed) == (" and ".join(calls), True)
    assert found.of_the_problem == of_the_problem


def test_each_part_is_verified_by_the_model_of_its_own_proof():
    whole = covering.Cover(price=[3], size=[2], demand=1)  # by relaxation 1.5
    problem, _ = in_parts(buying(3.0), whole, proof_relaxation="relaxed")
    proof = document(covering.PROBLEM, 3.0, call="knapsack", instance=whole)
    both = {"parts": [part_of("relaxed"), proof], "schedule": {"taken": [0]}}
    assert float(proofs.check_proof(problem, WHOLE, both).bound) == pytest.approx(6.0)


def test_of_a_method_there_is_a_proof_only_where_a_model_has_the_same_optimum():
    assert proofs.proven_by(in_parts()[0], "search") == ["knapsack"]
    for changes, call in (({}, "cutting"), ({"proof_model": None}, "search")):
        with pytest.raises(InputError, match="has a model to prove"):
            proofs.proven_by(in_parts(**changes)[0], call)


def test_a_proof_of_fewer_or_more_parts_than_there_are_is_none():
    one = part_of("knapsack")
    for parts in ([one], [one] * 3, [], "12", [one, 3], {"a": one, "b": one}):
        with pytest.raises(InputError, match="a proof of each of 2 parts"):
            proofs.check_proof(in_parts(buying(3.0), buying(4.0))[0], WHOLE, {"parts": parts})
    for of in ({"proof_parts": None}, {}):
        with pytest.raises(InputError, match="a proof of each of 0 parts"):
            proofs.check_proof(in_parts(**of)[0], WHOLE, {"parts": []})


def test_a_proof_that_there_is_no_point_is_contradicted_by_a_schedule():
    never = buying(3.0, size=0.5)
    empty = find(covering.knapsack(never).compile(), None)
    with pytest.raises(InputError, match="bound"):
        proofs.check_proof(covering.PROBLEM, never, {"formulation": "knapsack", **empty})


def test_only_an_optimal_schedule_is_proven():
    for status, schedule in ((Status.FEASIBLE, 1), (Status.OPTIMAL, None)):
        answer = Answer(Solution(status, 7.0), schedule)
        with pytest.raises(NotProvenError, match=f"the solve ended {status}"):
            proofs.prove(covering.PROBLEM, "knapsack", None, answer)
