"""Every field of every paper's instances is refused by the name a file gives it."""

from __future__ import annotations

import json
import pickle
import re
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from formulations import aerialedge, batch, drp, llm_inference, okita, preemptive
from formulations.batch.instance import Instance as BatchInstance
from optsched.cli import app
from optsched.errors import InputError
from optsched.instances.document import dumps, load, parse
from optsched.instances.fields import Field, field_table, fields_of
from optsched.problem import problem

PAPERS = {
    paper.PROBLEM.name: paper.PROBLEM
    for paper in (aerialedge, batch, drp, llm_inference, okita, preemptive)
}
OPTIONS = {
    "aerialedge": {}, "drp": {"jobs": 3}, "batch": {"jobs": 4, "servers": 3},
    "llm_inference": {"requests": 4},
}  # fmt: skip


@cache
def instance(paper: str) -> Any:
    """A small instance without entries kept as they were read."""
    made = PAPERS[paper].generate(np.random.default_rng(2), **OPTIONS.get(paper, {"jobs": 4}))
    return replace(made, jobs_document=None) if hasattr(made, "jobs_document") else made


def numbers() -> list[Any]:
    return [
        pytest.param(paper, field, id=f"{paper}-{field.name}")
        for paper, problem in PAPERS.items()
        for field in fields_of(problem.instance_type)
        if field.numeric and field.stored
        if not field.dims or field.value(instance(paper)) is not None
    ]


def too_much(field: Field) -> Any:
    high = field.span[1]
    kind = int if field.whole else float
    return kind(field.below if field.below is not None else high * 10)


@pytest.mark.parametrize(("paper", "field"), numbers())
def test_an_entry_out_of_range_is_named_alike_in_an_array_and_in_a_file(paper, field):
    made, value = instance(paper), too_much(field)
    given = field.value(made)
    if field.dims:
        changed = given.copy()
        changed[(0,) * given.ndim] = value
    else:
        changed = value
    *part, name = field.name.split(".")
    change = {name: changed}
    if part:
        change = {part[0]: replace(getattr(made, part[0]), **change)}
    with pytest.raises(InputError) as in_python:
        replace(made, **change)
    first = in_python.value.problems[0]
    assert first.value == value
    if field.file.endswith("[]"):
        assert first.field == f"{field.name}[0]"
        return
    lists = field.file.count("[]")
    spelled = field.file.replace("[]", "[0]") + "[0]" * (len(field.dims) - bool(lists))
    assert first.field == spelled

    data = json.loads(dumps(made))
    inner: Any = data
    *way, last = [int(s) if s.isdigit() else s for s in re.findall(r"\w+", spelled)]
    for step in way:
        inner = inner[step]
    inner[last] = value
    with pytest.raises(InputError) as in_file:
        parse(type(made), data)
    assert (in_file.value.problems[0].field, in_file.value.problems[0].value) == (spelled, value)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_field_says_what_it_means_and_stands_in_the_table(paper):
    kind = PAPERS[paper].instance_type
    table = field_table(kind)
    for field in fields_of(kind):
        assert field.meaning, field.name
        assert f"`{field.file or field.name}`" in table or field.as_read


@pytest.mark.parametrize("paper", PAPERS)
def test_an_argument_left_out_is_named_or_has_a_default(paper):
    """Whichever it is, nothing but a refusal by name comes of it."""
    made = instance(paper)
    given = type(made).read(made.to_document())
    missed = []
    for name in given:
        fewer = {other: value for other, value in given.items() if other != name}
        try:
            type(made).build(**fewer)
        except InputError as refused:
            missed += [(name, p.field) for p in refused.problems if p.value == "(missing)"]
    assert len(missed) >= 2
    assert all(left_out == named for left_out, named in missed)
    with pytest.raises(InputError, match=r"\(missing\)"):
        type(made).build()


@pytest.mark.parametrize("paper", PAPERS)
def test_an_argument_that_is_no_field_is_named(paper):
    made = instance(paper)
    with pytest.raises(InputError, match="colour"):
        type(made).build(**type(made).read(made.to_document()), colour=1)


@pytest.mark.parametrize("paper", PAPERS)
def test_a_papers_fields_are_printed_as_a_table(paper):
    table = CliRunner().invoke(app, ["problems", paper, "--fields"]).stdout
    assert table.strip() == field_table(PAPERS[paper].instance_type)


@pytest.mark.parametrize("paper", PAPERS)
def test_a_file_that_does_not_say_what_it_is_is_refused(paper, tmp_path):
    data = json.loads(dumps(instance(paper)))
    del data["format"], data["version"]
    (tmp_path / "nameless.json").write_text(json.dumps(data))
    with pytest.raises(InputError) as caught:
        load(PAPERS[paper].instance_type, tmp_path / "nameless.json")
    assert [p.field for p in caught.value.problems] == ["format", "version"]


def test_instances_keep_the_jobs_as_read_on_the_way_to_another_process():
    made = batch.PROBLEM.generate(np.random.default_rng(0), jobs=2, servers=3)
    again = pickle.loads(pickle.dumps(made))
    assert isinstance(again, BatchInstance)
    assert dumps(again) == dumps(made)


@pytest.mark.parametrize(
    ("field", "value"),
    [("unit_bandwidth_cost", 1e308), ("chunk_size_mb", 1e308)],
)
def test_sizes_and_costs_that_no_search_can_add_up_are_refused(field, value):
    made = instance("okita")
    changed = getattr(made, field).copy()
    changed[(0, 1)[: changed.ndim]] = value
    with pytest.raises(InputError, match=field):
        replace(made, **{field: changed})


HEURISTICS = {
    "aerialedge": "aerialedge", "drp": "r_dr", "okita": "okita", "batch": "fifo",
    "llm_inference": "mc_sf",
}  # fmt: skip


def places(document: Any, at: tuple[Any, ...] = ()) -> Any:
    """Where a document holds a whole number, its first of each list."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield from places(value, (*at, key))
    elif isinstance(document, list) and document:
        yield from places(document[0], (*at, 0))
    elif isinstance(document, int) and not isinstance(document, bool):
        yield at


@pytest.mark.parametrize("paper", PAPERS)
def test_no_number_of_a_schedule_overflows(paper):
    found = problem(paper)
    name = HEURISTICS.get(paper, "a_online")
    made = found.generate(np.random.default_rng(2), **OPTIONS.get(paper, {"jobs": 4}))
    schedule = found.run(name, made, np.random.default_rng(0))
    text = dumps(schedule)
    spots = [spot for spot in places(json.loads(text)) if spot[0] not in ("format", "version")]
    assert spots
    for spot in spots:
        document = json.loads(text)
        *path, last = spot
        inner = document
        for key in path:
            inner = inner[key]
        inner[last] = 2**63
        with pytest.raises(InputError, match=str(spot[0])):
            found.check(made, parse(found.schedule_type, document))
