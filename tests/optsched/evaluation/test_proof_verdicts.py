"""What a proof that holds comes to: sums over parts, nodes, and how near a cost must be to it."""

import math
from fractions import Fraction
from types import SimpleNamespace

import covering
import pytest

from optsched.errors import InputError
from optsched.evaluation import proofs
from optsched.evaluation.proofs import ProofVerdict, nodes
from optsched.problem.violation import Violation
from optsched.proof import NotProvenError
from optsched.solvers.solution import Solution, Status


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


def problem(parts=(1, 2), optima=(3.0, 4.0), status=Status.OPTIMAL):
    """Falls into parts of these optima; keeps the time each may take."""
    asked = []

    def solve(call, part, options):
        asked.append(options.time_limit)
        return SimpleNamespace(solution=Solution(status, optima[parts.index(part)]))

    return SimpleNamespace(
        proof_parts=None if parts is None else lambda _: list(parts), solve=solve, asked=asked
    )


@pytest.fixture
def proven(monkeypatch):
    """What is proven of a problem: the claim, or those of its parts."""

    def one(problem, models, instance, claim, deadline):
        return {"nodes": [], "claim": (instance, claim)}

    def prove(problem, claim, *, models=("m",), seconds=None):
        monkeypatch.setattr(proofs, "proven_by", lambda *_: list(models))
        found = proofs._found(problem, "call", 0, claim, seconds)
        return [part["claim"] for part in found.get("parts", [found])]

    monkeypatch.setattr(proofs, "_one", one)
    return prove


def test_parts_are_proven_one_by_one_where_their_optima_add_up_to_the_claim(proven):
    assert proven(problem(), 7.0) == [(1, 3.0), (2, 4.0)]
    assert proven(problem(), 7 * (1 + 0.9e-6)) == [(1, 3.0), (2, 4.0)]
    for claim in (7 * (1 + 1.1e-6), 7 * (1 - 1.1e-6), None):
        assert proven(problem(), claim) == [(0, claim)]
    assert proven(problem(optima=(0.25, 0.25)), 0.5 + 0.9e-6) == [(1, 0.25), (2, 0.25)]
    assert proven(problem(optima=(0.25, 0.25)), 0.5 + 1.1e-6) == [(0, 0.5 + 1.1e-6)]
    assert proven(problem(optima=(0.0, 7.0)), 7.0) == [(1, 0.0), (2, 7.0)]
    assert proven(problem(optima=(0.0, 0.0)), 1e-6) == [(1, 0.0), (2, 0.0)]


def test_what_is_whole_or_has_a_part_without_an_optimum_is_proven_as_one(proven):
    assert proven(problem(status=Status.FEASIBLE), 7.0) == [(0, 7.0)]
    assert proven(problem(status=Status.FEASIBLE), 0.0) == [(0, 0.0)]
    assert proven(problem(parts=(1,), optima=(7.0,)), 7.0) == [(0, 7.0)]
    assert proven(problem(parts=None), 7.0) == [(0, 7.0)]
    assert proven(problem(), 7.0, models=["call"]) == [(0, 7.0)]


def test_parts_have_the_time_that_is_left(proven, monkeypatch):
    clock = iter([10.0, 12.0, 25.0])
    monkeypatch.setattr(proofs, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    timed = problem()
    proven(timed, 7.0, seconds=9.0)
    assert timed.asked == [7.0, 1e-3]  # a limit of nothing is refused
    untimed = problem()
    monkeypatch.setattr(proofs, "time", SimpleNamespace(perf_counter=lambda: 0.0))
    proven(untimed, 7.0)
    assert untimed.asked == [None, None]


def test_the_last_model_is_asked_where_the_others_have_no_proof(monkeypatch):
    def by(problem, call, instance, claim, deadline):
        if call == "hard":
            raise NotProvenError("no")
        return {"formulation": call}

    monkeypatch.setattr(proofs, "_by", by)
    assert proofs._one(None, ["hard", "easy", "other"], 0, 7.0, 1.0) == {"formulation": "easy"}
    with pytest.raises(NotProvenError):
        proofs._one(None, ["hard", "hard"], 0, 7.0, 1.0)


@pytest.fixture
def verified(monkeypatch):
    """The bound of a document whose proofs say what theirs is, and the formulations."""

    def verify(form, proof):
        assert form == proof["formulation"]
        return proof["bound"]

    monkeypatch.setattr(proofs, "_form", lambda problem, call, instance: call)
    monkeypatch.setattr(proofs, "verify", verify)
    return lambda document, **of: proofs._verified(problem(**of), 0, document)


def test_bounds_of_all_parts_add_up(verified):
    one, two = {"formulation": "a", "bound": Fraction(3)}, {"formulation": "b", "bound": 4}
    assert verified(one) == (3, ["a"])
    assert verified({"parts": [one, two]}) == (7, ["a", "b"])
    assert verified({"parts": [two]}, parts=(1,)) == (4, ["b"])


@pytest.mark.parametrize(
    ("calls", "of_the_problem"),
    [(["a"], True), (["b"], True), (["a", "b"], True), (["c"], False), (["a", "c"], False)],
)
def test_a_proof_is_of_the_problem_by_its_reference_or_a_relaxation(
    monkeypatch, calls, of_the_problem
):
    of = SimpleNamespace(
        proof_relaxation="a", proof_model=None, reference="b", schedule_type=None,
        reference_check={}, interpretation=lambda _: "", cost=lambda *_: 7.0, check=lambda *_: [],
    )  # fmt: skip
    monkeypatch.setattr(proofs, "_verified", lambda *_: (Fraction(7), calls))
    monkeypatch.setattr(proofs, "parse", lambda *_: None)
    found = proofs.check_proof(of, 0, {})
    assert (found.of_the_problem, found.closed) == (of_the_problem, True)


def test_a_proof_of_fewer_or_more_parts_than_there_are_is_none(verified):
    one = {"formulation": "a", "bound": Fraction(3)}
    for parts in ([one], [one] * 3, [], "12", [one, 3], {"a": one, "b": one}):
        with pytest.raises(InputError, match="a proof of each of 2 parts"):
            verified({"parts": parts})
    for of in ({"parts": None}, {"parts": ()}):
        with pytest.raises(InputError, match="a proof of each of 0 parts"):
            verified({"parts": []}, **of)


def test_a_proof_that_there_is_no_point_is_contradicted_by_a_schedule(verified):
    with pytest.raises(InputError, match="bound"):
        verified({"formulation": "a", "bound": None})


def test_only_an_optimal_schedule_is_proven():
    for status, schedule in ((Status.FEASIBLE, 1), (Status.OPTIMAL, None)):
        answer = SimpleNamespace(solution=Solution(status, 7.0), schedule=schedule)
        with pytest.raises(NotProvenError, match=f"the solve ended {status}"):
            proofs.prove(covering.PROBLEM, "knapsack", None, answer)
