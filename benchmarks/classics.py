"""Fifteen classic models, ours beside the same in the tool that says each best.

Prints one row a model: lines of the function that states it and CPU time until a solver could
start (ours: lowered and assembled, for CP-SAT where theirs is), best of several; and checks that
both have one optimum, by HiGHS or CP-SAT on their side. Tools that are not installed are left out.
"""

from __future__ import annotations

import argparse
import inspect
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from classic_models import ours, theirs

from optsched import solve
from optsched.solvers.cpsat.backend import CpSat
from optsched.solvers.cpsat.integer import integer_model
from optsched.solvers.cpsat.proto import build

HEAD = """# Fifteen classic models

Each model takes at most twenty lines, and solvers of two families agree on its optimum. The table
compares it with the same model in linopy, CVXPY or CPMpy, whichever states it best
(`benchmarks/classic_models/theirs.py`).

- *lines* are those of the function that states the model.
- *ms* is CPU time until a solver could start, the best of several runs on one machine. Ours is
  lowered and assembled (for CP-SAT, if the other tool is CPMpy). The other tool prepares the model
  for its own solver. The models are tiny, so the fixed cost is compared.

The code begins with `import numpy as np`, `import pandas as pd` and `from optsched import Model`.
Three arrays that some models share are defined at the top of `benchmarks/classic_models/ours.py`.
The command `python benchmarks/classics.py --page docs/classics.md` makes this page, and a test
checks all but the times.
"""


def our_form(make: Callable[[], Any], tool: str) -> None:
    """Ours, up to what the solver takes."""
    if tool == "cpmpy":
        build(integer_model(make().compile(CpSat.native), CpSat()))
    else:
        make().compile({"rotated_cone"})


def cvxpy_solver(model: Any) -> str:
    """HiGHS, but for squares beside integers, which it does not take."""
    squares = not model.objective.args[0].is_pwl()
    return "GUROBI" if squares and model.is_mixed_integer() else "HIGHS"


def their_form(module: ModuleType, model: Any) -> None:
    """Theirs, up to what the solver takes."""
    if module.__name__ == "cpmpy":
        module.SolverLookup.get("ortools", model)
    elif module.__name__ == "cvxpy":
        model.get_problem_data(cvxpy_solver(model))
    else:
        model.matrices.A  # noqa: B018  (assembled when read)


def their_optimum(module: ModuleType, model: Any) -> float:
    """What they find, each by the solver it is at home with."""
    if module.__name__ == "cpmpy":
        model.solve("ortools")
        return float(model.objective_value())
    if module.__name__ == "cvxpy":
        return float(model.solve(solver=cvxpy_solver(model)))
    model.solve("highs", log_to_console=False)
    return float(model.objective.value)


def cpu(work: Callable[[], Any], repeats: int) -> float:
    """Least CPU milliseconds of several calls."""
    best = float("inf")
    for _ in range(repeats):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return 1000 * best


def lines(function: Callable[..., Any]) -> int:
    """Lines of a function, its head included."""
    return len(inspect.getsource(function).strip().splitlines())


def main() -> None:
    """Print the table, and write the page where one is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="the best of so many")
    parser.add_argument("--page", type=Path, help="also write a page with table and models")
    options = parser.parse_args()
    text = [HEAD]
    for line in rows(options.repeats):
        print(line, flush=True)
        text.append(line)
    if options.page:
        text += [f"\n## {n.replace('_', ' ').capitalize()}\n\n```python\n{source(n)}\n```"
                 for n in theirs.TOOLS]  # fmt: skip
        options.page.write_text("\n".join(text) + "\n", encoding="utf-8")


def source(name: str) -> str:
    """One of our models, as written."""
    return inspect.getsource(getattr(ours, name)).strip()


def rows(repeats: int) -> Iterator[str]:
    """The table, line by line."""
    yield "| model | beside | lines | theirs | ms | theirs | optimum | theirs |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|"
    for name, tool in theirs.TOOLS.items():
        make, other = getattr(ours, name), getattr(theirs, name)
        mine = cpu(lambda make=make, tool=tool: our_form(make, tool), repeats)
        optimum = solve(make(), "cpsat" if tool == "cpmpy" else "scip").objective
        row = [name.replace("_", " "), tool, lines(make), lines(other), f"{mine:.2f}"]
        told = found = "absent"
        if find_spec(tool) is not None:
            module = import_module(tool)
            told = f"{cpu(lambda m=module, f=other: their_form(m, f(m)), repeats):.2f}"
            try:
                found = f"{their_optimum(module, other(module)):.5g}"
            except Exception as failure:
                found = type(failure).__name__
        yield "| " + " | ".join(map(str, [*row, told, f"{optimum:.5g}", found])) + " |"


if __name__ == "__main__":
    main()
