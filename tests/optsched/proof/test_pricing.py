"""Proofs by parts: prices of the rows that tie a model together, and a tree of each part."""

import copy
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from proof_cases import accepted
from support.enumeration import enumerate_optimum

from optsched.model import MatrixForm, Model
from optsched.proof import NotProvenError, ProofError, find, verify
from optsched.solvers.solution import Status


def two_parts(room: int = 1) -> Model:
    """Two jobs of two machines each, 3 dear or 1 cheap; the cheap machine has room for some."""
    m = Model("two parts")
    x = m.integer("x", (2, 2), upper=2)
    m.minimize(3 * x[:, 0].sum() + x[:, 1].sum())
    m.add("work", 2 * x.sum(axis=1) >= 3)  # two are needed, one and a half by the relaxation
    m.add("room", x[:, 1].sum() <= room)
    return m


def part(columns: list[int], row: int, bound: int = 5) -> dict[str, Any]:
    """Dear at 3, cheap at 1 and 2 for room: two at 3; the relaxation says four and a half."""
    nodes = [{"rows": [row], "y": [3], "over": 2}]
    return {"columns": columns, "bound": [bound, 1], "nodes": nodes}


def priced(*parts: dict[str, Any], bound: int = 10, y: int = -2) -> dict[str, Any]:
    leaf = {"rows": [2], "y": [y], "over": 1, "parts": list(parts)}
    return {
        "format": "optsched/proof",
        "version": 1,
        "bound": [bound, 1],
        "extra": [],
        "nodes": [leaf],
    }


def test_parts_show_more_at_prices_than_the_relaxation_does() -> None:
    form = two_parts().compile()
    # costs 3 and 1 + 2, less 2 for room: each part 4.5 and so, on a grid of 3, 6
    proof = priced(part([0, 1], 0, 6), part([2, 3], 1, 6))
    assert verify(form, proof) == 10
    with pytest.raises(ProofError):
        verify(form, {**proof, "bound": [11, 1]})
    plain = {**proof, "nodes": [{"rows": [0, 1, 2], "y": [3, 3, -4], "over": 2}]}
    with pytest.raises(ProofError, match="leaf 0 does not reach the bound"):
        verify(form, plain)


@pytest.mark.parametrize(
    ("proof", "why"),
    [
        (priced(part([0, 1], 0, 7), part([2, 3], 1, 6), bound=11), "leaf 0 does not reach"),
        (priced(part([0, 1], 0, 7), part([2, 3], 1, 5)), "leaf 0 does not reach"),
        (priced(part([0, 1], 0, 6)), "leaf 0 does not reach"),
        (priced(part([0, 1], 0, 6), part([2], 1, 3)), "leaf 0 does not reach"),
        (priced(part([0, 1], 0, 6), part([1, 2, 3], 1, 6)), "a column is in two parts"),
        (priced(part([0, 1], 0, 6), part([0, 1], 0, 6)), "a column is in two parts"),
        (priced(part([0, 1], 0, 6), part([2, 4], 1, 6)), "there is no number 4"),
        (priced(part([0, 1], 0, 6), {**part([2, 3], 1, 6), "nodes": []}), "has no leaf"),
        (priced(part([0, 1], 0, 6), part([2, 3], 1, 6), y=2), "row 2 has no such side"),
        (priced(part([0, 1], 0, 6), {**part([2, 3], 1), "bound": [6, 0]}), "must be positive"),
        (priced(part([0, 1], 0, 6), {**part([2, 3], 1), "bound": 6}), "malformed"),
        (priced({"columns": [0, 1]}), "malformed"),
    ],
)  # fmt: skip
def test_what_is_no_proof_of_parts_is_refused(proof: dict[str, Any], why: str) -> None:
    with pytest.raises(ProofError, match=why):
        verify(two_parts().compile(), proof)


def test_a_part_within_a_branch_has_its_bounds_and_a_part_may_have_parts() -> None:
    form = two_parts().compile()
    inner = {"rows": [], "y": [], "over": 1, "parts": [part([0, 1], 0, 6), part([2, 3], 1, 6)]}
    both = {"columns": [0, 1, 2, 3], "bound": [12, 1], "nodes": [inner]}
    assert verify(form, priced(both)) == 10
    split = {"split": [[1], [1], 0]}
    few = {"rows": [0], "y": [3], "over": 2}
    low = {"rows": [], "y": [], "over": 1, "parts": [{**part([0, 1], 0, 5), "nodes": [few]}]}
    high = priced(part([0, 1], 0, 6), part([2, 3], 1, 6))["nodes"][0]
    low["parts"].append({**part([2, 3], 1, 2), "nodes": [{"rows": [1], "y": [1], "over": 2}]})
    assert verify(form, {**priced(), "bound": [7, 1], "nodes": [split, low, high]}) == 7


def test_parts_within_parts_without_end_are_malformed() -> None:
    node: dict[str, Any] = {"rows": [], "y": [], "over": 1}
    for _ in range(5000):
        node = {**node, "parts": [{"columns": [0], "bound": [0, 1], "nodes": [node]}]}
    with pytest.raises(ProofError):
        verify(two_parts().compile(), {**priced(), "nodes": [node]})


def jobs(seed: int, parts: int) -> Model:
    """Each job takes work of its own, of one machine each a whole number; rooms tie them."""
    rng = np.random.default_rng(seed)
    m = Model("jobs")
    x = m.integer("x", (parts, 3), upper=rng.integers(1, 4, (parts, 3)))
    z = m.continuous("z", parts, upper=2)
    m.add("work", (rng.integers(1, 5, (parts, 3)) * x).sum(axis=1) + z >= rng.integers(1, 7, parts))
    m.add("pair", 2 * x[:, 0] + 3 * x[:, 1] - x[:, 2] <= rng.integers(2, 9, parts))
    m.add("room:0", (rng.integers(0, 3, (parts, 3)) * x).sum() <= int(rng.integers(3, 9)))
    m.add("room:1", x[:, 1].sum() - x[:, 2].sum() >= -int(rng.integers(0, 3)))
    cost = (rng.integers(-2, 9, (parts, 3)) / 2 * x).sum() + 1.7 * z.sum()
    if seed % 2:
        m.maximize(20.5 - cost)
    else:
        m.minimize(cost)
    return m


def known(seed: int, parts: int) -> tuple[MatrixForm, float | None]:
    model = jobs(seed, parts)
    found = enumerate_optimum(model)
    return model.compile(), found.value if found.status is Status.OPTIMAL else None


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 3))
def test_by_parts_an_optimum_is_proven_and_nothing_better(seed: int, parts: int) -> None:
    form, optimum = known(seed, parts)
    if optimum is None:
        assert verify(form, find(form, None, tying=["room"])) is None
        return
    bound = verify(form, json.loads(json.dumps(find(form, optimum, tying=["room"]))))
    assert bound is not None
    over = (float(bound) - optimum) * (-1 if form.maximise else 1)
    assert -2e-6 * max(1, abs(optimum)) <= over <= 0
    false = optimum + (-1e-3 if form.maximise else 1e-3) * max(1.0, abs(optimum))
    with pytest.raises(NotProvenError):
        find(form, false, tying=["room"])


def by_prices(form: MatrixForm, optimum: float, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The proof with prices at every node that the relaxation does not close."""
    monkeypatch.setattr("optsched.proof.finding._PLAIN", 1)
    return find(form, optimum, tying=["room"])


def test_of_a_thousand_mutations_of_prices_and_parts_none_accepted_is_false(monkeypatch) -> None:
    rng = np.random.default_rng(2)
    leaves = refused = true = 0
    for seed in range(60):
        form, optimum = known(seed, 2 + seed % 2)
        if optimum is None:
            continue
        proof = by_prices(form, optimum, monkeypatch)
        if not any("parts" in node for node in proof["nodes"]):
            continue
        leaves += 1
        bounds = accepted(form, (mutated(proof, rng) for _ in range(100)))
        refused, true = refused + 100 - len(bounds), true + len(bounds)
        for bound in bounds:
            over = (float(bound or 0) - optimum) * (-1 if form.maximise else 1)
            assert over <= 1e-9 * max(1, abs(optimum))
        if refused + true >= 1000:
            break
    assert (leaves, refused + true) == (10, 1000)
    assert refused > 400


def mutated(proof: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """A price, a bound, a column or a node of a part changed, left out, copied or exchanged."""
    proof = copy.deepcopy(proof)
    leaf = proof["nodes"][rng.choice([i for i, n in enumerate(proof["nodes"]) if "parts" in n])]
    parts = leaf["parts"]
    one, other = parts[rng.integers(len(parts))], parts[rng.integers(len(parts))]
    kind = rng.integers(8)
    if kind == 0:
        step = int(rng.choice([-1, 1])) * proof["bound"][1] // int(rng.choice([1, 4, 100]))
        proof["bound"][0] += step or 1
    elif kind == 1:
        one["bound"][0] += int(rng.integers(1, 9)) * one["bound"][1] // 4
        proof["bound"][0] += (-1 if rng.integers(2) else 1) * proof["bound"][1]
    elif kind == 2:
        del parts[rng.integers(len(parts))]
    elif kind == 3:
        one["columns"], other["columns"] = other["columns"], one["columns"]
    elif kind == 4:
        one["columns"].append(int(rng.integers(-1, 12)))
    elif kind == 5:
        del one["nodes"][rng.integers(len(one["nodes"]))]
    elif kind == 6 and leaf["y"]:
        at = int(rng.integers(len(leaf["y"])))
        leaf["y"][at] = leaf["y"][at] * int(rng.choice([-1, 0, 2])) + int(rng.integers(-1, 2))
    else:
        node = one["nodes"][rng.integers(len(one["nodes"]))]
        if "split" in node:
            node["split"][2] += int(rng.choice([-1, 1]))
        elif node["y"]:
            node["y"][0] *= int(rng.choice([-1, 0, 2]))
        proof["bound"][0] += (-1 if rng.integers(2) else 1) * max(1, proof["bound"][1] // 100)
    return proof


def shops(count: int) -> Model:
    """Shops whose trees multiply where they are in one, and add up where each has its own."""
    m = Model("shops")
    x = m.integer("x", (count, 5), upper=9)
    sizes = np.array([12, 15, 20, 21, 28])
    m.add("size", (sizes * x).sum(axis=1) >= 43 + np.arange(count))
    m.add("room", x.sum() <= 4 * count)
    m.minimize((sizes * x).sum() + 0.1 * m.continuous("z", count, upper=1).sum())
    return m


def test_a_tree_that_is_long_as_one_is_short_by_parts() -> None:
    model = shops(6)
    form = model.compile()
    optimum = 0.0
    for size in range(43, 49):
        sums = {int(np.dot(n, [12, 15, 20, 21, 28])) for n in np.ndindex(5, 4, 4, 4, 3)}
        optimum += min(s for s in sums if s >= size)
    with pytest.raises(NotProvenError, match="600 nodes or fewer"):
        find(form, optimum, most_nodes=600)
    proof = find(form, optimum, tying=["room"], most_nodes=600)
    assert verify(form, proof) is not None
    assert len(proof["nodes"]) == 1
    assert sum(len(part["nodes"]) for part in proof["nodes"][0]["parts"]) < 600


def test_prices_are_found_where_a_relaxation_has_none(monkeypatch) -> None:
    form = two_parts(room=3).compile()
    proof = by_prices(form, 6.0, monkeypatch)
    assert verify(form, proof) == 6
    assert "parts" in proof["nodes"][0]
    with pytest.raises(NotProvenError):
        by_prices(form, 7.0, monkeypatch)


def test_rows_that_tie_are_rounded_where_that_cuts_off_a_mix_of_points(monkeypatch) -> None:
    m = Model("two of which one fits")
    x = m.binary("x", (2, 2))
    m.add("one", x.sum(axis=1) == 1)
    m.add("room", 3 * x[:, 0].sum() <= 5)
    m.minimize(x[:, 1].sum() + 0.3 * m.continuous("z", upper=1))
    form = m.compile()
    proof = by_prices(form, 1.0, monkeypatch)
    assert len(proof["extra"]) == len(proof["nodes"]) == 1
    assert float(verify(form, proof) or 0) == pytest.approx(1.0, abs=1e-6)
