"""``optsched problems`` and ``optsched solvers``: lists of what is installed."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from optsched.cli.console import Json, print_facts, print_json, print_table, say
from optsched.cli.names import complete_problem, method_options, option_lines
from optsched.errors import InputError

if TYPE_CHECKING:
    from optsched.problem import ExactMethod, Formulation, Problem


def problems(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[PROBLEM]", help="Show only this one.", autocompletion=complete_problem
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Argument(metavar="[METHOD]", help="Show the options of this formulation only."),
    ] = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of PROBLEM's files.")
    ] = False,
    fields: Annotated[
        bool, typer.Option("--fields", help="Print the fields of PROBLEM's instances in Markdown.")
    ] = False,
    equations: Annotated[
        bool,
        typer.Option(
            "--equations", help="Print where PROBLEM's models, or METHOD, have the paper's numbers."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """List the problems, the names of one problem, or the options of one method.

    --json prints all of it for every problem, and the solvers.
    """
    from optsched.problem import problem

    if name is None:
        if schema or fields or equations:
            allowed = "must be named with --schema, --fields and --equations"
            raise InputError.of("PROBLEM", None, allowed)
        _show_all(json)
    elif schema or fields:
        _show_files(problem(name), fields)
    elif equations:
        _show_equations(problem(name), method or "", json)
    elif method is not None:
        _show_method(problem(name).formulation(method)[0], json)
    elif json:
        _print_cards([problem(name)])
    else:
        _show(problem(name))


def _show_all(json: bool) -> None:
    from optsched.problem import problems as all_problems

    found = all_problems()
    if json:
        _print_cards(found.values())
        return
    kinds = ("formulations", "bounds", "heuristics")
    rows = [
        (key, f"{p.summary} ({', '.join(f'{len(getattr(p, k))} {k}' for k in kinds)})")
        for key, p in found.items()
    ]
    print_table(["problem", "what it is"], rows)
    typer.echo()
    print_facts(
        {
            "further": "one problem's methods, generator and presets: optsched problems PROBLEM",
            "solvers": "optsched solvers",
        }
    )


def _show_files(problem: Problem, fields: bool) -> None:
    """Print how the files of a problem are made up."""
    from optsched.instances.declared import Declared
    from optsched.instances.document import schema
    from optsched.instances.fields import field_table

    if not fields:
        files = {"instance": problem.instance_type, "schedule": problem.schedule_type}
        print_json({name: schema(kind) for name, kind in files.items()})
    elif issubclass(problem.instance_type, Declared):
        typer.echo(field_table(problem.instance_type))
    else:
        raise InputError.of("fields", problem.name, "a problem whose instance declares them")


def _show_equations(problem: Problem, method: str, json: bool) -> None:
    """Print where each number is in a model."""
    equations = problem.equations(method)
    if not equations:
        allowed = "a problem whose models know the numbers of a paper"
        raise InputError.of("--equations", problem.name, allowed)
    if json:
        print_json({"equations": [asdict(one) for one in equations]})
        return
    for model in dict.fromkeys(one.model for one in equations):
        rows = [
            (f"({one.number})", ", ".join(one.names), one.reason or "; ".join(one.formulas))
            for one in equations
            if one.model == model
        ]
        print_table(["number", "stands in", "as, or why not"], rows, model)


def _show_method(method: Formulation | ExactMethod, json: bool) -> None:
    lines = method_options(method)
    if json:
        heads = ("option", "type", "default", "description")
        print_json({"options": [dict(zip(heads, line, strict=True)) for line in lines]})
        return
    print_facts({"name": method.name, "summary": method.summary, "source": method.source})
    print_table(["option", "type", "default", "meaning"], lines, "options of the method")


def _print_cards(problems: Iterable[Problem]) -> None:
    from optsched.solvers.registry import available

    solvers = [{"name": solver, "version": version} for solver, version in available().items()]
    print_json({"problems": [_card(one) for one in problems], "solvers": solvers})


def _card(problem: Problem) -> dict[str, Any]:
    from optsched.problem import ExactMethod
    from optsched.problem.calls import call_options
    from optsched.study.spec import presets

    return {
        "name": problem.name,
        "summary": problem.summary,
        "source": problem.source,
        "sense": problem.sense,
        "unit": problem.unit,
        "reference": problem.reference,
        "formulations": [
            {
                "name": key,
                "source": f.source,
                "summary": f.summary,
                "solver": f.solver,
                "relaxation": f.relaxation,
                "supports": sorted(f.supports),
                "options": _texts(f.takes()),
                "params": [*f.tunable] if isinstance(f, ExactMethod) else [],
            }
            for key, f in problem.formulations.items()
        ],
        "bounds": [
            {"name": key, "source": b.source, "summary": b.summary}
            for key, b in problem.bounds.items()
        ],
        "heuristics": [
            {
                "name": key,
                "source": h.source,
                "summary": h.summary,
                "online": h.is_online({}),
                "options": _texts(call_options(h.run, given=2)),
                "guarantees": [
                    {"against": g.against, "assumption": g.assumption, "source": g.source}
                    for g in h.guarantees
                ],
            }
            for key, h in problem.heuristics.items()
        ],
        "generator_options": [
            dict(zip(("option", "type", "default", "description"), line, strict=True))
            for line in option_lines(problem)
        ],
        "presets": [{"name": key, "summary": p.summary} for key, p in presets(problem).items()],
    }


def _texts(options: dict[str, Any] | None) -> dict[str, str]:
    """Defaults as they are typed."""
    return {
        name: "required" if default is inspect.Parameter.empty else repr(default)
        for name, default in (options or {}).items()
    }


def _show(problem: Problem) -> None:
    card = _card(problem)
    print_facts(
        {key: card[key] for key in ("name", "summary", "source", "sense", "unit", "reference")}
    )
    for kind in ("formulations", "bounds", "heuristics"):
        lines = []
        for entry in card[kind]:
            params = entry.get("params", ())
            options = [f"{k}={v}" for k, v in entry.get("options", {}).items() if k not in params]
            if params:
                options.append(f"{len(params)} of its search: optsched problems NAME METHOD")
            asks = f" [{', '.join(options)}]" if options else ""
            lines.append((entry["name"], f"{entry['summary']} ({entry['source']}){asks}"))
        if lines:
            print_table([kind[:-1], "what it is, (where it stands), [its options]"], lines)
    stated = [
        (one["name"], g["against"], f"{g['source']}; {g['assumption']}")
        for one in card["heuristics"]
        for g in one["guarantees"]
    ]
    if stated:
        print_table(
            ["heuristic", "against", "where it stands; its assumption"], stated, "guarantees"
        )
    print_table(
        ["option", "type", "default", "meaning"], option_lines(problem), "options of its generator"
    )
    if card["presets"]:
        listed = [(preset["name"], preset["summary"]) for preset in card["presets"]]
        print_table(["preset", "what it is"], listed, "studies of optsched ratio")


def solvers(json: Json = False) -> None:
    """List the solvers found, their versions, and the statements that each supports."""
    from optsched.solvers.inventory import inventory

    found = inventory()
    if json:
        print_json({"solvers": [asdict(one) for one in found]})
        return
    rows = [
        (one.name, one.version or "not found", ", ".join(one.native), one.summary) for one in found
    ]
    print_table(["solver", "version", "takes as it is", "what it is"], rows)
    for one in found:
        if one.missing:
            say(f"{one.name}: {one.missing}")
