"""Files are validated at the door, written whole, and errors name the field."""

import json
import os
import threading
import time
from typing import Annotated

import covering
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from optsched.errors import InputError
from optsched.instances.document import PlainDocument, dumps, load, parse, save, schema, write_text

GOOD = {"price": [1.0], "size": [2.0], "demand": 1.0}


@given(
    items=st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), max_size=5),
    demand=st.floats(0, 1e9),
)
@settings(deadline=None, max_examples=50)
def test_what_is_written_is_what_is_read(items, demand):
    price, size = [p for p, _ in items], [s for _, s in items]
    given_ = covering.Cover(price=price, size=size, demand=demand)
    assert parse(covering.Cover, json.loads(dumps(given_))) == given_


def test_a_file_survives_the_round_trip(tmp_path):
    target = tmp_path / "new" / "cover.json"
    save(parse(covering.Cover, GOOD), target)
    assert load(covering.Cover, target) == covering.Cover(**GOOD)
    assert [path.name for path in target.parent.iterdir()] == ["cover.json"]


@pytest.mark.parametrize(
    ("change", "field", "allowed"),
    [
        ({"price": [1.0, "x"]}, "price[1]", "valid number"),
        ({"demand": -1}, "demand", "greater than or equal to 0"),
        ({"demand": float("nan")}, "demand", "finite"),
        ({"colour": "red"}, "colour", "not permitted"),
    ],
)
def test_a_refused_field_is_named_with_its_value_and_what_is_allowed(change, field, allowed):
    with pytest.raises(InputError) as caught:
        parse(covering.Cover, GOOD | change)
    (refused,) = caught.value.problems
    assert refused.field == field
    assert allowed in refused.allowed


def test_every_refused_field_is_listed_and_a_missing_one_says_so():
    with pytest.raises(InputError) as caught:
        parse(covering.Cover, {"price": "none", "demand": 1})
    assert {p.field: p.value for p in caught.value.problems} == {
        "price": "none",
        "size": "(missing)",
    }


def test_a_document_that_is_no_object_is_refused():
    with pytest.raises(InputError, match="document"):
        parse(covering.Cover, [1, 2])


def test_a_file_that_is_not_there_or_is_no_json_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        load(covering.Cover, tmp_path / "absent.json")
    (tmp_path / "half.json").write_text('{"price": [')
    with pytest.raises(InputError, match="is not JSON"):
        load(covering.Cover, tmp_path / "half.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot be read"):
        load(covering.Cover, tmp_path / "binary.json")


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path):
    target = tmp_path / "kept.txt"
    write_text(target, "old")
    with pytest.raises(UnicodeEncodeError):
        write_text(target, "\ud800")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_stays_one_and_the_file_it_names_is_replaced(tmp_path):
    target, link, dangling = (tmp_path / name for name in ("there.txt", "link", "dangling"))
    target.write_text("old")
    link.symlink_to(target)
    dangling.symlink_to(tmp_path / "new" / "file.txt")
    for path in (link, dangling):
        write_text(path, "new")
        assert path.is_symlink()
        assert path.read_text() == "new"
    assert target.read_text() == "new"


def test_a_link_planted_where_a_file_is_first_written_is_not_followed(tmp_path, monkeypatch):
    victim, target = tmp_path / "victim", tmp_path / "rows.csv"
    victim.write_text("untouched")
    (tmp_path / f".rows.csv.{os.getpid()}.tmp").symlink_to(victim)
    write_text(target, "new")
    assert target.read_text() == "new"
    monkeypatch.setattr("secrets.token_hex", lambda size: "drawn")
    (tmp_path / ".drawn.tmp").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_text(target, "newer")
    assert (victim.read_text(), target.read_text()) == ("untouched", "new")


def test_a_file_that_is_replaced_keeps_its_mode(tmp_path):
    target = tmp_path / "private.txt"
    target.write_text("old")
    target.chmod(0o640)
    write_text(target, "new")
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o640


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard = []
    reader = threading.Thread(target=lambda: heard.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "through")
    reader.join(timeout=10)
    assert heard == ["through"]
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_the_schema_describes_the_fields():
    properties = schema(covering.Cover)["properties"]
    assert set(properties) == {"price", "size", "demand"}
    assert properties["price"]["description"] == "of each item"


def test_a_file_nested_without_end_is_refused(tmp_path):
    (tmp_path / "deep.json").write_text("[" * 10_000)
    with pytest.raises(InputError, match="nested"):
        load(covering.Cover, tmp_path / "deep.json")


def test_a_key_that_stands_twice_is_named(tmp_path):
    (tmp_path / "twice.json").write_text('{"price": [1], "size": [2], "demand": 1, "demand": 2}')
    with pytest.raises(InputError, match=r"demand = 2: .*once"):
        load(covering.Cover, tmp_path / "twice.json")


@pytest.mark.parametrize(
    ("change", "field", "value"),
    [
        ({"demand": True}, "demand", True),
        ({"demand": "5"}, "demand", "5"),
        ({"price": [True]}, "price[0]", True),
        ({"price": [1, "2"], "size": [1, 2]}, "price[1]", "2"),
    ],
)
def test_a_text_or_a_truth_value_is_no_number(change, field, value):
    with pytest.raises(InputError) as caught:
        parse(covering.Cover, GOOD | change)
    (refused,) = caught.value.problems
    assert (refused.field, refused.value) == (field, value)
    assert "number" in refused.allowed


def test_many_keys_that_stand_twice_are_named_in_the_time_that_reading_takes(tmp_path):
    pairs = ", ".join(f'"{key}": 1' for key in [*range(40_000), 39_999])
    (tmp_path / "twice.json").write_text("{" + pairs + "}")
    started = time.process_time()
    with pytest.raises(InputError, match=r"39999.*once"):
        load(covering.Cover, tmp_path / "twice.json")
    assert time.process_time() - started < 2


def test_an_entry_that_is_refused_does_not_count_as_missing():
    class Shelf(PlainDocument):
        books: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1)]

    with pytest.raises(InputError) as caught:
        parse(Shelf, {"books": [0]})
    assert [problem.field for problem in caught.value.problems] == ["books[0]"]
    with pytest.raises(InputError, match="books"):
        parse(Shelf, {"books": []})
