"""What a class of instances hands out cannot be written, whoever wrote the class."""

from __future__ import annotations

import copy
import pickle
import timeit
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from optsched.instances.declared import Declared
from optsched.instances.fields import declare
from optsched.instances.read_only import read_only


@dataclass(frozen=True)
class Pair:
    """A record with an array."""

    left: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Depot(Declared):
    """Vans and what is derived from them, written without a thought of who else reads it."""

    filled = ("vans",)

    load: NDArray[np.float64] = declare("vans", at_least=0)

    @property
    def doubled(self) -> NDArray[np.float64]:
        """Not cached by its author."""
        return 2 * self.load

    @cached_property
    def by_name(self) -> dict[str, list[NDArray[np.float64]]]:
        """Nested containers."""
        return {"all": [self.load + 1]}

    @cached_property
    def pair(self) -> Pair:
        """An object with an array."""
        return Pair(np.arange(3))

    @cached_property
    def ragged(self) -> list[NDArray[np.int64]]:
        """Parts of one array."""
        return np.split(np.arange(4), [1])

    @cached_property
    def matrix(self) -> Any:
        """Entries can be added to it whatever the flags of its arrays say."""
        return sp.csr_array(np.eye(2))

    def heavier(self, than: float) -> NDArray[np.int64]:
        """An array made anew at each call."""
        return np.flatnonzero(self.load > than)

    def loads(self) -> Iterator[float]:
        """Numbers one by one."""
        yield from self.load.tolist()


@pytest.fixture
def depot() -> Depot:
    return Depot.build(load=[1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    "way", [lambda d: d, copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))]
)
def test_nothing_an_instance_hands_out_can_be_written(depot: Depot, way: Any) -> None:
    _ = depot.by_name, depot.pair
    mine = way(depot)
    arrays = (mine.load, mine.doubled, mine.by_name["all"][0], mine.pair.left)
    for array in (*arrays, *mine.ragged, mine.heavier(1)):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 7
    with pytest.raises(TypeError):
        mine.by_name["more"] = ()
    assert isinstance(mine.by_name["all"], tuple)
    assert mine.doubled.tolist() == [2, 4, 6]
    assert list(mine.loads()) == [1, 2, 3]


def test_a_sparse_matrix_is_refused_as_part_of_an_instance(depot: Depot) -> None:
    with pytest.raises(TypeError, match="csr_array can be changed"):
        _ = depot.matrix


def test_what_a_caller_may_still_write_is_copied_at_the_door() -> None:
    mine = np.array([1.0, 2.0, 3.0])
    part = mine[:2]
    part.flags.writeable = False
    depot = Depot(load=part)
    mine[0] = 9
    assert depot.load.tolist() == [1, 2]


def test_a_read_only_array_of_nobody_else_is_not_copied(depot: Depot) -> None:
    assert Depot(load=depot.load).load is depot.load


def test_an_array_of_objects_is_read_only_only_if_they_are() -> None:
    with pytest.raises(TypeError, match="ndarray can be changed"):
        read_only(np.array([[1], None], dtype=object))


def test_reading_an_attribute_a_second_time_costs_no_more_than_a_plain_one(depot: Depot) -> None:
    class Plain:
        load = depot.load

    def seconds(statement: str, thing: Any) -> float:
        return min(timeit.repeat(statement, globals={"thing": thing}, number=20_000, repeat=5))

    _ = depot.doubled
    assert seconds("thing.doubled", depot) < 5 * seconds("thing.load", Plain())
