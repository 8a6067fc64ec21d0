"""``optsched online-bound``: the least ratio of any online algorithm on given scenarios."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optsched.cli.console import Json, option, print_json, print_table
from optsched.cli.names import ProblemName, split_list
from optsched.cli.progress import waiting


def online_bound(
    name: ProblemName,
    instances: Annotated[
        str,
        option(
            "Files of the scenarios, separated by commas. Two scenarios have the same past until "
            "their jobs differ."
        ),
    ],
    time_limit: Annotated[float, typer.Option(min=0.1, help="Wall seconds of each solve.")] = 60.0,
    json: Json = False,
) -> None:
    """Compute the least ratio that any online algorithm can have on scenarios.

    The scenarios are the possible futures. An online algorithm does the same in two of them until
    the first job that only one of them has. With more futures the bound is larger or the same.
    """
    from dataclasses import asdict

    from optsched.instances.document import load
    from optsched.online import online_lower_bound
    from optsched.problem import problem

    found = problem(name)
    files = split_list(instances)
    scenarios = [load(found.instance_type, Path(file)) for file in files]
    with waiting(f"looking for the best online algorithms on {len(files)} scenarios"):
        paid = online_lower_bound(found, scenarios, time_limit=time_limit)
    if json:
        facts = asdict(paid)
        del facts["schedules"]
        print_json(facts)
        return
    print_table(
        ["algorithms", "ratio at least", "ratio at most"],
        [
            ["deterministic, worst scenario", paid.deterministic.low, paid.deterministic.high],
            ["randomised, worst scenario", paid.randomised.low, paid.randomised.high],
            ["mean of the scenarios", paid.mean.low, paid.mean.high],
        ],
        "the best online algorithms on these scenarios",
    )
    costs = [found.cost(*pair) for pair in zip(scenarios, paid.schedules, strict=True)]
    rows = zip(files, paid.optima, costs, paid.hardest, strict=True)
    print_table(
        ["scenario", f"optimum at least, {found.unit}", "at most", "online", "hardest mixture"],
        [[file, one.low, one.high, cost, weight] for file, one, cost, weight in rows],
        "the best deterministic algorithm found, and the probabilities no algorithm does well on",
    )
