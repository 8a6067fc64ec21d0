"""Tables as people have them: separators, dates, units, and messages that name the line."""

import sys

import pandas as pd
import pytest

from optsched.errors import InputError
from optsched.instances.columns import factor
from optsched.instances.importing import read_table
from optsched.problem import problem

COLUMNS = {
    "chunk_time_slow": "slow", "chunk_time_fast": "slow", "upload_delay_edge": "edge",
    "upload_delay_cloud": "edge",
}  # fmt: skip
REST = {"edge_servers": 1, "workers": [{"server": 0}]}


def table(path, text):
    path.write_text(text)
    return read_table(path)


def jobs(**columns):
    given = {"release_time": [0, 0, 0], "num_chunks": 1, "slow": 1, "edge": 0} | columns
    return pd.DataFrame(given)


def made(frame, columns=None, **options):
    return problem("preemptive").instance_from(frame, COLUMNS | (columns or {}), **REST, **options)


@pytest.mark.parametrize("between", [",", ";", "\t", "|"])
def test_the_first_line_shows_what_stands_between_cells(tmp_path, between):
    rows = [["name", "release_time", "note"], ["a", "1", '"x, y; z"'], ["b", "2", '"u|v"']]
    text = "".join(between.join(row) + "\n" for row in rows)
    read = table(tmp_path / "jobs.csv", text)
    assert read["release_time"].tolist() == [1, 2]
    assert read["note"].tolist() == ["x, y; z", "u|v"]


def test_with_semicolons_a_number_may_have_a_decimal_comma(tmp_path):
    read = table(tmp_path / "jobs.csv", "time;name\n1,5;1,2 or 3\n2;b\n")
    assert read["time"].tolist() == [1.5, 2.0]
    assert read["name"].tolist() == ["1,2 or 3", "b"]


def test_a_line_of_empty_cells_is_no_entry(tmp_path):
    read = table(tmp_path / "jobs.csv", "a,b\n1,2\n\n,\n3,4\n,\n")
    assert read.to_numpy().tolist() == [[1, 2], [3, 4]]


def test_a_refusal_names_the_line_of_the_file(tmp_path):
    text = "release_time;num_chunks;slow;edge;count\n0;1;1;0;2\n\n0;0;1;0;2\n"
    read = table(tmp_path / "jobs.csv", text)
    with pytest.raises(InputError) as refused:
        made(read)
    lines = {problem.field for problem in refused.value.problems}
    assert lines == {f"{tmp_path / 'jobs.csv'}, line 4, num_chunks"}
    with pytest.raises(InputError, match="line 4, num_chunks = 0"):
        made(read[::-1])
    with pytest.raises(InputError, match=r"jobs\[1\].num_chunks = 0"):
        made(jobs(num_chunks=[1, 0, 1]))


def test_dates_become_times_since_an_origin():
    dates = jobs(release_time=["2024-03-01 08:30", "2024-03-01T08:00:00", "2024-03-02"])
    assert made(dates).release_time.tolist() == [0.5, 0, 16]
    assert made(dates, slot_hours=0.25).release_time.tolist() == [2, 0, 64]
    assert made(dates, origin="2024-03-01").release_time.tolist() == [8.5, 8, 24]
    parsed = jobs(release_time=pd.to_datetime(["2024-03-01 10:00"] * 2 + ["2024-03-01 12:00"]))
    assert made(parsed).release_time.tolist() == [0, 0, 2]


def test_times_of_day_and_durations_are_times_too():
    clock = jobs(release_time=["08:30", "9:00:00", "26:15"], slow=["0:30", "1:00", "0:15"])
    instance = made(clock)
    assert instance.release_time.tolist() == [8.5, 9, 26.25]
    assert instance.chunk_time_slow.tolist() == [0.5, 1, 0.25]


def test_a_unit_in_words_is_exact():
    frame = jobs(sent=[0, 10_800_000, 25_200_000], slow=[180, 60, 420])
    by_column = {"release_time": "sent in ms", "chunk_time_slow": "slow in minutes",
                 "chunk_time_fast": "slow/60"}  # fmt: skip
    instance = made(frame.drop(columns="release_time"), by_column)
    assert instance.release_time.tolist() == [0, 3, 7]
    assert instance.chunk_time_slow.tolist() == instance.chunk_time_fast.tolist() == [3, 1, 7]
    for_all = made(jobs(release_time=[0, 180, 420], slow=60), unit="min")
    assert for_all.release_time.tolist() == [0, 3, 7]
    assert for_all.chunk_time_slow.tolist() == [1, 1, 1]
    assert for_all.num_chunks.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("frame", "columns", "options", "said"),
    [
        (jobs(), {"release_time": "edge in parsecs"}, {}, "parsecs.*us, ms, s, min, h, d"),
        (jobs(), {"chunk_storage": "edge in s"}, {}, "unit = 's': B, KB.*the field is in GB"),
        (jobs(), {"num_chunks": "edge in s"}, {}, "the field is in no unit"),
        (jobs(sent="2024-03-01"), {"num_chunks": "sent"}, {}, "the field is in no unit"),
        (jobs(sent="2024-03-01"), {"release_time": "sent/60"}, {}, "no factor and no unit"),
        (jobs(sent="2024-03-41"), {"release_time": "sent"}, {}, "dates such as 2024-01-31"),
        (jobs(sent="2024-03-01"), {"release_time": "sent"}, {"origin": "noon"}, "origin too"),
        (jobs(Sent=0), {"release_time": "sent"}, {}, "did you mean Sent"),
        (jobs(), {"release_tmie": "edge"}, {}, "did you mean release_time"),
        (jobs(), {}, {"edge_server": 2}, "did you mean edge_servers"),
        (jobs(sent="soon"), {"release_time": "sent in s"}, {}, "numbers, of which there is a unit"),
    ],
)
def test_what_cannot_be_read_is_refused_in_words(frame, columns, options, said):
    with pytest.raises(InputError, match=said):
        made(frame, columns, **options)


def test_slots_of_unknown_length_have_no_unit():
    with pytest.raises(InputError, match="the length of a slot is not known"):
        factor("s", "slots")


def test_an_index_with_a_name_is_a_column():
    assert made(jobs().assign(release_time=[3, 1, 2]).set_index("release_time")).jobs == 3


def test_a_sheet_of_excel_is_a_table(tmp_path):
    pytest.importorskip("openpyxl")
    jobs(num_chunks=[1, 0, 1]).to_excel(tmp_path / "jobs.xlsx", index=False)
    with pytest.raises(InputError, match=r"jobs\.xlsx, line 3, num_chunks = 0"):
        made(read_table(tmp_path / "jobs.xlsx"))


def test_a_file_that_is_no_sheet_is_refused(tmp_path):
    (tmp_path / "jobs.xlsx").write_bytes(b"PK\x03\x04")
    with pytest.raises(InputError, match="cannot be read as Excel"):
        read_table(tmp_path / "jobs.xlsx")


def test_a_sheet_whose_reader_is_missing_is_refused_with_what_pandas_says(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xlrd", None)
    (tmp_path / "jobs.xls").write_bytes(bytes.fromhex("d0cf11e0a1b11ae1"))
    with pytest.raises(InputError, match=r"a CSV or \.xlsx file.*pandas.*(xlrd|calamine)"):
        read_table(tmp_path / "jobs.xls")


@pytest.mark.parametrize("turned", [False, True])
def test_columns_of_several_values_count_by_their_number_and_not_by_where_they_stand(turned):
    columns = COLUMNS | {"upload_delay_edge[1]": "late", "upload_delay_edge[0]": "early"}
    del columns["upload_delay_edge"]
    columns = dict(list(columns.items())[:: -1 if turned else 1])
    frame, preemptive = jobs(early=[1, 2, 3], late=[7, 8, 9]), problem("preemptive")
    asked = {"edge_servers": 2, "workers": [{"server": 0}]}
    instance = preemptive.instance_from(frame, columns, **asked)
    assert instance.upload_delay_edge.tolist() == [[1, 7], [2, 8], [3, 9]]
    own = frame.rename(columns={"late": "upload_delay_edge[1]"})  # no mapping for this one
    del columns["upload_delay_edge[1]"]
    assert (
        preemptive.instance_from(own, columns, **asked).upload_delay_edge[:, 1] == [7, 8, 9]
    ).all()


@pytest.mark.parametrize(
    ("columns", "early", "field", "allowed"),
    [
        ({"upload_delay_edge[2]": "late"}, [1, 2, 3], "column", "upload_delay_edge[1]"),
        ({"upload_delay_edge": "late"}, [1, 2, 3], "column", "upload_delay_edge[1]"),
        ({"upload_delay_edge[1]": "late"}, [1, None, 3], "row 2, upload_delay_edge[0]", "a value"),
    ],
)
def test_a_place_that_is_left_out_does_not_shift_the_values_after_it(
    columns, early, field, allowed
):
    times = {"chunk_time_slow": "slow", "chunk_time_fast": "slow", "upload_delay_cloud": "edge"}
    columns = times | {"upload_delay_edge[0]": "early"} | columns
    with pytest.raises(InputError) as refused:
        problem("preemptive").instance_from(jobs(early=early, late=7), columns, **REST)
    (found,) = refused.value.problems
    assert found.field == field
    assert allowed in found.allowed
