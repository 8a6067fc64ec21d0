"""Random instances: all requests at once, or arrivals of a Poisson process.

The memory, prompts and outputs are whole numbers drawn uniformly, both ends included.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from formulations.llm_inference.instance import Instance
from optsched.instances.document import Document, validated
from optsched.instances.streams import streams

MEMORY = (30, 50)
"""M, tokens."""
PROMPT = (1, 5)
"""s_i, tokens; outputs are 1 to M - s_i."""
RATE = (0.5, 1.5)
"""Requests per round of the Poisson process."""


class GeneratorOptions(Document):
    """Options of ``generate``."""

    requests: Annotated[int, Field(ge=1, le=100_000)] = Field(8, description="requests n")
    arrivals: Literal["at_once", "poisson"] = Field(
        "at_once", description="all in round 0, or a Poisson process of 0.5 to 1.5 per round"
    )
    predictions: Literal["true", "interval", "none"] = Field(
        "true", description="what is known of an output: its length, an interval, nothing"
    )
    error: Annotated[float, Field(ge=0, le=1)] = Field(
        0.5, description="interval: the share by which each end may miss the output"
    )


def generate(rng: np.random.Generator, **options: Any) -> Instance:
    """Draw an instance.

    Memory, arrivals, requests and predictions come from streams of their own: few requests are
    the first of many, and predictions change nothing else.

    Args:
        rng: source of all randomness.
        options: the fields of ``GeneratorOptions``.

    Raises:
        InputError: an option is unknown or out of range.
    """
    chosen = validated(GeneratorOptions, options)
    of_system, of_arrivals, of_prompts, of_outputs, of_errors = streams(rng, 5)
    count = chosen.requests
    memory = int(of_system.integers(*MEMORY, endpoint=True))
    prompt = of_prompts.integers(*PROMPT, count, endpoint=True)
    output = 1 + np.floor(of_outputs.random(count) * (memory - prompt)).astype(np.int64)
    arrival = np.zeros(count, dtype=np.int64)
    if chosen.arrivals == "poisson":
        gaps = of_arrivals.exponential(1.0 / of_system.uniform(*RATE), count)
        arrival = np.floor(np.cumsum(gaps)).astype(np.int64)
    least = most = np.zeros_like(output)  # the outputs themselves
    if chosen.predictions == "interval":
        below, above = of_errors.random((count, 2)).T * chosen.error
        least = np.maximum(1, np.floor(output * (1 - below))).astype(np.int64)
        most = np.minimum(memory - prompt, np.ceil(output * (1 + above))).astype(np.int64)
    elif chosen.predictions == "none":
        least, most = np.ones_like(output), memory - prompt
    return Instance.build(
        memory=memory, arrival=arrival, prompt=prompt, output=output, predicted_least=least,
        predicted_most=most,
    )  # fmt: skip
