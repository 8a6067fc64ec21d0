"""Which optima of the papers' quick studies can be proven in exact arithmetic, and what it costs.

Every instance of the presets in ``studies/ratios.toml`` is solved by its problem's reference; the
optimum is then proven, and the proof written as JSON, read and verified against the instance.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
import tomllib
from pathlib import Path
from typing import Any

from optsched.evaluation.proofs import check_proof, prove
from optsched.evaluation.runs import instance_rng
from optsched.problem import Problem, problem
from optsched.proof import NotProvenError
from optsched.solvers.options import Options
from optsched.study.spec import GridDocument, presets

STUDY = Path(__file__).parent.parent / "studies" / "ratios.toml"


def instances(found: Problem, preset: GridDocument) -> list[tuple[str, Any]]:
    """Those of a preset, with a label."""
    made = []
    for values in itertools.product(*preset.cells.values()):
        options = dict(zip(preset.cells, values, strict=True))
        for seed in preset.seeds or range(1):
            instance = found.generate(instance_rng(seed), **found.generator_call(options))
            label = " ".join(f"{k}={v}" for k, v in options.items() if len(preset.cells[k]) > 1)
            made.append((f"{label} seed={seed}", instance))
    return made


def measured(found: Problem, call: str, instance: Any, seconds: float) -> tuple[str, bool, bool]:
    """What happened, whether the instance was solved, and whether its optimum was proven."""
    began = time.perf_counter()
    answer = found.solve(call, instance, options=Options(time_limit=60.0))
    solved = time.perf_counter() - began
    head = f"{answer.solution.status:>9} {solved:7.2f} s"
    if answer.solution.status != "optimal":
        return head, False, False
    began = time.perf_counter()
    try:
        document = prove(found, call, instance, answer, seconds)
    except NotProvenError as why:
        return f"{head}  {why}", True, False
    proven = time.perf_counter() - began
    text = json.dumps(document, separators=(",", ":"))
    began = time.perf_counter()
    closed = check_proof(found, instance, json.loads(text)).closed
    verified = time.perf_counter() - began
    numbers = f"{proven:7.2f} s {verified:6.2f} s {len(document['nodes']):6} {len(text):9}"
    return f"{head} {numbers}", True, closed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("problems", nargs="*", help="some of the study's; by default all")
    parser.add_argument("--seconds", type=float, default=30.0, help="limit per proof")
    given = parser.parse_args()
    with STUDY.open("rb") as file:
        grids = tomllib.load(file)["grid"]
    for grid in grids:
        if given.problems and grid["problem"] not in given.problems:
            continue
        found = problem(grid["problem"])
        preset = presets(found)[grid["preset"]]
        call = preset.exact[0].formulation if preset.exact else found.reference
        solved = proven = 0
        print(
            f"{grid['problem']}: {call}\n{'':28} status   solving   proving verifying nodes bytes"
        )
        for label, instance in instances(found, preset):
            line, optimal, closed = measured(found, call, instance, given.seconds)
            solved, proven = solved + optimal, proven + closed
            print(f"{label:>24} {line}", flush=True)
        print(f"proven: {proven} of {solved} optima\n", flush=True)


if __name__ == "__main__":
    main()
