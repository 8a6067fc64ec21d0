"""When a job runs: the union of its chunks' runs, which one parameter server serves."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from heuristics.preemptive.parameter_servers import running_intervals

RUN = st.tuples(st.integers(0, 2), st.integers(0, 20), st.integers(1, 6))


@given(runs=st.lists(RUN, max_size=12))
@settings(max_examples=150, deadline=None)
def test_a_job_runs_whenever_one_of_its_chunks_does(runs):
    job, start, length = np.array(runs, dtype=np.int64).reshape(-1, 3).T
    columns = running_intervals(job, start.astype(float), (start + length).astype(float))
    found = list(zip(*columns, strict=True))
    slots = {(j, t) for j, s, n in runs for t in range(s, s + n)}
    assert sorted(slots) == sorted((j, t) for j, s, e in found for t in range(int(s), int(e)))
    maximal = [(j, s) for j, s in slots if (j, s - 1) not in slots]
    assert [(s, j) for j, s, _ in found] == sorted((s, j) for j, s in maximal)


def test_runs_that_touch_up_to_rounding_are_one_interval():
    job, start, end = running_intervals(
        np.array([0, 0, 0]), np.array([0.0, 0.1 + 0.2, 0.7]), np.array([0.3, 0.6, 0.9])
    )
    assert job.tolist() == [0, 0]
    assert start.tolist() == [0.0, 0.7]
    assert end.tolist() == [0.6, 0.9]
