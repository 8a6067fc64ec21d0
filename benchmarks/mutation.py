"""Mutation testing of the modules that decide what is true: which changes do their tests not see?

The mutants are those of cosmic-ray's operators. The tests are collected once; each mutant is tried
in a fork of that process, in which the functions and constants of the module are exchanged.

    python benchmarks/mutation.py formulations/batch/check.py
"""

from __future__ import annotations

import argparse
import ast
import functools
import gc
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import hypothesis
import numpy as np
import parso.python.tree
import pytest
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.operators.number_replacer import NumberReplacer
from cosmic_ray.plugins import get_operator, operator_names

from optsched.jit import dispatcher as jit

PLAN = Path(__file__).with_name("mutation.toml")
MEMORY = 8 << 30  # bytes a mutant may map
# each operator of arithmetic against one other, each comparison against its neighbours
OPERATORS = re.compile(
    "core/(ReplaceBinaryOperator_(Add_Sub|Sub_Add|Mul_Div|Div_Mul|FloorDiv_Mul|Mod_FloorDiv|Pow_Mul"
    "|BitAnd_BitOr|BitOr_BitAnd|BitXor_BitAnd|RShift_LShift|LShift_RShift)"
    "|ReplaceComparisonOperator_(Eq_NotEq|NotEq_Eq|Lt_LtE|Lt_GtE|LtE_Lt|LtE_Gt|Gt_GtE|Gt_LtE"
    "|GtE_Gt|GtE_Lt|Is_IsNot|IsNot_Is)|ReplaceUnaryOperator_(USub_UAdd|Delete_\\w+)|AddNot"
    "|ReplaceTrueWithFalse|ReplaceFalseWithTrue|ReplaceAndWithOr|ReplaceOrWithAnd"
    "|ReplaceBreakWithContinue|ReplaceContinueWithBreak|NumberReplacer|ZeroIterationForLoop)"
)
SPOKEN = {"fstring", "raise_stmt", "decorator"}  # what speaks to people, and declarations
VALUES = bool | int | float | Fraction | str | tuple | frozenset
ANNOTATED = {("annassign", ":"), ("tfpdef", ":"), ("funcdef", "->")}


class Tenfold(NumberReplacer):
    """A tolerance ten times as wide, and ten times as narrow."""

    def mutation_positions(self, node: Any) -> Iterator[Any]:
        """Numbers written as powers of ten below one."""
        if isinstance(node, parso.python.tree.Number) and "e-" in node.value:
            yield from super().mutation_positions(node)

    def mutate(self, node: Any, index: int) -> Any:
        """The number with another exponent."""
        value = float(node.value) * (10.0, 0.1)[index]
        return parso.python.tree.Number(f"{node.prefix}{value!r}", node.start_pos)


@dataclass(frozen=True)
class Mutant:
    """One change: the line it is on, what the line said and says now, and the whole module."""

    line: int
    before: str
    after: str
    source: str

    @property
    def change(self) -> str:
        """As accepted survivors are named in ``mutation.toml``."""
        return f"{self.before} -> {self.after}"


def mutants(source: str) -> Iterator[Mutant]:
    """Every mutant of a module, those in messages and annotations left out."""
    operators = [get_operator(name)() for name in operator_names() if OPERATORS.fullmatch(name)]
    old, seen, nodes = source.splitlines(), {source}, list(ast_nodes(get_ast(source)))
    for operator in [*operators, Tenfold()]:
        for number, node in enumerate(nodes):
            for index, _ in enumerate(operator.mutation_positions(node)):
                if _decides_nothing(node):
                    continue
                target = next(n for k, n in enumerate(ast_nodes(get_ast(source))) if k == number)
                parent, root = target.parent, target.get_root_node()
                at, changed = parent.children.index(target), operator.mutate(target, index)
                parent.children[at] = changed
                mutated = root.get_code()
                if mutated not in seen:
                    seen.add(mutated)
                    new = mutated.splitlines()
                    k = next(k for k, line in enumerate(old) if line != new[k])
                    yield Mutant(k + 1, old[k].strip(), new[k].strip(), mutated)


def _decides_nothing(node: Any) -> bool:
    """Whether a node stands in a message, an annotation or a declaration."""
    found = node.type == "operator" and node.parent.type in ("param", "parameters", "arglist")
    while node.parent is not None and not found:
        child, node = node, node.parent
        before = node.children[: node.children.index(child)]
        mark = before[-1].get_code().strip() if before else ""
        found = node.type in SPOKEN or (node.type, mark) in ANNOTATED
        found |= node.type == "argument" and node.children[0].get_code().strip() == "strict"
    return found


def exchange(module: ModuleType, source: str) -> None:
    """Give the functions and constants of a loaded module the meaning that a source gives them."""
    jit.PLAIN_TURNS = sys.maxsize
    new: dict[str, Any] = {"__name__": module.__name__, "__file__": module.__file__}
    exec(compile(source, str(module.__file__), "exec", dont_inherit=True), new)
    for name, old in list(vars(module).items()):
        if getattr(old, "__module__", None) == module.__name__:
            _exchange(old, new[name])
        elif not name.startswith("__") and isinstance(old, dict):  # as of measures by name
            for key, value in old.items():
                _exchange(value, new[name].get(key))
        elif not name.startswith("__") and isinstance(old, VALUES) and new[name] != old:
            for other in list(sys.modules.values()):
                if getattr(other, name, None) is old:
                    setattr(other, name, new[name])


def _exchange(old: Any, new: Any) -> None:
    if isinstance(old, jit.Dispatcher):  # as plain Python, without counting turns
        vars(old).update(_interpretable=old.py_func, _on_disk=False, _compiled=False)
    if isinstance(old, FunctionType):
        old.__code__, old.__defaults__ = new.__code__, new.__defaults__
        old.__kwdefaults__ = new.__kwdefaults__
    inner = ("__wrapped__", "__func__", "fget", "func", "py_func")
    for name in vars(old) if isinstance(old, type) else inner:
        if isinstance(old, type):
            a, b = vars(old)[name], vars(new).get(name)
        else:
            a, b = getattr(old, name, None), getattr(new, name, None)
        if isinstance(a, FunctionType | property | functools.cached_property | classmethod):
            _exchange(a, b)


class Trial:
    """Tries all mutants, each in a fork, as soon as the tests have been collected."""

    def __init__(
        self,
        path: str,
        plan: dict[str, Any],
        lines: set[int],
        jobs: int,
        drawn: tuple[int, int] | None,
    ) -> None:
        self.path, self.plan, self.jobs, self.drawn = path, plan, jobs, drawn
        self.lines = lines or lines_of(Path(path).read_text(), plan.get("functions", []))
        self.times = tempfile.TemporaryFile("w+")  # noqa: SIM115

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """In a child: exchange the module and go on to the tests. In the parent: report, leave."""
        name = self.path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        name = name.removeprefix("tests.")
        module, source = sys.modules[name], Path(self.path).read_text()
        began = time.perf_counter()
        gc.freeze()
        child = _fork(600)
        if not child:
            exchange(module, source)
            return
        if os.waitpid(child, 0)[1]:
            print(f"{self.path}: the tests fail on the module as it is", flush=True)
            os._exit(2)
        self.times.seek(0)
        took = {name: float(time) for time, name in (line.split(" ", 1) for line in self.times)}
        session.items.sort(key=lambda item: took.get(f"{item.nodeid}\n", 0.0))  # quick ones first
        limit = 5 + 5 * int(time.perf_counter() - began)
        chosen = [m for m in mutants(source) if not self.lines or m.line in self.lines]
        if self.drawn is not None and self.drawn[0] < len(chosen):
            size, seed = self.drawn
            order = np.random.default_rng(seed).choice(len(chosen), size, replace=False)
            chosen = [chosen[k] for k in sorted(order)]
        running: dict[int, Mutant] = {}
        alive: list[Mutant] = []
        for mutant in [*chosen, None]:
            while len(running) >= (self.jobs if mutant else 1):
                pid, status = os.wait()
                done = running.pop(pid)
                alive += [] if status else [done]
            if mutant:
                child = _fork(limit)
                if not child:
                    exchange(module, mutant.source)
                    return
                running[child] = mutant
        os._exit(self.report(len(chosen), alive, time.perf_counter() - began))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what a test takes on the module as it is."""
        if report.when == "call":
            self.times.write(f"{report.duration} {report.nodeid}\n")
            self.times.flush()

    def report(self, tried: int, alive: list[Mutant], seconds: float) -> int:
        """Print the survivors and the share killed; whether some are not accepted."""
        accepted = self.plan.get("accepted", {})
        for mutant in sorted(alive, key=lambda mutant: mutant.line):
            why = accepted.get(mutant.change, "")
            print(f"{mutant.line:4d}: {mutant.before}\n      {mutant.after}\n      {why}")
        killed, known = tried - len(alive), sum(m.change in accepted for m in alive)
        print(
            f"{self.path}: {tried} mutants, {killed} killed ({killed / max(tried, 1):.1%}), "
            f"{known} accepted, {len(alive) - known} others survive; {seconds:.0f} s",
            flush=True,
        )
        return int(len(alive) > known)


def lines_of(source: str, functions: list[str]) -> set[int]:
    """Lines of the functions of these names; none where none is named."""
    return {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef) and node.name in functions
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def _fork(limit: int) -> int:
    """A child's process id, or 0 in the child: mute, bounded in seconds and memory."""
    child = os.fork()
    if not child:
        signal.alarm(limit)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    return child


def main() -> None:
    """Try one module, or every module of the plan one after the other."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("module", nargs="?", help="path of the module, as mutation.toml has it")
    parser.add_argument("--lines", nargs="*", type=int, help="only mutants of these lines")
    parser.add_argument("--sample", type=int, help="only so many mutants, drawn")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--jobs", type=int, default=1, help="mutants tried at once")
    given = parser.parse_args()
    plan = tomllib.loads(PLAN.read_text())
    if given.module is None:
        run = [sys.executable, __file__, "--jobs", str(given.jobs)]
        sys.exit(max(subprocess.run([*run, path]).returncode for path in plan))
    hypothesis.settings.register_profile(
        "mutants", derandomize=True, database=None, deadline=None,
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
    )  # fmt: skip
    hypothesis.settings.load_profile("mutants")
    options = ["-x", "-s", "-q", "--tb=no", "-p", "no:xdist", "-p", "no:cacheprovider"]
    chosen = plan[given.module]
    drawn = None if given.sample is None else (given.sample, given.seed)
    trial = Trial(given.module, chosen, set(given.lines or []), given.jobs, drawn)
    os._exit(pytest.main([*options, *chosen["tests"]], plugins=[trial]))


if __name__ == "__main__":
    main()
