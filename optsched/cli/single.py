"""Commands that make a schedule of one instance: ``solve`` and ``run``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from optsched.cli.check import answer_with
from optsched.cli.console import (
    NO,
    YES,
    InstanceFile,
    Json,
    MappingFile,
    Output,
    Seed,
    Solver,
    TimeLimit,
    argument,
    check_apart,
    check_target,
    option,
    print_facts,
    print_json,
    print_table,
    say,
)
from optsched.cli.names import (
    HeuristicName,
    OwnHeuristic,
    complete_formulation,
    problem_of,
    target,
)
from optsched.cli.progress import progress, waiting
from optsched.errors import InputError, ModelError

if TYPE_CHECKING:
    from optsched.problem import ExactMethod, Formulation, Problem
    from optsched.solvers.answer import Answer

FormulationName = Annotated[
    str,
    argument(
        "What to solve, and how.",
        metavar="PROBLEM.FORMULATION",
        autocompletion=complete_formulation,
    ),
]
MemoryLimit = Annotated[
    float | None,
    option("Memory limit; a separate process then builds and solves.", metavar="GIB"),
]
Gap = Annotated[float, typer.Option(help="Relative gap to stop at; 0 asks for a proof.")]
Threads = Annotated[int, typer.Option(help="Threads of the solver.")]
Start = Annotated[Path | None, option("Schedule file to start from.")]
ProofFile = Annotated[
    Path | None,
    option(
        "File to write a proof in exact arithmetic to, for 'check --proof'. The proof has the "
        "same time limit again."
    ),
]
Values = Annotated[
    bool, typer.Option("--values", help="Show the variables of the model that are not 0.")
]
Log = Annotated[bool, typer.Option("--log", help="Show the solver's own log.")]


def solve(
    name: FormulationName,
    instance_file: InstanceFile,
    solver: Solver = None,
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
    gap: Gap = 0.0,
    threads: Threads = 1,
    seed: Seed = 0,
    start: Start = None,
    proof: ProofFile = None,
    output: Output = None,
    values: Values = False,
    log: Log = False,
    json: Json = False,
) -> None:
    """Solve an instance to proven optimality, or as far as the limits allow.

    Exits 0 with a feasible point, 1 without one, or without the proof asked for.
    """
    from optsched.evaluation.runs import check_solver
    from optsched.instances.document import load, save
    from optsched.solvers.options import Options

    found, call = target(name)
    formulation, own = found.formulation(call)
    options = Options(
        time_limit=time_limit,
        memory_limit=memory_limit,
        gap=gap,
        threads=threads,
        seed=seed,
        log=log and not json,
    )
    formulation.check_supported(solver, options, None if start is None else str(start))
    check_solver(solver or formulation.solver)
    if output is not None and formulation.relaxation:
        raise InputError.of("--output", str(output), f"{call} is a relaxation: it has no schedule")
    check_target(output)
    check_target(proof)
    check_apart(
        {"--output": output, "--proof": proof}, {"INSTANCE": instance_file, "--start": start}
    )
    if proof is not None:
        from optsched.evaluation.proofs import proven_by

        proven_by(found, call)
    instance = load(found.instance_type, instance_file)
    first = None if start is None else _start(found, instance, start)
    with waiting(f"solving {name}"):
        answer = found.solve(call, instance, solver=solver, options=options, start=first)
    _show(answer, found.unit, values, json)
    if answer.solution.status == "infeasible" and not json:
        _explain(formulation, instance, own)
    if output is not None and answer.schedule is not None:
        save(answer.schedule, output)
        say(f"wrote {output}")
    accepted = answer.solution.has_point and answer.solution.status in STANDING
    if proof is not None:
        with waiting("proving"):
            accepted &= _write_proof(found, call, instance, answer, time_limit, proof)
    raise typer.Exit(YES if accepted else NO)


EXPLAINED = 10.0
"""Seconds in which the constraints that cannot all hold are looked for."""


def _explain(method: Formulation | ExactMethod, instance: Any, own: Mapping[str, Any]) -> None:
    """Say with which options a model has no point, and which constraints exclude every point."""
    from optsched.analysis.explain import explain
    from optsched.problem import Formulation

    if not isinstance(method, Formulation):
        return
    options = {name: own.get(name, value) for name, value in (method.takes() or {}).items()}
    told = ", ".join(f"{name}={value!r}" for name, value in options.items())
    with waiting("looking for the constraints that exclude every point"):
        blocks = explain(method.build(instance, **own), time_limit=EXPLAINED).blocks
    named = ", ".join(f"({block})" for block in blocks)
    why = f": {named} cannot {'all ' * (len(blocks) > 1)}hold" if blocks else ""
    say(f"no point of {method.source}{f' with {told}' if told else ''} is feasible{why}")


STANDING = ("optimal", "feasible", "interrupted")
"""Statuses that leave a point standing."""


def _show(answer: Answer, unit: str, values: bool, json: bool) -> None:
    import numpy as np

    solution = answer.solution
    facts = {**solution.summary(), "interpretation": answer.interpretation}
    facts |= {"limit": solution.limit, "message": solution.message}
    point = {name: np.asarray(value) for name, value in solution.values.items()} if values else {}
    if json:
        more = {"values": {k: v.tolist() for k, v in point.items()}} if values else {}
        print_json({**facts, "nodes": solution.nodes, "unit": unit, **more})
        return
    print_facts({**facts, "unit": unit})
    entries = [
        (f"{name}{list(where) if where else ''}", float(value[where]))
        for name, value in point.items()
        for where in map(tuple, np.argwhere(value).tolist())
    ]
    if values:
        print_table(["variable", "value"], entries)


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


def run(
    name: HeuristicName,
    instance_file: InstanceFile,
    heuristic: OwnHeuristic = None,
    mapping: MappingFile = None,
    seed: Seed = 0,
    output: Output = None,
    json: Json = False,
) -> None:
    """Run a heuristic, check its schedule, and evaluate its cost.

    "mine.py:worst_fit" alone is a heuristic of the problem that INSTANCE is of.

    The check allows the schedule what the heuristic may use, such as its speed. INSTANCE may be a
    table, see "optsched import". Exits 0 if the schedule is feasible, else 1.
    """
    from optsched.evaluation.heuristic_run import run_heuristic
    from optsched.evaluation.instance_files import instance_from_file
    from optsched.instances.document import save
    from optsched.problem.progress import reported_to

    if heuristic is None and ".py:" in name:
        name, heuristic = problem_of(instance_file), name
    found, call = target(name, heuristic)
    found.heuristic(call)
    check_target(output)
    check_apart({"--output": output}, {"INSTANCE": instance_file, "--mapping": mapping})
    instance = instance_from_file(found, instance_file, mapping)
    with (
        progress(f"running {name}", "jobs") as show,
        reported_to(lambda done, planned: show(done, planned, None)),
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
    answer_with(facts, trial.violations, json, {**vars(trial.time), "unit": found.unit})
