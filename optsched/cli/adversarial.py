"""``optsched adversarial``: find, check and explain instances on which a heuristic does badly."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from optsched.cli.console import (
    INTERRUPTED,
    NO,
    YES,
    Json,
    MappingFile,
    Output,
    Seed,
    argument,
    cell,
    check_apart,
    check_picture,
    check_target,
    option,
    print_facts,
    print_json,
    print_table,
    say,
)
from optsched.cli.names import HeuristicName, OwnHeuristic, extra_options, named_files, target
from optsched.cli.progress import waiting
from optsched.errors import InputError

if TYPE_CHECKING:
    from optsched.adversary.case import Case
    from optsched.adversary.judging import Judge, Score
    from optsched.adversary.online_bound import OnlineBoundCase
    from optsched.adversary.search import Search
    from optsched.adversary.space import Space
    from optsched.problem import Problem

SECONDS = 60.0
"""Wall time of a search where nothing else is said."""

HURRIED = 0.5
"""Wall seconds that a proof may take after an interrupt."""

GRACE = 1.0
"""Seconds for which the last candidate is waited for when the time to make a case small is over."""

SHOWN = 15
"""Changes listed for people."""

CaseFile = Annotated[Path, argument("Case file (JSON).", metavar="CASE")]


Seconds = Annotated[float | None, option(f"Wall time of the search; default {SECONDS:g}.")]
Evaluations = Annotated[
    int | None,
    option(
        "Number of candidates, instead of a time; the result is the same for any --workers.", min=1
    ),
]
Reference = Annotated[
    str | None, typer.Option(help="Formulation that gives the optimum; default: the problem's own.")
]
Workers = Annotated[int | None, option("Processes; default: one per core.", min=1)]
StoreFile = Annotated[Path | None, option("File that keeps the search, so that it can continue.")]
Runs = Annotated[
    int | None,
    option("Runs of the heuristic on a candidate; default 1, or 5 if it is randomised.", min=1),
]
Beginning = Annotated[
    Path | None,
    option("Instance to begin with, which these options could generate: JSON or a table."),
]
Small = Annotated[
    bool, typer.Option(help="Shrink the instance found, which takes up to 25 s more.")
]


def find(
    context: typer.Context,
    name: HeuristicName,
    heuristic: OwnHeuristic = None,
    seconds: Seconds = None,
    evaluations: Evaluations = None,
    seed: Seed = 0,
    seeds: Runs = None,
    instance: Beginning = None,
    mapping: MappingFile = None,
    reference: Reference = None,
    workers: Workers = None,
    store: StoreFile = None,
    shrink: Small = True,
    output: Output = None,
    json: Json = False,
) -> None:
    """Search for an instance on which a heuristic's ratio to the optimum is large.

    Options of the problem's generator (--jobs 5) define the range of instances. The case that is
    written shows that the worst ratio is at least so large; a worse instance may exist.

    preemptive.any_online stands for every online algorithm. Its ratio is the online lower bound if
    jobs may stop coming at any time.

    Ctrl-C ends the search with the case found so far; with --store the same command continues it.
    The case is written before it is shrunk, and again after.
    """
    from optsched.adversary.case import SearchFacts
    from optsched.adversary.search import adversarial
    from optsched.evaluation.instance_files import instance_from_file
    from optsched.instances.document import save
    from optsched.parallel.local import cores
    from optsched.study.store import Store

    found, call = target(name, heuristic)
    where = found.name if heuristic is None else found
    typed = extra_options(context.args)
    options = found.generator_call(typed)
    if seconds is not None and evaluations is not None:
        raise InputError.of("--evaluations", evaluations, "either --seconds or --evaluations")
    check_target(output)
    check_target(store)
    given = {"--instance": instance, "--mapping": mapping}
    check_apart({"--output": output, "--store": store}, named_files(typed) | given)
    start = None if instance is None else instance_from_file(found, instance, mapping)
    if evaluations is None and seconds is None:
        seconds = SECONDS

    with nullcontext() if store is None else Store.open(store) as kept:
        search = adversarial(
            call,
            options,
            problem=where,
            evaluations=evaluations,
            seconds=seconds,
            seed=seed,
            reference=reference,
            runs=seeds,
            instance=start,
            workers=workers or cores(),
            store=kept,
            progress=_tell,
        )
    judge, space = _judge(where, call, options, reference, seeds and range(seeds))
    document, interrupted = search.document, search.interrupted
    facts = SearchFacts(seed=seed, evaluated=search.evaluated, seconds=search.seconds)
    make = partial(_case, judge, space, options, facts)
    if interrupted:
        say(f"interrupted: what {search.evaluated} candidates show is written as it is")
    elif shrink:
        try:
            if output is not None:  # whatever becomes of the rest
                with suppress(InputError):
                    save(make(document, True), output)
            document, interrupted = _shrunk(judge, space, document, search.score)
        except KeyboardInterrupt:
            say("interrupted: it is written without waiting for a proof")
            interrupted = True
    _finish(partial(make, document), interrupted, output, json)


def _tell(search: Search) -> None:
    say(f"{search.evaluated} candidates, worst so far {cell(search.score.low)}")


CaseHeuristic = Annotated[
    str | None,
    option("The heuristic of the case, if it is in a Python file.", metavar="FILE.py:NAME"),
]
Shrink = Annotated[
    bool, typer.Option("--shrink", help="Shrink the instance of the case and write it.")
]
Why = Annotated[
    bool, typer.Option("--why", help="Show the ratio after single changes of the case.")
]
Plot = Annotated[Path | None, option("Picture of both schedules (png, pdf, svg), with --why.")]


def check(
    case_file: CaseFile,
    heuristic: CaseHeuristic = None,
    shrink: Shrink = False,
    why: Why = False,
    plot: Plot = None,
    output: Output = None,
    json: Json = False,
) -> None:
    """Check a case: run the heuristic again, check both schedules, verify the proof.

    --shrink makes the instance smaller and its numbers rounder; the ratio never falls. --why
    changes one thing at a time (an option, an entry, a value) and shows the ratio that remains.
    Exits 0 if the ratio is at least what the case says, else 1.
    """
    if shrink and (why or plot is not None):
        raise InputError.of("--shrink", shrink, "not together with --why or --plot")
    if output is not None and not shrink:
        raise InputError.of("--output", str(output), "only with --shrink")
    if shrink:
        _shrink(case_file, heuristic, output, json)
    elif why or plot is not None:
        _explain(case_file, heuristic, plot, json)
    else:
        _derive(case_file, heuristic, json)


def _derive(case_file: Path, heuristic: str | None, json: bool) -> None:
    """Derive a case again: run the heuristic, check both schedules, verify the proof.

    Exits 0 if the ratio is at least what the case says, else 1.
    """
    from optsched.adversary.case import Case, check_case
    from optsched.adversary.online_bound import check_online_bound_case

    case = _load(case_file)
    with waiting(f"deriving {case_file} again"):
        checked = (
            check_case(case, heuristic) if isinstance(case, Case) else check_online_bound_case(case)
        )
    if json:
        print_json(checked.model_dump())
    else:
        low = "infinite" if checked.ratio_low is None else f"at least {checked.ratio_low:.6g}"
        if checked.optimum == "proven" and checked.ratio_high is not None:
            low += f", at most {checked.ratio_high:.6g}"
            low += (
                " (the optimum is proven)"
                if isinstance(case, Case)
                else " (the online lower bound is proven)"
            )
        typer.echo(f"ratio {low}")
        for complaint in checked.complaints:
            typer.echo(f"does not hold: {complaint}")
    raise typer.Exit(YES if checked.holds else NO)


def _shrink(case_file: Path, heuristic: str | None, output: Path | None, json: bool) -> None:
    """Make the instance of a case smaller and its numbers rounder; its ratio never falls."""
    check_target(output)
    check_apart({"--output": output}, {"CASE": case_file})
    case = _load(case_file)
    where = case.problem if heuristic is None else target(case.problem, heuristic)[0]
    judge, space = _judge(where, case.heuristic, case.generator, case.reference, case.seeds)
    score = judge.document(case.instance)
    if score is None:
        raise InputError.of("instance", judge.failure or "refused", "one that has a ratio")
    document, interrupted = _shrunk(judge, space, case.instance, score)
    make = partial(_case, judge, space, case.generator, case.search)
    _finish(partial(make, document), interrupted, output, json)


def _explain(case_file: Path, heuristic: str | None, plot: Path | None, json: bool) -> None:
    """What the loss of a case hangs on: options flipped, entries left out, values made typical."""
    from optsched.adversary.why import why as changes_of

    check_picture(plot)
    check_apart({"--plot": plot}, {"CASE": case_file})
    case = _load(case_file)
    where = case.problem if heuristic is None else target(case.problem, heuristic)[0]
    judge, space = _judge(where, case.heuristic, case.generator, case.reference, case.seeds)
    with waiting("changing one thing after the other"):
        changes = changes_of(judge, space, case.instance)
    if plot is not None:
        from optsched.adversary.picture import both_schedules

        both_schedules(case).savefig(plot)
        say(f"wrote {plot}")
    if json:
        print_json({"case": _facts(case), "changes": [vars(change) for change in changes]})
        return
    typer.echo(case.sentence)
    print_table(
        ["change", "ratio at least", "at most", "cost"],
        [[one.change, one.ratio_low, one.ratio_high, one.cost] for one in changes[:SHOWN]],
        "the ratio after one change",
    )
    if len(changes) > SHOWN:
        say(f"{len(changes) - SHOWN} changes matter less; --json lists all")


def _load(path: Path) -> Case | OnlineBoundCase:
    from optsched.adversary.case import Case
    from optsched.adversary.online_bound import OnlineBoundCase
    from optsched.instances.document import load, read_json

    data = read_json(path)
    said = data.get("format") if isinstance(data, dict) else None
    if said == OnlineBoundCase.model_fields["format"].default:
        return load(OnlineBoundCase, path)
    return load(Case, path)


def _judge(
    problem: str | Problem, call: str, generator: Any, reference: str | None, seeds: Any = None
) -> tuple[Judge, Space]:
    from optsched.adversary import Hunt

    hunt = Hunt(problem, call, generator, reference)
    return hunt.judge(hunt.seeds() if seeds is None else seeds), hunt.space()


def _shrunk(judge: Judge, space: Space, document: Any, score: Score) -> tuple[Any, bool]:
    """The smallest instance reached, and whether that was where an interrupt came.

    A thread makes it small, as one candidate alone may take longer than all of them may.
    """
    from optsched.adversary.shrink import SECONDS as LIMIT
    from optsched.adversary.shrink import shrink as shrunk
    from optsched.solvers.threads import Call

    reached = [document]
    call = Call(
        lambda: shrunk(
            judge,
            space,
            document,
            score,
            seconds=LIMIT,
            progress=lambda one, _: reached.append(one),
        )
    )
    try:
        with waiting("making it small"):
            if call.ended(LIMIT + GRACE):
                call.result()
    except KeyboardInterrupt:
        say("interrupted: it is written as small as it is")
        return reached[-1], True
    finally:
        if not call.ended():
            call.interrupt()
    return reached[-1], False


def _finish(
    make: Callable[[bool], Case | OnlineBoundCase],
    interrupted: bool,
    output: Path | None,
    json: bool,
) -> None:
    """Make a case, write and show it; an interrupt before or meanwhile makes it a hurry."""
    try:
        case = make(interrupted)
    except KeyboardInterrupt:
        if interrupted:
            raise
        say("interrupted: it is written without waiting for a proof")
        case, interrupted = make(True), True
    _show(case, output, json)
    if interrupted:
        raise typer.Exit(INTERRUPTED)


def _case(
    judge: Judge, space: Space, generator: Any, search: Any, document: Any, hurry: bool
) -> Case | OnlineBoundCase:
    """The case; in a hurry, with the proof that is found at once, if any is."""
    from optsched.adversary.case import PROOF_SECONDS, make_case
    from optsched.adversary.online_bound import OnlineBoundJudge, make_online_bound_case

    make = make_online_bound_case if isinstance(judge, OnlineBoundJudge) else make_case
    seconds = HURRIED if hurry else PROOF_SECONDS
    with waiting("proving what was found"):
        return make(judge, space, generator, document, search=search, proof_seconds=seconds)


def _facts(case: Case | OnlineBoundCase) -> dict[str, Any]:
    from optsched.adversary.case import Case

    shown = case.model_dump(include={"problem", "heuristic", "cost", "incumbent", "status"})
    if isinstance(case, Case):
        shown["optimum"] = "proven" if case.proof is not None else case.status
    else:
        shown["lower bound"] = "proven" if case.proof is not None else "by a solver"
    return {
        **shown,
        "ratio at least": "infinite" if case.ratio_low is None else case.ratio_low,
        "ratio at most": case.ratio_high,
        "candidates": None if case.search is None else case.search.evaluated,
        "outside": ", ".join(case.outside),
        "says": case.sentence,
    }


def _show(case: Case | OnlineBoundCase, output: Path | None, json: bool) -> None:
    from optsched.instances.document import save

    if output is not None:
        save(case, output)
    if json:
        print_json(case.model_dump() if output is None else _facts(case))
        return
    print_facts(_facts(case))
    if output is not None:
        say(f"wrote {output}")
