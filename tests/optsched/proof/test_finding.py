"""Proofs are found of true claims, never of false ones, and no mutation of one lies."""

import copy
import json
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from proof_cases import accepted
from support.enumeration import enumerate_optimum
from support.random_models import random_model

from optsched import solve
from optsched.model import MatrixForm, Model
from optsched.proof import NotProvenError, ProofError, find, tree, verify
from optsched.solvers.solution import Status


def odd_cycles(cycles: int) -> Model:
    """Each needs two of three, while the relaxation says one and a half; one constant column."""
    m = Model("odd cycles")
    x = m.binary("x", (cycles, 3))
    m.minimize(x.sum() + 0.3 * m.continuous("z", upper=1))
    for a, b in ((0, 1), (1, 2), (0, 2)):
        m.add(f"{a}{b}", x[:, a] + x[:, b] >= 1)
    return m


def known(seed: int) -> tuple[MatrixForm, float | None]:
    """A random small model and its optimum by enumeration; None: it has no point."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, continuous=seed % 2 == 1, fractional=seed % 3 == 0)
    optimum = enumerate_optimum(model)
    return model.compile(), optimum.value if optimum.status is Status.OPTIMAL else None


@pytest.mark.parametrize("seed", range(40))
def test_an_optimum_is_proven_and_anything_better_is_not(seed: int) -> None:
    form, optimum = known(seed)
    bound = verify(form, json.loads(json.dumps(find(form, optimum))))
    if optimum is None:
        assert bound is None
        return
    assert bound is not None
    assert float(bound) == pytest.approx(optimum, rel=1e-6, abs=1e-6)
    false = optimum + (-1e-3 if form.maximise else 1e-3) * max(1.0, abs(optimum))
    with pytest.raises(NotProvenError, match="seems to be better"):
        find(form, false)
    with pytest.raises(NotProvenError):
        find(form, None)


def test_a_node_that_rounding_keeps_open_is_not_called_better(monkeypatch):
    m = Model()
    m.minimize(m.continuous("x", lower=1))
    for name in ("leaf_value", "mended"):
        monkeypatch.setattr(tree, name, lambda *_: None)
    with pytest.raises(NotProvenError, match="do not close a node of value 1"):
        find(m.compile(), 1.0)


def mutated(proof: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """A multiplier, a row, a split or the claim changed; a leaf left out, copied or moved."""
    proof = copy.deepcopy(proof)
    nodes = proof["nodes"]
    node = nodes[rng.integers(len(nodes))]
    kind = rng.integers(7)
    if kind == 0:
        if proof["bound"] is None:
            proof["bound"] = [int(rng.integers(-5, 5)), 1]
        else:
            proof["bound"][0] += int(rng.choice([-1, 1])) * proof["bound"][1]
    elif kind == 1:
        del nodes[rng.integers(len(nodes))]
    elif kind == 2:
        nodes.insert(int(rng.integers(len(nodes))), copy.deepcopy(node))
    elif kind == 3:
        order = rng.permutation(len(nodes)).tolist()
        proof["nodes"] = [nodes[i] for i in order]
    elif "split" in node:
        node["split"][rng.choice([0, 2])] = [0] if kind == 4 else int(rng.integers(-1, 3))
    elif node["y"]:
        at = int(rng.integers(len(node["y"])))
        node["y"][at] = node["y"][at] * int(rng.choice([-1, 0, 2, 5])) + int(rng.integers(-1, 2))
    else:
        node["rows"], node["y"] = [0], [int(rng.integers(-2, 3))]
    return proof


def test_of_a_thousand_mutations_none_that_is_accepted_says_something_false() -> None:
    rng = np.random.default_rng(1)
    refused = true = 0
    for seed in (1, 2, 7, 8, 14, 22, 24, 30, 38, 40):
        form, optimum = known(seed)
        proof = find(form, optimum)
        bounds = accepted(form, (mutated(proof, rng) for _ in range(100)))
        refused, true = refused + 100 - len(bounds), true + len(bounds)
        for bound in bounds if optimum is not None else ():  # of no point all is true
            assert bound is not None
            over = float(bound) - optimum
            assert (over >= 0) if form.maximise else (over <= 0)
    assert refused > 500
    assert refused + true == 1000


def test_a_tree_grows_where_the_relaxation_is_weak() -> None:
    form = odd_cycles(3).compile()
    proof = find(form, 6.0)
    assert len(proof["nodes"]) > 5
    assert float(verify(form, proof) or 0) == pytest.approx(6.0, abs=1e-9)
    with pytest.raises(NotProvenError, match="3 nodes or fewer"):
        find(form, 6.0, most_nodes=3)
    with pytest.raises(NotProvenError, match="time"):
        find(form, 6.0, seconds=0.0)


def one_of_each(seed: int) -> tuple[MatrixForm, float]:
    """Jobs that each take one of six slots; a slot holds one or two of them."""
    rng = np.random.default_rng(seed)
    m = Model("one of each")
    x = m.binary("x", (5, 6))
    m.add("one", x.sum(axis=1) == 1)
    m.add("room", (rng.integers(2, 6, (5, 6)) * x).sum(axis=0) <= 6)
    m.minimize((np.arange(6) * rng.integers(1, 4, (5, 1)) * x).sum())
    optimum = solve(m).objective
    assert optimum is not None
    return m.compile(), optimum


@pytest.mark.parametrize("seed", [0, 7, 9, 11, 15])
def test_a_choice_is_halved_and_of_its_mutations_none_says_something_false(seed: int) -> None:
    form, optimum = one_of_each(seed)
    proof = find(form, optimum)
    assert any(len(node["split"][0]) > 1 for node in proof["nodes"] if "split" in node)
    assert verify(form, json.loads(json.dumps(proof))) == optimum
    with pytest.raises(NotProvenError, match="seems to be better"):
        find(form, optimum + 1)
    with pytest.raises(NotProvenError):
        find(form, None)
    rng = np.random.default_rng(seed)
    for _ in range(100):
        with suppress(ProofError):
            assert (verify(form, mutated(proof, rng)) or 0) <= optimum


def test_no_leaf_of_a_tree_can_be_left_out() -> None:
    form = odd_cycles(3).compile()
    proof = find(form, 6.0)
    for at in range(len(proof["nodes"])):
        pruned = {**proof, "nodes": proof["nodes"][:at] + proof["nodes"][at + 1 :]}
        with pytest.raises(ProofError):
            verify(form, pruned)


def test_a_proof_is_of_one_model() -> None:
    proof = find(odd_cycles(3).compile(), 6.0)
    for other in (odd_cycles(2), odd_cycles(3).without("02")):
        with pytest.raises(ProofError):
            verify(other.compile(), proof)


def test_columns_without_bounds_are_priced_exactly() -> None:
    rng = np.random.default_rng(3)
    for _ in range(10):
        m = Model()
        x = m.continuous("x", 6)
        free = m.continuous("free", 2, lower=-np.inf)
        rows = rng.uniform(0.1, 1.0, (8, 6)).round(3)
        m.add("rows", rows @ x + rng.uniform(-1, 1, (8, 2)) @ free >= rng.uniform(1, 2, 8))
        m.add("anchor", free == rng.uniform(-1, 1, 2))
        cost = rng.uniform(1, 2, 6)
        m.minimize(x @ cost + free.sum())
        form = m.compile()
        value = solve(m).objective
        assert float(verify(form, find(form, value)) or 0) == pytest.approx(value, rel=1e-9)


def test_of_a_model_without_points_no_value_is_proven() -> None:
    m = odd_cycles(1)
    m.add("few", m["x"].sum() <= 1)
    assert verify(m.compile(), find(m.compile(), None)) is None
    with pytest.raises(NotProvenError, match="no point"):
        find(m.compile(), 2.0)


def test_cones_are_proven_by_tangents() -> None:
    m = Model()
    u, v = m.continuous("u", upper=9), m.continuous("v", upper=9)
    w = m.integer("w", 2, upper=5)
    m.rotated_cone(u, v, w, name="cone")
    m.add("work", w.sum() >= 5)
    m.minimize(u + v)
    form = m.compile({"rotated_cone"})
    best = 2 * np.sqrt(13.0)  # 2 and 3
    proof = find(form, best)
    assert proof["extra"]
    assert float(verify(form, proof) or 0) == pytest.approx(best, rel=1e-6)
    with pytest.raises(NotProvenError):
        find(form, 1.001 * best)


NEAR = 5e-10, 2e-9
"""Relative distances to a whole number: it is rounding, it is not."""


@pytest.mark.parametrize(("off", "most"), [(NEAR[0], 3.5), (NEAR[1], 2.5)])
@pytest.mark.parametrize("sense", ["maximize", "minimize"])
def test_a_proof_reads_the_bounds_of_integers_as_the_solver_does(
    off: float, most: float, sense: str
) -> None:
    sign = 1 if sense == "maximize" else -1
    bounds = {"upper": 3 - 3 * off, "lower": 0} if sign > 0 else {"lower": -3 + 3 * off, "upper": 0}
    m = Model()
    x, part = m.integer("x", **bounds), m.continuous("part", upper=0.5)
    getattr(m, sense)(x + sign * part)
    solution = solve(m, proof=True)
    assert solution.objective == sign * most
    assert solution.proof is not None, solution.message
    assert float(verify(m.compile(), solution.proof) or 0) == pytest.approx(sign * most, abs=1e-9)


def test_fractional_bounds_of_integers_do_not_hinder_a_proof() -> None:
    m = Model()
    x = m.integer("x", 2, upper=[2.5, 3.7])
    m.maximize(3 * x.sum() - 1)
    proof = find(m.compile(), 14.0)
    assert verify(m.compile(), proof) == 14


def test_an_integer_between_two_whole_numbers_is_proven_to_have_no_value() -> None:
    m = Model()
    m.maximize(m.integer("x", lower=0.4, upper=0.6))
    proof = find(m.compile(), None)
    assert verify(m.compile(), proof) is None
    m = Model()
    m.maximize(m.integer("x", lower=0.4, upper=1.0))
    with pytest.raises(ProofError):
        verify(m.compile(), proof)
