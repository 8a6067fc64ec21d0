"""Policies for LLM inference under a KV-cache limit."""

from formulations.llm_inference import PROBLEM
from optsched.online.reoptimise import reoptimise_heuristic
from optsched.problem import Heuristic, later

__all__ = ["HEURISTICS"]

_POLICIES = "heuristics.llm_inference.policies"
_SOURCE = "Jaillet et al., arXiv 2502.07115"

HEURISTICS: dict[str, Heuristic] = {
    heuristic.name: heuristic
    for heuristic in (
        Heuristic(
            "mc_sf", later(_POLICIES, "mc_sf"), _SOURCE,
            "shortest output first, if the memory suffices to the end", proposed=True,
        ),
        Heuristic(
            "fcfs", later(_POLICIES, "fcfs"), _SOURCE,
            "first come, first served, with the check of mc_sf",
        ),
        Heuristic(
            "longest_first", later(_POLICIES, "longest_first"), "trivial policy",
            "longest output first, with the check of mc_sf",
        ),
        Heuristic(
            "protected_greedy", later(_POLICIES, "protected_greedy"), _SOURCE,
            "in order of arrival while a share of the memory is free; evicts all on overflow",
        ),
        Heuristic(
            "protected_clearing", later(_POLICIES, "protected_clearing"), _SOURCE,
            "as protected_greedy; evicts each with a probability",
        ),
    )
} | {"reoptimise": reoptimise_heuristic(PROBLEM)}  # fmt: skip
"""For total latency."""
