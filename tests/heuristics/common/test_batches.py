"""Batches at doubling times."""

from heuristics.common.batches import in_batches


def batches(arrivals, ends, **times):
    """When each batch was held, who took part, and the moment of the next."""
    held, waiting = [], []

    def hold(now, following):
        held.append((now, list(waiting), following))
        waiting[:] = [job for job in waiting if now + ends[job] > following]
        return bool(waiting)

    in_batches(arrivals, lambda job, now: job <= now, waiting.append, hold, **times)
    return held


def test_batches_are_held_at_doubling_times_while_somebody_waits_or_comes():
    assert batches([1, 2, 30], {1: 1, 2: 1, 30: 1}) == [
        (1, [1], 2), (2, [2], 4), (32, [30], 64),
    ]  # fmt: skip


def test_what_cannot_end_before_the_next_batch_waits_for_it():
    assert batches([1, 2], {1: 3, 2: 1}) == [(1, [1], 2), (2, [1, 2], 4), (4, [1], 8)]


def test_batches_count_from_the_origin():
    held = batches([10, 11], {10: 1, 11: 1}, first=0.5, origin=10)
    assert [(now, who) for now, who, _ in held] == [(10.5, [10]), (11, [10, 11])]
