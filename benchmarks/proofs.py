"""Which optima of the papers' quick studies can be proven in exact arithmetic, and what it costs.

Every instance of the presets in ``studies/ratios.toml`` is solved by its problem's reference; the
optimum is then proven, and the proof written as JSON, read and verified against the instance.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from optsched.evaluation.proofs import check_proof, nodes, prove
from optsched.problem import Problem, problem
from optsched.proof import NotProvenError
from optsched.solvers.options import Options
from optsched.study.plan import plan
from optsched.study.spec import read

STUDY = Path(__file__).parent.parent / "studies" / "ratios.toml"


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
    numbers = f"{proven:7.2f} s {verified:6.2f} s {nodes(document):6} {len(text):9}"
    return f"{head} {numbers}", True, closed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("problems", nargs="*", help="some of the study's; by default all")
    parser.add_argument("--seconds", type=float, default=30.0, help="limit per proof")
    given = parser.parse_args()
    for grid in read(STUDY).grids:
        assert isinstance(grid.problem, str)
        if given.problems and grid.problem not in given.problems:
            continue
        found = problem(grid.problem)
        call = grid.reference or found.reference
        solved = proven = 0
        print(f"{grid.problem}: {call}\n{'':44} status   solving   proving verifying nodes bytes")
        for recipe in plan([grid]).recipes.values():
            line, optimal, closed = measured(found, call, recipe.make(), given.seconds)
            solved, proven = solved + optimal, proven + closed
            print(f"{recipe.name:>40.40} {line}", flush=True)
        print(f"proven: {proven} of {solved} optima\n", flush=True)


if __name__ == "__main__":
    main()
