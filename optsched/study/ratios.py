"""``osd.ratios``: measure heuristics against the optimum, on given or generated instances."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from optsched.errors import InputError
from optsched.evaluation.heuristic_run import with_heuristics
from optsched.evaluation.instance_files import instance_from_file, instances_from
from optsched.evaluation.runs import check_names, starts
from optsched.parallel.local import Processes, Serial, cores
from optsched.problem import Heuristic, Problem
from optsched.solvers.options import Options
from optsched.study.distinct import plan_of_distinct
from optsched.study.engine import Engine
from optsched.study.pace import StudyProgress
from optsched.study.plan import Exact, StudyGrid, found
from optsched.study.reading import Ratios
from optsched.study.store import Store

Algorithm = str | Heuristic | Callable[..., Any]
"""A name with options, ``"a_online(epsilon=0.5)"``; a heuristic; a function (instance, rng) ->
schedule; a class of policies (``optsched.online.Policy``), which are handed jobs one by one."""


def ratios(
    problem: str | Problem,
    heuristics: Algorithm | Sequence[Algorithm] | None = None,
    *,
    instances: Any = None,
    grid: Mapping[str, Any] | None = None,
    seeds: Iterable[int] | int = 1,
    first_seed: int = 0,
    reference: str | None = None,
    bounds: Sequence[str] = (),
    solver: str | None = None,
    time_limit: float | None = None,
    options: Options | None = None,
    heuristic_limits: Options | None = None,
    prove: float = 0.0,
    workers: int | None = 1,
    store: str | Path | None = None,
    progress: Callable[[StudyProgress], None] | None = None,
) -> Ratios:
    """Run heuristics on instances and compare each with the offline optimum.

    If the optimum is not proven, the ratio is an interval: from the ratio to the best schedule
    found to the ratio to the best proven bound. There is one row per heuristic and instance, even
    if a heuristic, a bound or the solver fails. A generated instance depends on its seed and
    options only. Ctrl-C ends the measurement with the rows measured so far.

    Args:
        problem: its name, or the problem itself.
        heuristics: one or more: names with options, heuristics, functions (instance, rng) ->
            schedule, classes of policies; None: all the problem has.
        instances: an instance, a ``DataFrame`` with a line per job, a file (JSON, or a table with a
            line per job), a folder or a pattern of files, a sequence of these, or a mapping from
            name to one of these.
        grid: values by generator option, in place of ``instances``: every combination with every
            seed. If both are None, the generator's defaults.
        seeds: how many, or the seeds themselves; of the generator and of heuristics.
        first_seed: the first of them if ``seeds`` is a number.
        reference: formulation that gives the optimum; None: the problem's reference.
        bounds: further bounds; the best one counts, and each has columns of its own.
        solver: back end of the reference; None: the formulation's own.
        time_limit: seconds of the reference's solve, per instance; None: no limit.
        options: further limits of the reference's solve.
        heuristic_limits: of each heuristic's run; see ``optsched.evaluation.heuristic_run``.
        prove: seconds for the proof of each optimum in exact arithmetic; 0: no proofs.
        workers: processes; 1: this one; None: one per core.
        store: file that keeps every run, so that a stopped measurement can continue; None: runs are
            kept in memory.
        progress: called after results.

    Raises:
        InputError: an unknown name, option or value, or the same instance twice; nothing has run
            yet.

    Example:
        >>> import optsched as osd
        >>> grid = {"jobs": 4, "servers": 2}
        >>> found = osd.ratios("batch", ["a_online", "fifo"], grid=grid, seeds=3)
        >>> found.summary()[["heuristic", "measured", "proven"]].to_numpy().tolist()
        [['a_online', 3, 3], ['fifo', 3, 3]]
    """
    asked = found(problem)
    if heuristics is None:
        heuristics = list(asked.heuristics)
    elif not isinstance(heuristics, Sequence) or isinstance(heuristics, str):
        heuristics = [heuristics]
    chosen, names = with_heuristics(asked, heuristics)
    reference = reference or chosen.reference
    if time_limit is not None:
        options = replace(options or Options(), time_limit=time_limit)
    check_names(chosen, names, reference, solver, bounds, options)
    if workers is not None and workers < 1:
        raise InputError.of("workers", workers, "an integer >= 1")
    if instances is not None and grid is not None:
        raise InputError.of("grid", grid, "left out: instances are given")
    if store is not None:
        _check_kept(heuristics)
    exact = Exact(
        reference, solver, options or Options(), starts(chosen, reference, names), prove=prove
    )
    whole = StudyGrid(
        problem if chosen is asked else chosen,
        None if instances is not None else _listed(grid or {}),
        instances={} if instances is None else given_instances(chosen, instances),
        seeds=_seeds(seeds, first_seed),
        heuristics=names,
        exact=[exact],
        bounds=bounds,
        heuristic_limits=heuristic_limits,
    )
    planned = plan_of_distinct([whole])
    count = cores() if workers is None else workers
    executor = Serial() if count == 1 else Processes(count)
    with Store.in_memory() if store is None else Store.open(store) as kept:
        try:
            with closing(Engine(planned, kept, executor, "exact").run()) as steps:
                for step in steps:
                    if progress is not None:
                        progress(step)
        except KeyboardInterrupt:
            pass  # the rows that are there are the answer, and say that they are not all
        return Ratios.of(kept, planned)


def _seeds(seeds: Iterable[int] | int, first: int) -> list[int]:
    if first < 0:
        raise InputError.of("first_seed", first, "an integer >= 0")
    if not isinstance(seeds, int):
        if first:
            raise InputError.of("first_seed", first, "left out: the seeds are listed")
        return list(seeds)
    if seeds < 1:
        raise InputError.of("seeds", seeds, "a number of seeds >= 1, or the seeds")
    return list(range(first, first + seeds))


def _listed(grid: Mapping[str, Any]) -> dict[str, Sequence[Any]]:
    """Every value as a list of values."""
    return {
        name: [values]
        if isinstance(values, str) or not isinstance(values, Iterable)
        else list(values)
        for name, values in grid.items()
    }


def _check_kept(heuristics: Sequence[Algorithm]) -> None:
    """Refuse what a store cannot tell from another one."""
    for number, one in enumerate(heuristics):
        if getattr(one, "__name__", "") == "<lambda>":
            said = "a function with a name: a store keeps runs by it"
            raise InputError.of(f"heuristics[{number}]", one, said)


def given_instances(problem: Problem, given: Any) -> dict[str, Any]:
    """Name instances, and read those that are files or tables.

    Args:
        problem: whose instances they are.
        given: an instance, a ``DataFrame`` with a line per job, a file (JSON, or a table with a
            line per job), a folder or a pattern of files, a sequence of these, or a mapping from
            name to one of these.

    Raises:
        InputError: something else, or a table or a file that is refused.

    Example:
        >>> import numpy as np
        >>> from optsched import problem
        >>> batch = problem("batch")
        >>> drawn = batch.generate(np.random.default_rng(1), jobs=4, servers=2)
        >>> list(given_instances(batch, drawn)), list(given_instances(batch, [drawn, drawn]))
        (['instance'], ['instance[0]', 'instance[1]'])
    """
    if isinstance(given, (str, PathLike)):
        return instances_from(problem, Path(given))
    if _is_one(problem, given):
        named = {"instance": given}
    elif isinstance(given, Mapping):
        named = {str(name): one for name, one in given.items()}
    elif isinstance(given, Iterable):
        listed = list(given)
        if listed and all(isinstance(one, (str, PathLike)) for one in listed):
            return instances_from(problem, [Path(one) for one in listed])
        names = [_name(one, f"instance[{number}]") for number, one in enumerate(listed)]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise InputError.of("instances", twice, "given once")
        named = dict(zip(names, listed, strict=True))
    else:
        named = {"instances": given}
    if not named:
        raise InputError.of("instances", given, "one instance or more")
    return {name: _instance(problem, name, one) for name, one in named.items()}


def _is_one(problem: Problem, given: Any) -> bool:
    return isinstance(given, problem.instance_type) or _is_table(given)


def _is_table(given: Any) -> bool:
    pandas = sys.modules.get("pandas")  # who has a table has loaded it
    return pandas is not None and isinstance(given, pandas.DataFrame)


def _name(one: Any, otherwise: str) -> str:
    return str(one) if isinstance(one, (str, PathLike)) else otherwise


def _instance(problem: Problem, name: str, one: Any) -> Any:
    if isinstance(one, (str, PathLike)):
        return instance_from_file(problem, Path(one))
    if _is_table(one):
        return problem.instance_from(one)
    if not isinstance(one, problem.instance_type):
        kind = problem.instance_type.__name__
        allowed = f"a {kind}, a DataFrame with a line per job, or the path of an instance file"
        raise InputError.of(name, one, allowed)
    return one
