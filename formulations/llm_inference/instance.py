"""A worker with a KV cache of M tokens, and requests with prompts and outputs.

Rounds are numbered from 0. A request that starts in round p generates its j-th token in round
p + j - 1 and holds s + j tokens of memory then. After its last token it holds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from optsched.errors import FieldProblem
from optsched.instances.declared import Declared
from optsched.instances.fields import Group, declare, refused
from optsched.problem import later

Integers = NDArray[np.int64]

LARGEST_MEMORY = 1_000_000
"""Tokens of a worker."""
LATEST = 10**9
"""Last round in which a request may arrive."""


@dataclass(frozen=True)
class Request:
    """A request as an online policy sees it on arrival: its output length is not known."""

    id: int
    arrival: int
    """a_i, round."""
    prompt: int
    """s_i, tokens."""
    least_output: int
    """Shortest predicted output, tokens."""
    most_output: int
    """Longest predicted output, tokens."""


@dataclass(frozen=True, eq=False)
class Instance(Declared):
    """Requests on one worker. Every array is read-only.

    Raises:
        InputError: a field has the wrong shape or a value out of range, or a request needs more
            memory than there is.
    """

    format: ClassVar[str] = "optsched/llm_inference/instance"
    readers: ClassVar[dict[str, Any]] = {
        ".trace": later("formulations.llm_inference.traces", "load_trace")
    }
    groups: ClassVar[dict[str, Group]] = {"requests": Group("requests[]", "One request.")}
    filled: ClassVar[tuple[str, ...]] = ("requests",)

    memory: int = declare(
        at_least=2, at_most=LARGEST_MEMORY, symbol="M", unit="tokens", meaning="KV cache"
    )
    arrival: Integers = declare(
        "requests", default=0, at_least=0, at_most=LATEST, symbol="a_i", unit="rounds",
        meaning="round of arrival",
    )  # fmt: skip
    prompt: Integers = declare(
        "requests", at_least=1, at_most=LARGEST_MEMORY, symbol="s_i", unit="tokens",
        meaning="length of the prompt",
    )  # fmt: skip
    output: Integers = declare(
        "requests", at_least=1, at_most=LARGEST_MEMORY, symbol="o_i", unit="tokens",
        meaning="length of the output, which shows itself when the request ends",
    )  # fmt: skip
    predicted_least: Integers = declare(
        "requests", default=0, at_least=0, at_most=LARGEST_MEMORY, unit="tokens",
        meaning="shortest output that is predicted", note="0 in both: the output itself",
    )  # fmt: skip
    predicted_most: Integers = declare(
        "requests", default=0, at_least=0, at_most=LARGEST_MEMORY, unit="tokens",
        meaning="longest output that is predicted", note="0 in both: the output itself",
    )  # fmt: skip

    def contradictions(self) -> Iterator[FieldProblem]:
        """Requests larger than the memory, predictions that exclude the output."""
        most = np.maximum(self.output, self.predicted_most)
        allowed = f"prompt + output <= memory ({self.memory}), the predicted one included"
        yield from refused(self, "output", self.prompt + most > self.memory, allowed)
        low, high = self.predicted_least, self.predicted_most
        yield from refused(self, "predicted_least", low > self.output, "at most the output")
        half = (low > 0) != (high > 0)
        yield from refused(self, "predicted_least", half, "0 just if predicted_most is 0")
        excluded = (high > 0) & (high < self.output)
        yield from refused(self, "predicted_most", excluded, "0, or at least the output")

    @property
    def requests(self) -> int:
        """Number of requests, n."""
        return len(self.output)

    @cached_property
    def least_output(self) -> Integers:
        """Shortest output that is predicted, shape (requests,)."""
        return np.where(self.predicted_least > 0, self.predicted_least, self.output)

    @cached_property
    def most_output(self) -> Integers:
        """Longest output that is predicted, shape (requests,)."""
        return np.where(self.predicted_most > 0, self.predicted_most, self.output)

    @property
    def horizon(self) -> int:
        """H: one request after the other from the last arrival on ends by then."""
        return int(self.arrival.max() + self.output.sum())

    def request(self, i: int) -> Request:
        """Request ``i`` with what is known of it on arrival."""
        low, high = int(self.least_output[i]), int(self.most_output[i])
        return self.entry(i, Request, id=i, least_output=low, most_output=high)
