"""Requests from a file in the layout of the Azure LLM inference trace.

Its columns are TIMESTAMP, ContextTokens and GeneratedTokens, a row per request.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd

from formulations.llm_inference.instance import Instance
from optsched.errors import InputError

COLUMNS = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")


def load_trace(
    path: str | Path,
    *,
    memory: int | None = None,
    seconds_per_round: float = 1.0,
    most: int | None = None,
) -> Instance:
    """Read a trace; the first request arrives in round 0.

    Prompts and outputs are multiplied by one factor, at most 1, so that the largest request fits
    the memory; prompts are rounded down and outputs up, to at least one token.

    Args:
        path: a CSV file.
        memory: M, tokens; None: what the largest request needs.
        seconds_per_round: length of a round.
        most: requests read, the first ones; None: all.

    Raises:
        InputError: a file without these columns, without rows or with values that are no times
            and no positive whole numbers; a memory too small for a token of a prompt and one of
            an output.
    """
    if not (math.isfinite(seconds_per_round) and seconds_per_round > 0):
        raise InputError.of("seconds_per_round", seconds_per_round, "a finite number > 0")
    table = pd.read_csv(path)
    missing = [name for name in COLUMNS if name not in table]
    if missing:
        raise InputError.of(str(path), f"no column {missing[0]}", "columns " + ", ".join(COLUMNS))
    table = table if most is None else table.head(most)
    if not len(table):
        raise InputError.of(str(path), "no row", "at least one request")
    times = pd.to_datetime(table["TIMESTAMP"], errors="coerce", format="mixed", utc=True)
    tokens = table[list(COLUMNS[1:])].apply(pd.to_numeric, errors="coerce").to_numpy(float)
    wrong = times.isna().to_numpy() | ~((tokens >= 1) & (tokens == np.floor(tokens))).all(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        said = table.iloc[row][list(COLUMNS)].tolist()
        raise InputError.of(f"{path}, row {row + 1}", said, "a time and two whole numbers >= 1")
    seconds = (times - times.min()).dt.total_seconds().to_numpy()
    largest = int(tokens.sum(axis=1).max())
    room = largest if memory is None else memory
    if room < 2:
        raise InputError.of("memory", room, "an integer >= 2")
    factor = min(1.0, room / largest)
    prompt = np.maximum(1, np.floor(tokens[:, 0] * factor)).astype(np.int64)
    output = np.maximum(1, np.ceil(tokens[:, 1] * factor)).astype(np.int64)
    return Instance.build(
        memory=room,
        arrival=np.floor(seconds / seconds_per_round).astype(np.int64),
        prompt=prompt,
        output=np.minimum(output, room - prompt),
    )
