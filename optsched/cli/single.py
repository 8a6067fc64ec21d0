"""Commands on one instance: ``solve``, ``verify``, ``run``, ``check``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from optsched.cli.console import (
    NO,
    YES,
    InstanceFile,
    Json,
    Output,
    Seed,
    Solver,
    TimeLimit,
    check_apart,
    check_target,
    console,
    print_facts,
    print_json,
    print_table,
    say,
)
from optsched.cli.names import (
    HeuristicName,
    ProblemName,
    complete_formulation,
    target,
)
from optsched.cli.progress import progress, waiting
from optsched.errors import InputError, ModelError

if TYPE_CHECKING:
    from optsched.problem import Problem
    from optsched.problem.violation import Violation
    from optsched.solvers.answer import Answer

SHOWN = 20
"""Violations listed for people."""

_NO_PROOF = "must be a proof that 'solve --proof' wrote: the file holds something else"


def solve(
    name: Annotated[
        str,
        typer.Argument(
            metavar="PROBLEM.FORMULATION",
            help="What to solve, and how.",
            show_default=False,
            autocompletion=complete_formulation,
        ),
    ],
    instance_file: InstanceFile,
    solver: Solver = None,
    time_limit: TimeLimit = None,
    memory_limit: Annotated[
        float | None,
        typer.Option(
            metavar="GIB",
            help="Memory of a process of its own that builds and solves.",
            show_default=False,
        ),
    ] = None,
    gap: Annotated[float, typer.Option(help="Relative gap to stop at; 0 asks for a proof.")] = 0.0,
    threads: Annotated[int, typer.Option(help="Threads of the solver.")] = 1,
    seed: Seed = 0,
    start: Annotated[
        Path | None, typer.Option(help="Schedule file to start from.", show_default=False)
    ] = None,
    proof: Annotated[
        Path | None,
        typer.Option(
            help="File to write a proof in exact arithmetic to, for 'verify'; it may take as long "
            "again as the limit.",
            show_default=False,
        ),
    ] = None,
    output: Output = None,
    log: Annotated[bool, typer.Option("--log", help="Show the solver's own log.")] = False,
    json: Json = False,
) -> None:
    """Solve an instance to proven optimality, or as far as the limits allow.

    Exits 0 with a feasible point, 1 without one, or without the proof asked for.
    """
    from optsched.evaluation.proofs import proven_by
    from optsched.evaluation.runs import check_solver
    from optsched.instances.document import load, save
    from optsched.solvers.options import Options

    found, call = target(name)
    formulation, _ = found.formulation(call)
    options = Options(
        time_limit=time_limit,
        memory_limit=memory_limit,
        gap=gap,
        threads=threads,
        seed=seed,
        log=log and not json,
    )
    formulation.check_honoured(solver, options, None if start is None else str(start))
    check_solver(solver or formulation.solver)
    if output is not None and formulation.relaxation:
        raise InputError.of("--output", str(output), f"{call} is a relaxation: it has no schedule")
    check_target(output)
    check_target(proof)
    check_apart(
        {"--output": output, "--proof": proof}, {"INSTANCE": instance_file, "--start": start}
    )
    if proof is not None:
        proven_by(found, call)
    instance = load(found.instance_type, instance_file)
    first = None if start is None else _start(found, instance, start)
    with waiting(f"solving {name}"):
        answer = found.solve(call, instance, solver=solver, options=options, start=first)
    solution = answer.solution
    facts = {**solution.summary(), "interpretation": answer.interpretation}
    facts |= {"limit": solution.limit, "message": solution.message}
    if json:
        print_json({**facts, "nodes": solution.nodes, "unit": found.unit})
    else:
        print_facts({**facts, "unit": found.unit})
    if output is not None and answer.schedule is not None:
        save(answer.schedule, output)
        say(f"wrote {output}")
    accepted = solution.status in ("optimal", "feasible", "interrupted") and solution.has_point
    if proof is not None:
        with waiting("proving"):
            accepted &= _write_proof(found, call, instance, answer, time_limit, proof)
    raise typer.Exit(YES if accepted else NO)


def _start(found: Problem, instance: Any, path: Path) -> Any:
    """The schedule to start from, granted what a heuristic made it with, such as its speed.

    Raises:
        InputError: it is of another instance.
    """
    from optsched.instances.document import load
    from optsched.problem import granted_check_options
    from optsched.problem.violation import describe

    schedule = load(found.schedule_type, path)
    violations = found.check(instance, schedule, **granted_check_options(found, schedule))
    if violations:
        allowed = f"a feasible schedule of this instance: it {describe(violations)}"
        raise InputError.of("--start", str(path), allowed)
    return schedule


def _write_proof(
    found: Problem, call: str, instance: Any, answer: Answer, seconds: float | None, target: Path
) -> bool:
    """Whether there is one."""
    import json

    from optsched.evaluation.proofs import nodes, prove
    from optsched.instances.document import write_text
    from optsched.proof import NotProvenError, ProofError

    try:
        document = prove(found, call, instance, answer, seconds)
    except (NotProvenError, ProofError, ModelError) as why:
        say(f"not proven: {why}")
        return False
    write_text(target, json.dumps(document, separators=(",", ":")) + "\n")
    say(f"wrote {target}: {nodes(document)} nodes")
    return True


def verify(
    instance_file: InstanceFile,
    proof_file: Annotated[
        Path, typer.Argument(metavar="PROOF", help="Proof file (JSON).", show_default=False)
    ],
    json: Json = False,
) -> None:
    """Check a proof in exact arithmetic, and its schedule, against an instance.

    The model is made anew from the instance. Exits 0 where no schedule is better than the bound
    and this one is as good, 1 where the proof does not hold or the two do not meet.
    """
    from optsched.evaluation.proofs import check_proof
    from optsched.instances.document import load, read_json
    from optsched.problem import problem
    from optsched.proof import ProofError

    document = read_json(proof_file)
    if not isinstance(document, dict):
        raise InputError.of("file", str(proof_file), "must hold a proof")
    if "problem" not in document:
        raise InputError.of("format", document.get("format", "(missing)"), _NO_PROOF)
    found = problem(str(document.get("problem")))
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


def run(
    name: HeuristicName,
    instance_file: InstanceFile,
    seed: Seed = 0,
    output: Output = None,
    json: Json = False,
) -> None:
    """Run a heuristic, and check and cost its schedule.

    The check grants the schedule what the heuristic is entitled to, such as its speed.
    Exits 0 where the schedule is feasible, 1 where it is not.
    """
    from optsched.evaluation.heuristic_run import run_heuristic
    from optsched.instances.document import load, save
    from optsched.problem.progress import heard_by

    found, call = target(name)
    found.heuristic(call)
    check_target(output)
    check_apart({"--output": output}, {"INSTANCE": instance_file})
    instance = load(found.instance_type, instance_file)
    with (
        progress(f"running {name}", "jobs") as show,
        heard_by(lambda done, planned: show(done, planned, None)),
    ):
        trial = run_heuristic(found, instance, call, seed)
    if isinstance(trial.error, InputError):
        raise trial.error
    if trial.error is not None or trial.schedule is None:
        own = f"failed in frames of its own:\n{trial.trace}".rstrip()
        say(f"{call} {own if trial.error is not None else trial.message}")
        raise typer.Exit(NO)
    if output is not None:
        save(trial.schedule, output)
        say(f"wrote {output}")
    facts = {
        "heuristic": call,
        "cost": trial.cost,
        "feasible": not trial.status,
        "feasible_offline": trial.offline,
        "offline_message": trial.offline_message,
    }
    _answer(facts, trial.violations, json, {**vars(trial.time), "unit": found.unit})


def check(
    problem_name: ProblemName,
    instance_file: InstanceFile,
    schedule_file: Annotated[
        Path, typer.Argument(metavar="SCHEDULE", help="Schedule file (JSON).", show_default=False)
    ],
    speed: Annotated[
        float | None,
        typer.Option(
            help="Speed granted to the schedule, for algorithms under speed augmentation.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List every constraint of the paper a schedule breaks, and evaluate its cost.

    Exits 0 where it breaks none, 1 where it does.
    """
    from optsched.instances.document import load
    from optsched.problem import granted_check_options, problem
    from optsched.problem.calls import call_options

    found = problem(problem_name)
    granted = {} if speed is None else {"speed": speed}
    known = call_options(found.check, given=2)
    if granted and known is not None and "speed" not in known:
        raise InputError.of("--speed", speed, f"{problem_name} knows no speed augmentation")
    instance = load(found.instance_type, instance_file)
    schedule = load(found.schedule_type, schedule_file)
    violations = found.check(instance, schedule, **granted)
    claimed = granted_check_options(found, schedule)
    if violations and not granted and claimed and not found.check(instance, schedule, **claimed):
        terms = ", ".join(f"{key}={value}" for key, value in claimed.items())
        say(f"the schedule is feasible only with what it was made with: {terms}")
    cost = found.cost(instance, schedule)
    _answer({"feasible": not violations, "cost": cost}, violations, json, {"unit": found.unit})


def _answer(
    facts: dict[str, Any], violations: Sequence[Violation], json: bool, rest: dict[str, Any]
) -> None:
    """Print the verdict on a schedule and exit with it."""
    listed: list[dict[str, Any]] = [
        {"constraint": v.constraint, "index": dict(v.index), "amount": v.amount} for v in violations
    ]
    if json:
        print_json({**facts, "violations": listed, **rest})
    else:
        print_facts({**facts, **rest})
        if listed:
            worst = sorted(listed, key=lambda v: -v["amount"])[:SHOWN]
            print_table(
                ["constraint", "where", "amount"],
                [
                    (
                        v["constraint"],
                        ", ".join(f"{k} {x}" for k, x in v["index"].items()),
                        v["amount"],
                    )
                    for v in worst
                ],
                f"violations: {len(listed)}, the worst {len(worst)}",
            )
    raise typer.Exit(YES if facts["feasible"] else NO)
