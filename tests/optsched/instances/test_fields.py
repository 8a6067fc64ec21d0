"""A field is declared once: building, refusals, files, schema and table follow from that."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray
from typing_extensions import TypeAliasType

from optsched.errors import FieldProblem, InputError
from optsched.instances import fields
from optsched.instances.declared import Declared
from optsched.instances.document import dumps, parse, schema
from optsched.instances.fields import Group, declare, field_table, fields_of, in_file, refused

KINDS = ("plain", "express")


def _is_named(order: Any) -> Any:
    if order.label == "nobody":
        raise ValueError("label must name somebody")
    return order


@dataclass(frozen=True, eq=False)
class Shop(Declared):
    """Halls with machines, and the orders that arrive."""

    format: ClassVar[str] = "tests/shop/instance"
    groups: ClassVar[dict[str, Group]] = {
        "halls": Group("halls[]", "One hall."),
        "machines": Group("halls[].machines[]", "One machine."),
        "jobs": Group("jobs[]", "One order.", rule=_is_named),
    }

    span: int = declare(default=9, at_least=1, unit="days", symbol="T", meaning="opening time")
    hall_rent: NDArray[np.float64] = declare(
        "halls", file="halls[].rent", default=0.0, at_least=0, unit="money", meaning="rent"
    )
    speed: NDArray[np.float64] = declare("machines", above=0, at_most=1e6, symbol="v_m")
    room: NDArray[np.float64] = declare(
        "machines", whole=True, default=np.inf, at_least=0, null=np.inf, note="null is unlimited"
    )
    machine_hall: NDArray[np.int64] = declare(
        "machines", file="halls[].machines[]", index_of="halls", default=0
    )
    label = in_file("jobs", str, default="", meaning="name on the box")
    kind: NDArray[np.int64] = declare("jobs", choices=KINDS, default=0)
    size: NDArray[np.float64] = declare("jobs", at_least=0, unit="kg", meaning="weight of all")
    wait: NDArray[np.int64] = declare(
        "jobs", "machines", at_least=0, at_most=100, unit="days", symbol="w_jm", meaning="delay"
    )
    favourite: NDArray[np.int64] = declare("jobs", index_of="machines", default=0)
    distance: NDArray[np.float64] | None = declare(
        "machines", "machines", file="distance", default=None
    )

    def contradictions(self):
        heavy = self.size > self.span
        yield from refused(self, "size", heavy, "at most the span")


def shop(**changes: Any) -> Shop:
    """Two halls with two machines and one; two orders."""
    given = {"speed": [1, 2, 3], "machine_hall": [0, 0, 1], "size": [4, 5], "wait": [1, 2, 3]}
    return Shop.build(**given | changes)


def problems(make: Any) -> dict[str, Any]:
    with pytest.raises(InputError) as caught:
        make()
    return {problem.field: problem.value for problem in caught.value.problems}


def test_scalars_and_rows_spread_over_the_shape_declared():
    made = shop(size=[4, 5])
    assert made.wait.tolist() == [[1, 2, 3], [1, 2, 3]]
    assert made.hall_rent.tolist() == [0, 0]
    assert made.room.tolist() == [np.inf] * 3
    assert (made.span, made.kind.tolist(), made.distance) == (9, [0, 0], None)
    for one in (made, made.select({"jobs": [0]})):
        with pytest.raises(ValueError, match="read-only"):
            one.wait[0, 0] = 7


def test_positions_say_how_long_a_dimension_is_where_nothing_else_does():
    assert shop(machine_hall=[0, 4, 1]).hall_rent.shape == (5,)
    assert shop(machine_hall=[0, 0, 1], hall_rent=[1, 2, 3]).hall_rent.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("change", "field", "value"),
    [
        ({"span": 0}, "span", 0),
        ({"speed": [1, 2, 0]}, "halls[1].machines[0].speed", 0),
        ({"speed": [1, -np.inf, 1]}, "halls[0].machines[1].speed", -np.inf),
        ({"speed": [1e7, 1, 1]}, "halls[0].machines[0].speed", 1e7),
        ({"room": 1.5}, "halls[0].machines[0].room", 1.5),
        ({"size": [1, np.inf]}, "jobs[1].size", np.inf),
        ({"size": [1, 1e308]}, "jobs[1].size", 1e308),
        ({"wait": [[0, 0, 0], [0, 101, 0]]}, "jobs[1].wait[1]", 101),
        ({"favourite": [0, 3]}, "jobs[1].favourite", 3),
        ({"machine_hall": [0, -1, 1]}, "machine_hall[1]", -1),
        ({"size": [4, 10]}, "jobs[1].size", 10),
        ({"wait": [[1, 2]]}, "jobs[].wait", "shape (1, 2)"),
        ({"wait": 0.5}, "jobs[].wait", 0.5),
        ({"wait": [0, 0, 2**63]}, "jobs[].wait", [0, 0, 2**63]),
        ({"wait": 1e308}, "jobs[].wait", 1e308),
        ({"wait": 2**70}, "jobs[].wait", 2**70),
        ({"size": ["5", "6"]}, "jobs[].size", ["5", "6"]),
        ({"size": []}, "jobs[].kind", []),
    ],
)  # fmt: skip
def test_an_array_is_refused_as_a_file_would_spell_the_entry(change, field, value):
    assert problems(lambda: shop(**change))[field] == value


def test_what_is_not_a_number_is_out_of_every_range():
    found = problems(lambda: shop(speed=[1, np.nan, 1]))
    assert list(found) == ["halls[0].machines[1].speed"]


def test_a_refusal_says_what_is_allowed():
    with pytest.raises(InputError, match=r"jobs\[0\].wait\[0\] = 101: an integer >= 0 and <= 100"):
        shop(wait=101)
    with pytest.raises(InputError, match=r"room = -1.0: an integer >= 0 .* or infinite"):
        shop(room=-1)
    with pytest.raises(InputError, match=r"favourite = 9: position of .* machines, 0..2"):
        shop(favourite=9)


FILE = {
    "format": "tests/shop/instance",
    "version": 1,
    "span": 7,
    "halls": [
        {"rent": 2.0, "machines": [{"speed": 1.0, "room": 4}, {"speed": 2.0}]},
        {"machines": [{"speed": 3.0, "room": None}]},
    ],
    "jobs": [
        {"size": 1.0, "wait": [1, 2, 3], "label": "a"},
        {"kind": "express", "size": 2.0, "wait": [4, 5, 6], "favourite": 2},
    ],
}


def test_a_file_holds_its_fields_where_they_are_declared():
    read = parse(Shop, FILE)
    assert read.machine_hall.tolist() == [0, 0, 1]
    assert read.room.tolist() == [4, np.inf, np.inf]
    assert (read.kind.tolist(), read.favourite.tolist()) == ([0, 1], [0, 2])
    assert read.wait.tolist() == [[1, 2, 3], [4, 5, 6]]
    written = json.loads(dumps(read))
    assert written["halls"][0]["machines"] == [{"speed": 1.0, "room": 4}, {"speed": 2.0}]
    assert written["jobs"][1] == {
        "kind": "express", "size": 2.0, "wait": [4, 5, 6], "favourite": 2
    }  # fmt: skip
    assert dumps(parse(Shop, written)) == dumps(read)


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        (("halls", 1, "machines", 0, "speed"), 0, "halls[1].machines[0].speed"),
        (("jobs", 1, "wait", 1), 101, "jobs[1].wait[1]"),
        (("jobs", 1, "wait"), [1, 2], "jobs[1].wait"),
        (("jobs", 1, "favourite"), 3, "jobs[1].favourite"),
        (("jobs", 1, "kind"), "slow", "jobs[1].kind"),
        (("jobs", 1, "label"), "nobody", "jobs[1]"),
        (("jobs", 1, "size"), 8, "jobs[1].size"),
        (("jobs", 0, "colour"), 8, "jobs[0].colour"),
        (("distance",), [[0, 0, 0], [0, 0], [0, 0, 0]], "distance[1]"),
        (("distance",), [[0, 0, 0]], "distance"),
        (("jobs",), [], "jobs"),
    ],
)
def test_a_file_is_refused_in_the_same_words(path, value, field):
    data = json.loads(json.dumps(FILE))
    inner: Any = data
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    assert list(problems(lambda: parse(Shop, data))) == [field]


def test_entries_of_a_dimension_are_taken_out_of_every_field_that_has_it():
    one = parse(Shop, FILE).select({"jobs": [1]})
    assert (one.size.tolist(), one.wait.tolist(), one.kind.tolist()) == ([2], [[4, 5, 6]], [1])


def test_the_declarations_can_be_asked():
    known = {field.name: field for field in fields_of(Shop)}
    wait, label = known["wait"], known["label"]
    assert (wait.file, wait.dims, wait.unit) == ("jobs[].wait", ("jobs", "machines"), "days")
    assert (wait.whole, wait.span, wait.symbol) == (True, (0, 100), "w_jm")
    assert wait.value(shop()).shape == (2, 3)
    assert (label.in_file_only, label.stored) == (True, False)
    assert not hasattr(Shop, "label")
    assert known["room"].unlimited


Number = TypeVar("Number", bound=np.generic)
Array = TypeAliasType("Array", np.ndarray[Any, np.dtype[Number]], type_params=(Number,))


def test_an_alias_of_arrays_counts_as_the_arrays_it_stands_for(monkeypatch):
    """As numpy has one from 2.5 on, which needs a later Python than the oldest supported."""
    monkeypatch.setattr(fields, "NDArray", Array)

    @dataclass(frozen=True, eq=False)
    class Shelf(Declared):
        width: Array[np.float64] = declare("boards", above=0)
        boards_above: Array[np.int64] = declare("boards", at_least=0)
        sold: Array[np.bool_] | None = declare("boards", default=None)

    assert [field.kind for field in fields_of(Shelf)] == [float, int, bool]


def test_the_table_has_a_row_for_every_field():
    head, rule, *rows = field_table(Shop).splitlines()
    assert head.startswith("| in a file | in Python | shape | range | unit | default |")
    assert set(rule) <= set("| -")
    assert len(rows) == len(fields_of(Shop))
    assert (
        "| `jobs[].wait` | `wait` | jobs x machines | an integer >= 0 and <= 100 | days |  "
        "| w_jm | delay |" in rows
    )
    assert "| `jobs[].label` |  | jobs |  |  |  |  | name on the box |" in rows


def test_the_schema_says_range_meaning_symbol_and_unit():
    found = schema(Shop)
    wait = found["$defs"]["JobDocument"]["properties"]["wait"]
    assert wait["description"] == "delay w_jm, in days"
    assert wait["items"] == {"type": "integer", "minimum": 0, "maximum": 100}
    assert found["$defs"]["JobDocument"]["required"] == ["size", "wait"]
    assert found["properties"]["format"]["const"] == "tests/shop/instance"
    assert found["description"] == "Halls with machines, and the orders that arrive."


def test_a_copy_with_a_field_changed_is_checked_again():
    with pytest.raises(InputError) as caught:
        replace(shop(), size=np.array([1.0, -1.0]))
    (problem,) = caught.value.problems
    assert problem == FieldProblem("jobs[1].size", -1.0, problem.allowed)


@dataclass(frozen=True)
class Order:
    """What a record shares with a shop."""

    number: int
    size: float
    wait: NDArray[np.int64]


def test_an_entry_of_a_list_is_a_record_of_what_both_declare():
    order = shop().entry(1, Order, number=8)
    assert (order.number, order.size, order.wait.tolist()) == (8, 5.0, [1, 2, 3])
    assert type(order.size) is float
