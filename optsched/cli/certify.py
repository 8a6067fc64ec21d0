"""``certify``: a paper's lemmas and theorems, evaluated on one instance and one schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from optsched.cli.console import (
    NO,
    YES,
    InstanceFile,
    Json,
    cell,
    print_facts,
    print_json,
    print_table,
)
from optsched.cli.names import ProblemName
from optsched.cli.progress import waiting
from optsched.errors import InputError

if TYPE_CHECKING:
    from optsched.problem.certificate import Certificate


def certify(
    problem_name: ProblemName,
    instance_file: InstanceFile,
    schedule_file: Annotated[
        Path, typer.Argument(metavar="SCHEDULE", help="Schedule file (JSON).", show_default=False)
    ],
    json: Json = False,
) -> None:
    """Evaluate the paper's lemmas and theorems on a schedule: which hold, and by how much.

    Exits 0 where all that should hold here does, 1 where something does not. Claims that a paper
    prints without a proof that holds are reported only. JSON brings the evidence with it, such
    as dual variables.
    """
    from optsched.instances.document import load
    from optsched.problem import problem
    from optsched.problem.certificate import all_expected_hold

    found = problem(problem_name)
    if found.certify is None:
        raise InputError.of("PROBLEM", problem_name, "knows no lemmas or theorems to certify")
    instance = load(found.instance_type, instance_file)
    schedule = load(found.schedule_type, schedule_file)
    with waiting(f"evaluating the statements on {problem_name}"):
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
