"""Worst instances found within a time, and random ones judged in the same time.

For each heuristic: the worst of as many generated instances as a search of that time judges, what
the search finds, whether the generator could have made it (every number within the ranges of those
generated, nothing strange by the problem's own word), and how many candidates a second it judges.
The instances of both are made by the same options of the generator.

    python benchmarks/worst.py                       # some minutes
    python benchmarks/worst.py --seconds 60 --seeds 3
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from typing import Any

from optsched.adversary import Hunt, adversarial
from optsched.adversary.judging import Wanted, strange
from optsched.evaluation.runs import instance_rng
from optsched.instances.document import parse
from optsched.parallel.local import cores
from optsched.problem import problem

HUNTS: tuple[tuple[str, str, Mapping[str, Any]], ...] = (
    (
        "preemptive",
        "a_online",
        {"jobs": 5, "servers": 5, "types": 2, "span": 10, "time_scale": 0.03},
    ),
    ("batch", "a_online", {"jobs": 5, "servers": 6, "types": 2, "time_scale": 0.05}),
    ("okita", "okita", {"jobs": 2, "sites": 3, "horizon": 20}),
    ("aerialedge", "tetris", {"kind": "hard", "tasks": 16}),
    ("drp", "r_dr", {"jobs": 3, "profile": "physical"}),
)  # fmt: skip
"""(problem, heuristic, options of the generator)."""


def worst_random(name: str, call: str, options: Mapping[str, Any], seconds: float) -> float:
    """The worst ratio of generated instances, one after the other, in one process."""
    chosen, judge = problem(name), Hunt(name, call, options).judge((0,))
    began, seed, most = time.monotonic(), 0, 0.0
    while time.monotonic() - began < seconds:
        instance = chosen.generate(instance_rng(seed), **chosen.generator_call(options))
        score = judge.instance(instance, Wanted(most))
        most = max(most, score.low if score is not None else 0.0)
        seed += 1
    return most


def admitted(name: str, call: str, options: Mapping[str, Any], document: Any) -> bool:
    """Whether the generator could have made an instance, as far as can be told."""
    chosen, space = problem(name), Hunt(name, call, options).space()
    instance = parse(chosen.instance_type, document)
    return not (space.outside(document) or strange(chosen, instance, options))


def main() -> None:
    """Print a line per heuristic and seed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=20.0, help="of each search")
    parser.add_argument("--random-seconds", type=float, help="of random ones; default: as long")
    parser.add_argument("--seeds", type=int, default=1, help="searches per heuristic")
    parser.add_argument("--first-seed", type=int, default=0, help="of the searches")
    parser.add_argument("--only", help="one problem")
    arguments = parser.parse_args()
    print("problem.heuristic          seed  random worst   found  admitted  candidates  per second")
    for name, call, options in HUNTS:
        if arguments.only not in (None, name):
            continue
        random = worst_random(name, call, options, arguments.random_seconds or arguments.seconds)
        for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
            found = adversarial(
                call, options, problem=name, seconds=arguments.seconds, seed=seed, workers=cores()
            )
            print(
                f"{name + '.' + call:<26} {seed:>4}  {random:>12.3f}  {found.score.low:>6.3f}"
                f"  {admitted(name, call, options, found.document)!s:>8}"
                f"  {found.evaluated:>10}  {found.evaluated / found.seconds:>10.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
