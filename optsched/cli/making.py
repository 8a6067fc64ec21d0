"""Commands that make instance files: ``generate`` and ``import``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from optsched.cli.console import (
    Json,
    MappingFile,
    Output,
    Seed,
    argument,
    check_apart,
    check_target,
    option,
    print_json,
    say,
)
from optsched.cli.names import ProblemName, extra_options, named_files
from optsched.cli.progress import waiting
from optsched.errors import InputError

Columns = Annotated[
    list[str] | None,
    option(
        "Column of a field, with a factor to its unit or with the column's unit: "
        '"release_time=submitted/3600" or "release_time=submitted in ms".',
        metavar="FIELD=COLUMN",
    ),
]


def generate(
    context: typer.Context,
    problem_name: ProblemName,
    seed: Seed = 0,
    output: Output = None,
    json: Json = False,
) -> None:
    """Make a random instance; the same seed and options give the same instance."""
    from optsched.evaluation.runs import instance_rng
    from optsched.instances.document import dumps, save
    from optsched.problem import problem

    typed = extra_options(context.args)
    found = problem(problem_name)
    options = found.generator_call(typed)
    check_target(output)
    check_apart({"--output": output}, named_files(typed))
    with waiting(f"generating an instance of {problem_name}"):
        instance = found.generate(instance_rng(seed), **options)
    if output is None:
        typer.echo(dumps(instance))
        return
    save(instance, output)
    facts = {"problem": problem_name, "seed": seed, "options": options, "file": str(output)}
    if json:
        print_json(facts)
    else:
        say(f"wrote {output}")


def import_(
    context: typer.Context,
    problem_name: ProblemName,
    table: Annotated[
        Path,
        argument(
            "CSV or Excel table, a line per job; a folder of --tables; or an instance file.",
            metavar="CSV",
        ),
    ],
    output: Output = None,
    tables: Annotated[
        Path | None,
        option("Folder to write the instance to as tables that this command reads again."),
    ] = None,
    column: Columns = None,
    entries: Annotated[
        str,
        typer.Option(
            help="The list whose entries are the lines of the table.", show_default="jobs"
        ),
    ] = "",
    unit: Annotated[
        str,
        typer.Option(
            help='Unit of all times without a factor or unit, such as "ms" or "min".',
            show_default="each field's own",
        ),
    ] = "",
    origin: Annotated[
        str,
        typer.Option(
            metavar="DATE",
            help='Time 0 of columns of dates, such as "2024-01-31 08:00".',
            show_default="the first date of each column",
        ),
    ] = "",
    mapping: MappingFile = None,
    save_mapping: Annotated[
        Path | None,
        option("File to write for --mapping: the columns and options typed here."),
    ] = None,
    json: Json = False,
) -> None:
    """Make an instance file from a table of your own, or tables from an instance.

    "optsched problems PROBLEM --fields" lists the fields and their units. Everything that is not in
    the table is an option. A list is a CSV file (--workers workers.csv, whose column "count" may
    stand for equal lines), JSON, or a number of entries (--edge-servers 3). A single field is its
    value (--slot-hours 0.5). --mapping reads all of this from a file; options typed override it.
    """
    from optsched.instances.document import load, save
    from optsched.instances.exporting import MAPPING
    from optsched.instances.importing import read_table
    from optsched.instances.mapping import TableMapping
    from optsched.instances.text_files import is_table
    from optsched.problem import problem

    found = problem(problem_name)
    more = extra_options(context.args)
    if output is None and tables is None:
        raise InputError.of("--output", "(missing)", "a file to write, or --tables FOLDER")
    check_target(output)
    check_target(save_mapping)
    check_target(None if tables is None else tables / MAPPING)
    folder = table if table.is_dir() else None
    if folder is not None and mapping is None:
        mapping = folder / MAPPING
    check_apart(
        {"--output": output, "--save-mapping": save_mapping},
        {"CSV": table, "--mapping": mapping if mapping != save_mapping else None}
        | named_files(more),
    )
    known = TableMapping() if mapping is None else TableMapping.read(mapping)
    told = TableMapping(
        columns=known.columns | dict(_equation(text) for text in column or ()),
        entries=entries or known.entries,
        unit=unit or known.unit,
        origin=origin or known.origin,
        fields=known.fields | more,
    )
    if folder is not None:
        table = folder / f"{told.entries}.csv"
    if is_table(table):
        instance = told.instance(found, read_table(table))
    else:
        instance = load(found.instance_type, table)
    files = [] if tables is None else _save_tables(found.tables_of(instance), tables, table)
    if output is not None:
        save(instance, output)
        files.append(output)
    if save_mapping is not None:
        told.save(save_mapping)
        say(f"wrote {save_mapping}")
    if json:
        file = None if output is None else str(output)
        print_json({"problem": problem_name, "file": file, "files": [str(one) for one in files]})
    else:
        say(f"wrote {', '.join(map(str, files))}")


def _save_tables(given: Mapping[str, Any], folder: Path, source: Path) -> list[Path]:
    """Write tables to a folder, unless one of them would replace what they were read from."""
    from optsched.instances.exporting import MAPPING, save_tables

    written = {f"--tables, {name}": folder / f"{name}.csv" for name in given}
    check_apart(written | {"--tables": folder / MAPPING}, {"CSV": source})
    return save_tables(given, folder)


def _equation(text: str) -> tuple[str, str]:
    field, equals, column = text.partition("=")
    if not (field.strip() and equals and column.strip()):
        raise InputError.of("--column", text, "must read FIELD=COLUMN")
    return field.strip(), column.strip()
