"""Storage alone: its bound beside enumeration, its cuts, and what prices prove by themselves."""

import numpy as np
import pytest
from brute_force import optimum
from drp_cases import examples, instances, system
from hypothesis import given
from hypothesis import strategies as st

from formulations.drp.exact import storage_cuts
from formulations.drp.exact.service_columns import ServiceColumns
from formulations.drp.exact.storage_cuts import StorageRows, storage_cut
from formulations.drp.exact.storage_relaxation import StorageRelaxation
from formulations.drp.generator import tiny
from optsched.decomposition import GenerationOptions
from optsched.solvers.options import Options


def cut_out(relaxation, rounds=20):
    """Bounds of the relaxation, cut by cut."""
    bounds = []
    for _ in range(rounds):
        found = relaxation.solve(Options())
        bounds.append(found.bound)
        if not relaxation.storage.cut(found.placed):
            break
    return bounds


def two_services(storage):
    """Two jobs of one node each, services of 3, and one server that stores so much."""
    return system(
        [(0, 0.1, [0]), (1, 0.1, [0])], [1.0], job_service=[0, 1],
        service_size_bytes=[3, 3], server_storage_bytes=[storage],
    )  # fmt: skip


@given(instances(jobs=5, servers=3, storage=True), st.booleans())
@examples(25)
def test_the_bound_falls_with_cuts_and_never_below_the_optimum(instance, shared):
    if shared:
        instance = tiny(
            np.random.default_rng(instance.num_pairs), jobs=5, servers=3, storage=True,
            shared_services=True,
        )  # fmt: skip
    bounds = cut_out(StorageRelaxation(instance, StorageRows(instance)))
    assert (np.diff(bounds) <= 1e-6).all()
    assert bounds[-1] >= optimum(instance, services=True)


@given(instances(jobs=5, servers=3, storage=True), st.integers(0, 2**32 - 1))
@examples(25)
def test_any_prices_prove_a_bound(instance, seed):
    relaxation = StorageRelaxation(instance, StorageRows(instance))
    best = optimum(instance, services=True)
    rng = np.random.default_rng(seed)
    rows, places = len(relaxation.storage.server), relaxation._places
    for scale in (0.0, 0.3, 1.0, 3.0):
        paid = scale * rng.random(rows)
        load = instance.service_load[places.service, places.server]
        fee = paid[places.server] * load
        needed = scale * rng.random(len(relaxation._reach.job))
        assert relaxation._bound(needed, fee, paid) >= best


@pytest.mark.parametrize(("storage", "most"), [(5.9, 1), (6.0, 2)])
def test_cuts_tell_whether_a_second_service_fits(storage, most):
    instance = two_services(storage)
    bounds = cut_out(StorageRelaxation(instance, StorageRows(instance)))
    assert bounds[0] == pytest.approx(storage / 3)
    assert bounds[-1] == pytest.approx(most)


def test_what_is_cut_here_holds_in_the_relaxation_over_whole_services():
    instance = two_services(5.0)
    columns = ServiceColumns(instance, 9)
    assert -columns.solve(GenerationOptions()).bound == pytest.approx(5 / 3)
    cut_out(StorageRelaxation(instance, columns.storage))
    assert -columns.solve(GenerationOptions()).bound == pytest.approx(1.0)


def test_what_is_met_is_cut_and_its_mean_and_no_row_stands_twice(monkeypatch):
    rows, asked = StorageRows(two_services(5.0)), []

    def noted(point, size):
        asked.append(point)
        return storage_cut(point, size)

    monkeypatch.setattr(storage_cuts, "storage_cut", noted)
    first, second, third = np.array([[5 / 6], [5 / 6]]), np.array([[1.0], [0.0]]), np.zeros((2, 1))
    assert rows.cut(first)
    assert len(rows.server) == 2
    assert not rows.cut(second)  # their mean violates the row that there is
    assert not rows.cut(third)
    means = (first + second) / 2, (first + second + 2 * third) / 4
    expected = [first, second, means[0], third, means[1]]
    assert [point.tolist() for point in asked] == [point[:, 0].tolist() for point in expected]
    assert len(rows.server) == 2


@pytest.mark.parametrize(("apart", "known"), [(0.9e-6, True), (1.1e-6, False)])
def test_rows_that_differ_by_rounding_are_the_same(apart, known):
    rows = StorageRows(two_services(5.0))
    rows.server, rows.counts = np.array([0, 0]), np.array([rows.counts[0], [1.0, 1.0 - apart]])
    assert rows.cut(np.array([[5 / 6], [5 / 6]])) != known
