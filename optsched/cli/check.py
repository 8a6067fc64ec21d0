"""``optsched check``: check a schedule, theorems on it, a proof, or that a heuristic is online."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from optsched.cli.console import (
    NO,
    YES,
    Json,
    MappingFile,
    Seed,
    argument,
    cell,
    console,
    option,
    print_facts,
    print_json,
    print_table,
    say,
)
from optsched.cli.names import (
    OwnHeuristic,
    complete_heuristic,
    complete_problem,
    extra_options,
    target,
)
from optsched.cli.progress import progress, waiting
from optsched.errors import InputError

if TYPE_CHECKING:
    from optsched.problem.certificate import Certificate
    from optsched.problem.violation import Violation

SHOWN = 20
"""Violations listed for people."""

_NO_PROOF = "must be a proof that 'solve --proof' wrote: the file holds something else"

_ONLINE = "With --online"
"""Part of the help."""


def _complete(incomplete: str) -> list[str]:
    """Return the problems that begin so, or a problem's heuristics."""
    return (complete_heuristic if "." in incomplete else complete_problem)(incomplete)


Named = Annotated[
    str,
    argument(
        "A problem; with --online PROBLEM.HEURISTIC.", metavar="PROBLEM", autocompletion=_complete
    ),
]
Instance = Annotated[Path | None, argument("Instance file (JSON).", metavar="INSTANCE")]
Schedule = Annotated[Path | None, argument("Schedule file (JSON).", metavar="SCHEDULE")]
Speed = Annotated[
    float | None,
    option("Speed of the machines, for algorithms under speed augmentation."),
]
Theorems = Annotated[
    bool,
    typer.Option("--theorems", help="Evaluate the paper's lemmas and theorems on the schedule."),
]
ProofFile = Annotated[Path | None, option("Check the proof that 'solve --proof' wrote.", "--proof")]
Online = Annotated[
    bool, typer.Option("--online", help="Look for decisions that depend on later jobs.")
]
Seeds = Annotated[
    int,
    typer.Option(
        "--seeds",
        "--instances",
        min=1,
        help="Number of generated instances.",
        rich_help_panel=_ONLINE,
    ),
]
Changes = Annotated[
    int,
    typer.Option(
        min=0,
        help="Changed futures tried at each arrival, besides none at all.",
        rich_help_panel=_ONLINE,
    ),
]


def check(
    context: typer.Context,
    name: Named,
    instance_file: Instance = None,
    schedule_file: Schedule = None,
    speed: Speed = None,
    theorems: Theorems = False,
    proof: ProofFile = None,
    online: Online = False,
    heuristic: OwnHeuristic = None,
    mapping: MappingFile = None,
    seeds: Seeds = 5,
    changes: Changes = 2,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """List every constraint of the paper that a schedule violates, and evaluate its cost.

    --theorems says which of the paper's lemmas and theorems hold on the schedule, and by how much.
    A statement without a valid proof does not change the exit code. --json adds the evidence, such
    as dual variables.

    --proof checks a proof in exact arithmetic, and its schedule, against an instance. The model is
    built again from the instance.

    --online tests whether a heuristic looks ahead. At every arrival, the later jobs of INSTANCE (or
    of generated instances) are removed or changed; earlier decisions must stay the same. A
    difference proves that it looks ahead. Finding none proves nothing.

    Exits 0 if every check passes, else 1.
    """
    if (theorems, proof is not None, online).count(True) > 1:
        raise InputError.of("--online", online, "only one of --theorems, --proof and --online")
    if online:
        _check_online(context, name, heuristic, instance_file, mapping, seeds, changes, seed, json)
    for option_name, given in (("--heuristic", heuristic), ("--mapping", mapping)):
        if given is not None:
            raise InputError.of(option_name, str(given), "only with --online")
    for extra, value in extra_options(context.args).items():
        raise InputError.of(f"--{extra}", value, "no option of check without --online")
    if instance_file is None:
        _missing(context, "INSTANCE")
    if proof is not None:
        _check_proof(name, instance_file, proof, json)
    if schedule_file is None:
        _missing(context, "SCHEDULE")
    judge = _check_theorems if theorems else _check_schedule
    judge(name, instance_file, schedule_file, json, **({} if speed is None else {"speed": speed}))


def _missing(context: typer.Context, argument: str) -> NoReturn:
    raise typer.BadParameter(f"{argument} is missing", context)


def _check_proof(name: str, instance_file: Path, proof_file: Path, json: bool) -> NoReturn:
    """Exit 0 if no schedule is better than the bound and the proof's own is as good, else 1."""
    from optsched.evaluation.proofs import check_proof
    from optsched.instances.document import load, read_json
    from optsched.problem import problem
    from optsched.proof import ProofError

    document = read_json(proof_file)
    if not isinstance(document, dict):
        raise InputError.of("file", str(proof_file), "must hold a proof")
    if "problem" not in document:
        raise InputError.of("format", document.get("format", "(missing)"), _NO_PROOF)
    found = problem(str(document["problem"]))
    if name != found.name:
        raise InputError.of("PROBLEM", name, f"the proof is of {found.name}")
    instance = load(found.instance_type, instance_file)
    try:
        with waiting("checking every node in exact arithmetic"):
            verdict = check_proof(found, instance, document)
    except ProofError as why:
        said, proven, facts = f"not proven: {why}", False, dict[str, Any]()
    else:
        said, proven = verdict.sentence(found.sense), verdict.closed
        facts = {
            "formulation": f"{found.name}.{verdict.formulation}",
            "bound": verdict.rounded_bound,
            "cost": verdict.cost,
        }
    if json:
        print_json({"proven": proven, **facts, "unit": found.unit, "message": said})
    else:
        of = f" ({facts['formulation']})" if facts else ""
        console().print(said + of, markup=False, soft_wrap=True)
    raise typer.Exit(YES if proven else NO)


def _check_theorems(
    name: str, instance_file: Path, schedule_file: Path, json: bool, **granted: float
) -> NoReturn:
    """Exit 0 if all holds that should hold on the schedule, else 1."""
    from optsched.instances.document import load
    from optsched.problem import problem
    from optsched.problem.certificate import all_expected_hold

    found = problem(name)
    if found.certify is None:
        raise InputError.of("PROBLEM", name, "knows no lemmas or theorems to certify")
    if granted:
        raise InputError.of("--speed", granted["speed"], "not together with --theorems")
    instance = load(found.instance_type, instance_file)
    schedule = load(found.schedule_type, schedule_file)
    with waiting(f"evaluating the statements on {name}"):
        certificates = found.certify(instance, schedule)
    sound = all_expected_hold(certificates)
    if json:
        print_json({"sound": sound, "certificates": [asdict(one) for one in certificates]})
    else:
        print_facts({"sound": sound, **_counts(certificates)})
        print_table(
            ["statement", "says", "verdict", "must hold", "left", "right", "remark"],
            [_line(one) for one in certificates],
            "statements on the schedule",
        )
    raise typer.Exit(YES if sound else NO)


def _counts(certificates: Sequence[Certificate]) -> dict[str, int]:
    """How many statements there are of each verdict."""
    verdicts = [one.verdict for one in certificates]
    return {name.replace("_", " "): verdicts.count(name) for name in dict.fromkeys(verdicts)}


def _line(one: Certificate) -> tuple[Any, ...]:
    where = ", ".join(f"{name} {cell(value)}" for name, value in one.where.items())
    remark = "; ".join(text for text in (where and f"at {where}", one.detail) if text)
    verdict = one.verdict.replace("_", " ")
    return one.statement, one.claim, verdict, one.expected, one.left, one.right, remark


def _check_schedule(
    name: str, instance_file: Path, schedule_file: Path, json: bool, **granted: float
) -> NoReturn:
    """Exit 0 if the schedule breaks nothing, else 1."""
    from optsched.instances.document import load
    from optsched.problem import granted_check_options, problem
    from optsched.problem.calls import call_options

    found = problem(name)
    known = call_options(found.check, given=2)
    if granted and known is not None and "speed" not in known:
        raise InputError.of("--speed", granted["speed"], f"{name} knows no speed augmentation")
    instance = load(found.instance_type, instance_file)
    schedule = load(found.schedule_type, schedule_file)
    violations = found.check(instance, schedule, **granted)
    claimed = granted_check_options(found, schedule)
    if violations and not granted and claimed and not found.check(instance, schedule, **claimed):
        terms = ", ".join(f"{key}={value}" for key, value in claimed.items())
        say(f"the schedule is feasible only with what it was made with: {terms}")
    facts = {"feasible": not violations, "cost": found.cost(instance, schedule)}
    answer_with(facts, violations, json, {"unit": found.unit})


def answer_with(
    facts: dict[str, Any], violations: Sequence[Violation], json: bool, rest: dict[str, Any]
) -> NoReturn:
    """Print the verdict on a schedule and exit with it."""
    listed = [
        {"constraint": v.constraint, "index": dict(v.index), "amount": v.amount} for v in violations
    ]
    if json:
        print_json({**facts, "violations": listed, **rest})
    else:
        print_facts({**facts, **rest})
        worst = sorted(violations, key=lambda v: -v.amount)[:SHOWN]
        if worst:
            print_table(
                ["constraint", "where", "amount"],
                [
                    (v.constraint, ", ".join(f"{k} {x}" for k, x in v.index.items()), v.amount)
                    for v in worst
                ],
                f"violations: {len(listed)}, the worst {len(worst)}",
            )
    raise typer.Exit(YES if facts["feasible"] else NO)


def _check_online(
    context: typer.Context,
    name: str,
    heuristic: str | None,
    instance_file: Path | None,
    mapping: Path | None,
    seeds: int,
    changes: int,
    seed: int,
    json: bool,
) -> NoReturn:
    """Exit 0 if no decision is found that depends on jobs yet to arrive, else 1."""
    from functools import partial

    from optsched.evaluation.heuristic_run import traced
    from optsched.evaluation.instance_files import instance_from_file
    from optsched.evaluation.runs import instance_rng
    from optsched.online import anticipation

    found, call = target(name, heuristic)
    chosen, options = found.heuristic(call)
    asked = found.generator_call(extra_options(context.args))
    run = partial(chosen.run, **options)
    given = range(seed, seed + (1 if instance_file else seeds))
    ahead, tried = None, 0
    with progress(f"checking {name}", "instances") as show:
        for number in given:
            if instance_file is None:
                instance = found.generate(instance_rng(number), **asked)
            else:
                instance = instance_from_file(found, instance_file, mapping)
            try:
                ahead = anticipation(found, run, instance, seed=number, changes=changes)
            except InputError:
                raise
            except Exception as error:  # the heuristic may raise anything
                say(f"{call} failed in frames of its own:\n{traced(error)}".rstrip())
                raise typer.Exit(NO) from None
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
