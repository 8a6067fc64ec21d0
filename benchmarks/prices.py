"""The price of being online: on single scenarios, on a known tree from both sides, and looked for.

- A single scenario has price 1, always: generated instances, deterministic and with lots.
- Known: two futures with prices 7/6 and 10/9 (``docs/price.md``), the bound by hindsight with
  penalties, and the prices it took.
- Looked for: generated instances on which every online algorithm must lose, if jobs may stop coming
  after any moment of arrival.

    python benchmarks/prices.py                                   # singles and the tree: a minute
    python benchmarks/prices.py --singles 0 --seconds 60 --seeds 3
"""

from __future__ import annotations

import argparse

from formulations.preemptive import Instance
from optsched.evaluation.runs import instance_rng
from optsched.online import endings, penalised, price
from optsched.parallel import cores
from optsched.problem import problem
from optsched.worst import worst
from optsched.worst.judging import ANY

SINGLES = {"jobs": 3, "servers": 2, "types": 1, "time_scale": 0.03}
HUNTED = {"jobs": 4, "servers": 2, "types": 1, "span": 10, "time_scale": 0.03}
CLOSE = 1e-6


def priced_one(name: str, count: int) -> int:
    """Of so many generated instances, each alone, those whose prices are 1."""
    chosen = problem(name)
    held = 0
    for seed in range(count):
        one = chosen.generate(instance_rng(seed), **chosen.generator_call(SINGLES))
        paid = price(chosen, [one])
        ends = (paid.deterministic.low, paid.deterministic.high, paid.randomised.high)
        held += all(abs(end - 1.0) <= CLOSE for end in ends)
    return held


def known_tree() -> None:
    """Print what is known of it from both sides."""
    lost = Instance.build(
        release_time=[1, 2], num_chunks=[2, 2], chunk_time_slow=[3, 2], chunk_time_fast=[1, 2],
        upload_delay_edge=[[0], [0]], upload_delay_cloud=[3, 7], worker_server=[0, 0],
    )  # fmt: skip
    chosen = problem("preemptive")
    futures = endings(chosen, lost)
    paid = price(chosen, futures)
    print(f"deterministic {paid.deterministic}, 7/6 = {7 / 6:.6f}")
    print(f"with lots     {paid.randomised}, 10/9 = {10 / 9:.6f}")
    bound = penalised(chosen, futures, paid.hardest, target=paid.randomised.high)
    print(f"hindsight {bound.hindsight:.6f}, with penalties {bound.low:.6f}, rounds {bound.rounds}")


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
    known_tree()
    for seed in range(given.seeds) if given.seconds else ():
        found = worst("preemptive", ANY, HUNTED, seconds=given.seconds, seed=seed, workers=cores())
        print(
            f"seed {seed}: every online algorithm loses at least {found.score.low:.4f}, one at most"
            f" {found.score.high:.4f}; {found.evaluated} trees, {found.solved} solved"
        )


if __name__ == "__main__":
    main()
