"""Files in the layout of the Azure LLM inference trace, made up here."""

import pytest

from formulations.llm_inference import PROBLEM
from formulations.llm_inference.traces import load_trace
from optsched.errors import InputError

ROWS = """TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:46.6805900,374,44
2023-11-16 18:15:50.9951690,396,109
2023-11-16 18:15:51.2225670,879,55
2023-11-16 18:15:52.0000000,91,16
"""


@pytest.fixture
def trace(tmp_path):
    file = tmp_path / "azure.trace"
    file.write_text(ROWS)
    return file


def test_a_trace_becomes_rounds_and_tokens(trace):
    instance = load_trace(trace)
    assert instance.memory == 879 + 55
    assert instance.arrival.tolist() == [0, 4, 4, 5]
    assert instance.prompt.tolist() == [374, 396, 879, 91]
    assert instance.output.tolist() == [44, 109, 55, 16]


def test_tokens_are_scaled_so_that_the_largest_request_fits(trace):
    instance = load_trace(trace, memory=93, seconds_per_round=0.5, most=3)
    assert instance.memory == 93
    assert instance.arrival.tolist() == [0, 8, 9]
    assert instance.prompt.tolist() == [37, 39, 87]
    assert instance.output.tolist() == [5, 11, 6]
    roomy = load_trace(trace, memory=2000)
    assert roomy.output.tolist() == [44, 109, 55, 16]


def test_a_trace_is_read_where_an_instance_is(trace):
    from optsched.instances.document import load

    assert load(PROBLEM.instance_type, trace).requests == 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("TIMESTAMP,ContextTokens\n1,2\n", "no column GeneratedTokens"),
        ("TIMESTAMP,ContextTokens,GeneratedTokens\n", "no row"),
        (ROWS + "yesterday,1,1\n", "row 5"),
        (ROWS + "2023-11-16 18:15:53,0,1\n", "row 5"),
        (ROWS + "2023-11-16 18:15:53,1,1.5\n", "row 5"),
    ],
)
def test_bad_rows_are_refused_by_their_place(tmp_path, text, said):
    file = tmp_path / "bad.trace"
    file.write_text(text)
    with pytest.raises(InputError, match=said):
        load_trace(file)


def test_bad_options_are_refused(trace):
    with pytest.raises(InputError, match="seconds_per_round"):
        load_trace(trace, seconds_per_round=0)
    with pytest.raises(InputError, match="memory"):
        load_trace(trace, memory=1)
