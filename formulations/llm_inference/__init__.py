"""LLM inference under a KV-cache limit: requests whose memory grows with every token.

``PROBLEM`` is what ``optsched`` finds by its entry point. The problem is stated in several papers;
the numbers are those of the modules. ``exact`` is ours.

=============================== ===================================================================
the problem                     file
=============================== ===================================================================
requests and the worker         ``instance``; random: ``generator``; from a trace: ``traces``
total latency, (L1), (L2)       ``check`` on a ``schedule``
(H1), (H2), hindsight optimum   ``hindsight``
requests that arrive one by one ``online``
=============================== ===================================================================
"""

from dataclasses import replace

from formulations import STUDIES
from formulations.common.calendar import Calendar
from formulations.llm_inference.check import check, completions, cost, latencies
from formulations.llm_inference.generator import GeneratorOptions, generate
from formulations.llm_inference.instance import Instance
from formulations.llm_inference.schedule import Schedule
from optsched.problem import Arrivals, LazyMapping, Problem, later

__all__ = ["PROBLEM", "Instance", "Schedule"]

_ONLINE = "formulations.llm_inference.online"
_ARRIVALS = Arrivals(
    times=lambda instance: instance.arrival,
    select=lambda instance, requests: instance.select({"requests": requests}),
    job=lambda instance, i: instance.request(i),
    nothing=lambda instance: Schedule.build([]),
    relabel=later(_ONLINE, "relabel"),
    decisions=later(_ONLINE, "decisions"),
    done=completions,
    unfinished=frozenset({"H1"}),
    state=later(_ONLINE, "State"),
    replan=later(_ONLINE, "replan"),
    hidden={"output": ("least_output", "most_output")},
)

_CALENDAR = Calendar(
    release=lambda instance: instance.arrival,
    span=lambda instance: float(instance.output.sum()),
    moved=lambda instance, slots: replace(instance, arrival=instance.arrival + slots),
    schedule_type=Schedule,
    absolute=frozenset({"horizon"}),
)

PROBLEM = Problem(
    name="llm_inference",
    summary="LLM inference on one worker under a KV-cache limit, least total latency",
    source="P. Jaillet, J. Jiang, K. Mellou, M. Molinaro, C. Podimata, Z. Zhou: Online Scheduling "
    "for LLM Inference with KV Cache Constraints. arXiv 2502.07115",
    instance_type=Instance,
    schedule_type=Schedule,
    check=check,
    cost=cost,
    generate=generate,
    generator_options=GeneratorOptions,
    formulations=LazyMapping.of(
        "formulations.llm_inference",
        {"by_states": "exact.method:METHODS", "hindsight": "hindsight:FORMULATIONS"},
    ),
    reference="by_states",
    proof_model="hindsight",
    construct=later("formulations.llm_inference.exact.improve", "shortest_inserted"),
    unit="rounds",
    check_options=lambda schedule: {"restarts": schedule.restarts},
    may_beat=False,  # without the runs that were broken off, a schedule costs the same
    flow_times=latencies,
    arrivals=_ARRIVALS,
    calendar=_CALENDAR,
    presets=STUDIES / "llm_inference.toml",
)
"""What ``optsched`` knows of the problem; its heuristics come from an entry point of their own."""
