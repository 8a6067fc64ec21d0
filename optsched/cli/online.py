"""Whether an algorithm looks ahead, and what not looking ahead costs (``online-bound``)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optsched.cli.console import NO, YES, Json, Seed, print_facts, print_json, print_table
from optsched.cli.names import HeuristicName, ProblemName, extra_options, split_list, target
from optsched.cli.progress import progress, waiting


def check_online(
    context: typer.Context,
    name: HeuristicName,
    instance_file: Annotated[
        Path | None,
        typer.Option("--instance", help="On this instance only, not on generated ones."),
    ] = None,
    instances: Annotated[int, typer.Option(min=1, help="Generated instances to try.")] = 5,
    changes: Annotated[
        int, typer.Option(min=0, help="Other futures tried at each arrival, beside none.")
    ] = 2,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Look for a decision that depends on jobs that had not arrived when it was made.

    The heuristic runs on instances, on these cut off at every moment of arrival, and with other
    jobs from then on; what it had decided by then must stay the same. Exits 0 where no difference
    is found, 1 where one is: a difference is proof, none is not.
    """
    from functools import partial

    from optsched.evaluation.runs import instance_rng
    from optsched.instances.document import load
    from optsched.online import anticipation

    found, call = target(name)
    chosen, options = found.heuristic(call)
    asked = found.generator_call(extra_options(context.args, name))
    run = partial(chosen.run, **options)
    given = range(seed, seed + (1 if instance_file else instances))
    ahead, tried = None, 0
    with progress(f"checking {name}", "instances") as show:
        for number in given:
            if instance_file is None:
                instance = found.generate(instance_rng(number), **asked)
            else:
                instance = load(found.instance_type, instance_file)
            ahead = anticipation(found, run, instance, seed=number, changes=changes)
            tried += 1
            show(tried, len(given), None)
            if ahead is not None:
                break
    facts = {
        "heuristic": call,
        "announced_online": chosen.is_online(options),
        "instances": tried,
        "verdict": "no decision was found to depend on the future" if ahead is None else str(ahead),
    }
    if json:
        print_json({**facts, "sees_the_future": ahead is not None})
    else:
        print_facts(facts)
    raise typer.Exit(YES if ahead is None else NO)


def online_bound(
    name: ProblemName,
    instances: Annotated[
        str,
        typer.Option(
            help="Files of the scenarios, separated by commas: jobs that are the same in two "
            "of them are their common past.",
            show_default=False,
        ),
    ],
    time_limit: Annotated[float, typer.Option(min=0.1, help="Wall seconds of each solve.")] = 60.0,
    json: Json = False,
) -> None:
    """The online lower bound: the least ratio that any online algorithm can have on scenarios.

    The scenarios are all the futures there are: an algorithm does the same in two of them until
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
