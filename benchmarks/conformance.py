"""Random and structured small models, against enumeration and every back end.

The test run sees a sample of these; this is the nightly run. Every model is enumerated and solved
by all back ends that are installed. Anything wrong is shrunk to its smallest form and written as
JSON, ready to be placed in ``tests/data/regressions``.

    python benchmarks/conformance.py --models 20000 --workers 2
    python benchmarks/conformance.py --structured --models 20000 --workers 2

The first are models with every kind of block; the second are linear models of the families in
which solvers are known to lie, and an answer that claims less than it might is not wrong there.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

from optsched.parallel.local import Processes, Serial, drain
from optsched.solvers.registry import available
from optsched.testing.case import Word

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from support.campaign import CampaignResult, examine, recipe_of, structured_recipe_of
from support.random_models import RANDOM_KINDS

BATCH = 50  # models per task, so that handing them over costs nothing


@dataclass(frozen=True)
class Batch:
    """Consecutive seeds, and whom to ask."""

    seeds: range
    solvers: tuple[str, ...]
    kinds: tuple[str, ...]
    """Of block; none: structured models."""

    def run(self) -> list[CampaignResult]:
        """Examine every model."""
        draw = partial(recipe_of, kinds=self.kinds) if self.kinds else structured_recipe_of
        return [examine(seed, self.solvers, draw) for seed in self.seeds]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print a table; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1_000_000, help="of the first model")
    parser.add_argument("--solvers", default=",".join(available()))
    parser.add_argument("--kinds", default=",".join(RANDOM_KINDS))
    parser.add_argument("--structured", action="store_true", help="instead of kinds of block")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("reproducers"), help="where to put them")
    given = parser.parse_args(arguments)
    solvers = tuple(given.solvers.split(","))
    kinds = () if given.structured else tuple(given.kinds.split(","))
    last = given.seed + given.models
    batches = [
        Batch(range(first, min(first + BATCH, last)), solvers, kinds)
        for first in range(given.seed, last, BATCH)
    ]
    began, words, shown = time.perf_counter(), Counter[tuple[str, Word]](), Counter[str]()
    failed = 0
    executor = Serial() if given.workers == 1 else Processes(given.workers)
    for outcome in chain.from_iterable(drain(Batch.run, deque(batches), executor)):
        if outcome.value is None:
            print(f"{outcome.task.seeds}: {outcome.error}")
            failed += 1
            continue
        for finding in outcome.value:
            words.update((v.solver, v.word) for v in finding.results)
            shown.update(finding.kinds)
            if finding.wrong:
                report(finding, given.out)
    print(f"{given.models} models in {time.perf_counter() - began:.0f} s")
    print("holding: " + ", ".join(f"{kind} {count}" for kind, count in sorted(shown.items())))
    for solver in sorted({name for name, _ in words}):
        counts = ", ".join(f"{words[solver, word]} {word}" for word in Word)
        print(f"{solver:<12} {counts}")
    return int(failed > 0 or any(word is Word.WRONG for _, word in words))


def report(finding: CampaignResult, folder: Path) -> None:
    """Print what was wrong and keep the smallest model that shows it."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"model_{finding.seed}.json"
    said = [str(v) for v in finding.wrong]
    file.write_text(json.dumps({"why": said, "recipe": finding.recipe}, indent=1) + "\n")
    print("\n".join(said), f"-> {file}", sep="\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
