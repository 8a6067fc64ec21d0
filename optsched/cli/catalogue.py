"""``optsched problems``, ``solvers`` and ``schema``: what there is."""

from __future__ import annotations

import inspect
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from optsched.cli.console import Json, print_facts, print_json, print_table, say
from optsched.cli.names import ProblemName, complete_problem, method_options, option_lines

if TYPE_CHECKING:
    from optsched.problem import Problem


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
    json: Json = False,
) -> None:
    """List the problems and the solvers found; of one problem, every name it has; of one of its
    formulations, every option.

    JSON says all of every problem.
    """
    from optsched.problem import problem
    from optsched.problem import problems as all_problems
    from optsched.solvers.registry import available

    found = all_problems() if name is None else {name: problem(name)}
    if name is not None and method is not None:
        chosen, _ = found[name].formulation(method)
        lines = method_options(chosen)
        if json:
            heads = ("option", "type", "default", "description")
            print_json({"options": [dict(zip(heads, line, strict=True)) for line in lines]})
            return
        print_facts({"name": chosen.name, "summary": chosen.summary, "source": chosen.source})
        print_table(["option", "type", "default", "meaning"], lines, "options of the method")
        return
    solvers = available()
    if json:
        listed = [{"name": solver, "version": version} for solver, version in solvers.items()]
        print_json({"problems": [_card(p) for p in found.values()], "solvers": listed})
        return
    if name is not None:
        _show(found[name])
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
            "solvers": ", ".join(f"{key} {one}" for key, one in solvers.items()),
            "further": "one problem's methods, generator and presets: optsched problems PROBLEM",
        }
    )


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
                "honours": sorted(f.honours),
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
    print_table(
        ["option", "type", "default", "meaning"], option_lines(problem), "options of its generator"
    )
    if card["presets"]:
        listed = [(preset["name"], preset["summary"]) for preset in card["presets"]]
        print_table(["preset", "what it is"], listed, "studies of optsched ratio")


def solvers(json: Json = False) -> None:
    """List the solvers this machine has, their versions and what each takes as it is."""
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


def schema(
    problem_name: ProblemName,
    fields: Annotated[
        bool,
        typer.Option("--fields", help="Print the instance's fields as a table in Markdown."),
    ] = False,
    json: Json = False,
) -> None:
    """Print the JSON schema of a problem's instance and schedule files, or a table of fields."""
    from optsched.errors import InputError
    from optsched.instances.declared import Declared
    from optsched.instances.document import schema as schema_of
    from optsched.instances.fields import field_table
    from optsched.problem import problem

    found = problem(problem_name)
    if fields:
        if not issubclass(found.instance_type, Declared):
            raise InputError.of("fields", problem_name, "a problem whose instance declares them")
        typer.echo(field_table(found.instance_type))
        return
    print_json(
        {
            "instance": schema_of(found.instance_type),
            "schedule": schema_of(found.schedule_type),
        }
    )
