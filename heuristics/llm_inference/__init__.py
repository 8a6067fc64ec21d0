"""Policies for LLM inference under a KV-cache limit."""

from formulations.llm_inference import PROBLEM
from heuristics.llm_inference.policies import (
    fcfs,
    longest_first,
    mc_sf,
    protected_clearing,
    protected_greedy,
)
from optsched.online import reoptimise_heuristic
from optsched.problem import Heuristic

__all__ = ["HEURISTICS"]

_SOURCE = "Jaillet et al., arXiv 2502.07115"

HEURISTICS: dict[str, Heuristic] = {
    heuristic.name: heuristic
    for heuristic in (
        Heuristic(
            "mc_sf", mc_sf, _SOURCE, "shortest output first, if the memory suffices to the end",
            proposed=True,
        ),
        Heuristic("fcfs", fcfs, _SOURCE, "first come, first served, with the check of mc_sf"),
        Heuristic(
            "longest_first", longest_first, "trivial policy",
            "longest output first, with the check of mc_sf",
        ),
        Heuristic(
            "protected_greedy", protected_greedy, _SOURCE,
            "in order of arrival while a share of the memory is free; evicts all on overflow",
        ),
        Heuristic(
            "protected_clearing", protected_clearing, _SOURCE,
            "as protected_greedy; evicts each with a probability",
        ),
    )
} | {"reoptimise": reoptimise_heuristic(PROBLEM)}  # fmt: skip
"""For total latency; ``reoptimise`` knows the true outputs of requests that have arrived."""
