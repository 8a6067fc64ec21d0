"""The online lower bound: on single scenarios, on a known tree from both sides, and looked for.

- A single scenario has price 1, always: generated instances, deterministic and with lots.
- Known: the trees of ``notebooks/trees``, on which every online algorithm loses: prices, proofs,
  and the bound by hindsight with penalties with the prices it took.
- Looked for: generated instances on which every online algorithm must lose, if jobs may stop coming
  after any moment of arrival.

    python benchmarks/prices.py                                   # singles and the trees: a minute
    python benchmarks/prices.py --singles 0 --seconds 60 --seeds 3
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from optsched.adversary import OnlineBoundCase, adversarial, check_online_bound_case
from optsched.adversary.judging import ANY
from optsched.evaluation.runs import instance_rng
from optsched.instances.document import load, parse
from optsched.online import information_relaxation, online_lower_bound, stopping_scenarios
from optsched.parallel.local import cores
from optsched.problem import problem

SINGLES = {"jobs": 3, "servers": 2, "types": 1, "time_scale": 0.03}
HUNTED: dict[str, dict[str, Any]] = {
    "preemptive": {
        "jobs": 2,
        "servers": 4,
        "types": 1,
        "span": 6,
        "time_scale": 0.1,
        "machines": [8],
    },
    "batch": {
        "jobs": 3,
        "servers": 1,
        "types": 1,
        "horizon": 12,
        "time_scale": 0.02,
        "machines": [2],
    },
}
"""Where edge and cloud take about as long, and jobs come while others run: chosen after instances
like ``SINGLES`` had shown no price above 1."""
CLOSE = 1e-6
TREES = Path(__file__).parents[1] / "notebooks" / "trees"


def priced_one(name: str, count: int) -> int:
    """Of so many generated instances, each alone, those whose prices are 1."""
    chosen = problem(name)
    held = 0
    for seed in range(count):
        one = chosen.generate(instance_rng(seed), **chosen.generator_call(SINGLES))
        paid = online_lower_bound(chosen, [one])
        ends = (paid.deterministic.low, paid.deterministic.high, paid.randomised.high)
        held += all(abs(end - 1.0) <= CLOSE for end in ends)
    return held


def known_tree(path: Path) -> None:
    """Print what is known of a tree from both sides."""
    case = load(OnlineBoundCase, path)
    chosen, checked = problem(case.problem), check_online_bound_case(case)
    print(f"{path.stem}: {len(case.instance['jobs'])} jobs, {len(case.costs)} futures")
    futures = stopping_scenarios(chosen, parse(chosen.instance_type, case.instance))
    paid = online_lower_bound(chosen, futures)
    proven = f"proof verified: {checked.holds and checked.optimum == 'proven'}"
    print(f"  deterministic {paid.deterministic}; at least {checked.ratio_low:.6f}, {proven}")
    print(f"  with lots     {paid.randomised}; at least {case.lots_low:.6f}")
    bound = information_relaxation(chosen, futures, paid.hardest, target=paid.randomised.high)
    told = f"{bound.low:.6f} after {bound.rounds} rounds"
    print(f"  hindsight {bound.hindsight:.6f}, with penalties {told}")


def main() -> None:
    """Print all three."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--singles", type=int, default=100, help="single scenarios")
    parser.add_argument("--seconds", type=float, default=0.0, help="of each search")
    parser.add_argument("--seeds", type=int, default=1, help="searches")
    given = parser.parse_args()
    for name in ("preemptive", "batch") if given.singles else ():
        count = given.singles // 2
        print(f"{name}: price 1 on {priced_one(name, count)} of {count} single scenarios")
    for path in sorted(TREES.glob("*.json")):
        known_tree(path)
    for seed in range(given.seeds) if given.seconds else ():
        for name, options in HUNTED.items():
            found = adversarial(
                ANY, options, problem=name, seconds=given.seconds, seed=seed, workers=cores()
            )
            print(
                f"{name}, seed {seed}: every online algorithm loses at least"
                f" {found.score.low:.4f}, one at most {found.score.high:.4f};"
                f" {found.evaluated} trees, {found.solved} solved",
                flush=True,
            )


if __name__ == "__main__":
    main()
