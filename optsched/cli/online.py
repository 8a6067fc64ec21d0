"""``check-online``: whether an algorithm decides anything by jobs that come later."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optsched.cli.console import NO, YES, Json, Seed, print_facts, print_json
from optsched.cli.names import HeuristicName, extra_options, target
from optsched.cli.progress import progress


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

    from optsched.document import load
    from optsched.evaluation.runs import instance_rng
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
