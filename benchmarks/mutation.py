"""Mutation testing of the modules that decide what is true: which changes do their tests not see?

The mutants are those of cosmic-ray's operators. Each is tried in a process forked at the moment
the tests import the module, so that what was imported before is imported once.

    python benchmarks/mutation.py formulations/batch/check.py
"""

from __future__ import annotations

import argparse
import importlib
import importlib.abc
import importlib.machinery
import os
import re
import resource
import signal
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import parso.python.tree
import pytest
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.operators.number_replacer import NumberReplacer
from cosmic_ray.plugins import get_operator, operator_names

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
ANNOTATED = {("annassign", ":"), ("tfpdef", ":"), ("funcdef", "->")}
SHARED = ("numpy", "scipy.optimize", "scipy.sparse", "pandas", "pydantic", "hypothesis", "numba")


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
    """One change: the line it is on, what the line said and what it says now."""

    line: int
    before: str
    after: str
    source: str

    def __str__(self) -> str:
        return f"{self.line:4d}: {self.before}\n      {self.after}"


def mutants(source: str) -> Iterator[Mutant]:
    """Every mutant of a module, those in messages and annotations left out."""
    operators = [get_operator(name)() for name in operator_names() if OPERATORS.fullmatch(name)]
    seen = {source}
    for operator in [*operators, Tenfold()]:
        tree = get_ast(source)
        for number, node in enumerate(ast_nodes(tree)):
            for index, _ in enumerate(operator.mutation_positions(node)):
                if _unsaid(node):
                    continue
                copy = get_ast(source)
                target = next(n for k, n in enumerate(ast_nodes(copy)) if k == number)
                parent, changed = target.parent, operator.mutate(target, index)
                if changed is not target:
                    parent.children[parent.children.index(target)] = changed
                mutated = copy.get_code()
                if mutated not in seen:
                    seen.add(mutated)
                    yield _mutant(source, mutated)


def _unsaid(node: Any) -> bool:
    """Whether a node decides nothing: it stands in a message, an annotation or a declaration."""
    bare = node.type == "operator" and node.parent.type in ("param", "parameters", "arglist")
    while node.parent is not None and not bare:
        child, node = node, node.parent
        before = node.children[: node.children.index(child)]
        mark = before[-1].get_code().strip() if before else ""
        bare = node.type in SPOKEN
        bare |= (node.type, mark) in ANNOTATED
        bare |= node.type == "argument" and node.children[0].get_code().strip() == "strict"
    return bare


def _mutant(source: str, mutated: str) -> Mutant:
    old, new = source.splitlines(), mutated.splitlines()
    k = next((k for k, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), len(new) - 1)
    return Mutant(k + 1, old[k].strip(), new[k].strip(), mutated)


class Forking(importlib.machinery.SourceFileLoader):
    """Loads the module under test: in each child mutated, in the parent never."""

    def __init__(self, name: str, path: str, jobs: int, lines: list[int]) -> None:
        super().__init__(name, path)
        self.jobs, self.lines = jobs, lines

    def get_code(self, fullname: str) -> Any:
        """Code of one mutant; the parent stays here until all have been tried."""
        source = Path(self.path).read_text()
        return compile(self.choose(source), self.path, "exec", dont_inherit=True)

    def choose(self, source: str) -> str:
        """In the parent: try all and leave. In a child: the source it shall run."""
        began = time.perf_counter()
        child = _fork(600)
        if not child:
            return source
        if os.waitpid(child, 0)[1]:
            _leave(2, "the tests fail on the module as it is")
        limit = 5 + 5 * int(time.perf_counter() - began)
        tried, running, alive = 0, {}, []
        chosen = [m for m in mutants(source) if not self.lines or m.line in self.lines]
        for mutant in [*chosen, None]:
            while len(running) >= (self.jobs if mutant else 1):
                pid, status = os.wait()
                done = running.pop(pid)
                alive += [] if status else [done]
            if mutant:
                tried += 1
                child = _fork(limit)
                if not child:
                    return mutant.source
                running[child] = mutant
        return _report(os.path.relpath(self.path), tried, alive, time.perf_counter() - began)


def _fork(limit: int) -> int:
    """A child's process id, or 0 in the child: mute, bounded in time and memory."""
    child = os.fork()
    if not child:
        os.environ["MUTATED"] = "1"
        signal.alarm(limit)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    return child


def _report(path: str, tried: int, alive: list[Mutant], seconds: float) -> NoReturn:
    accepted = tomllib.loads(PLAN.read_text())[path].get("accepted", {})
    for mutant in sorted(alive, key=lambda mutant: mutant.line):
        why = accepted.get(f"{mutant.before} -> {mutant.after}")
        print(mutant, f"\n      accepted: {why}" if why else "")
    killed = tried - len(alive)
    known = sum(f"{m.before} -> {m.after}" in accepted for m in alive)
    _leave(
        int(len(alive) > known),
        f"{path}: {tried} mutants, {killed} killed ({killed / tried:.1%}), "
        f"{known} accepted, {len(alive) - known} others survive; {seconds:.0f} s",
    )


def _leave(code: int, message: str) -> NoReturn:
    print(message, flush=True)
    os._exit(code)


def main() -> None:
    """Try one module, or every module of the plan one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("module", nargs="?", help="path of the module, as mutation.toml has it")
    parser.add_argument("--jobs", type=int, default=1, help="mutants tried at once")
    parser.add_argument("--tests", nargs="*", help="tests to run instead of those of the plan")
    parser.add_argument("--lines", nargs="*", type=int, help="only mutants of these lines")
    given = parser.parse_args()
    plan = tomllib.loads(PLAN.read_text())
    if given.module is None:
        codes = [
            os.system(f"{sys.executable} {__file__} {path} --jobs {given.jobs}") for path in plan
        ]
        sys.exit(any(codes))
    name = given.module.removesuffix(".py").replace("/", ".").removesuffix(".__init__")

    class Finder(importlib.abc.MetaPathFinder):
        """Finds the module under test, nothing else."""

        def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
            """The module's own specification, with another loader."""
            if fullname != name:
                return None
            spec = importlib.machinery.PathFinder.find_spec(fullname, path)
            if spec is not None and spec.origin is not None:
                spec.loader = Forking(fullname, spec.origin, given.jobs, given.lines)
            return spec

    for shared in SHARED:
        importlib.import_module(shared)
    import hypothesis

    hypothesis.settings.register_profile(
        "mutants",
        derandomize=True,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
    )
    hypothesis.settings.load_profile("mutants")
    sys.path.insert(0, os.getcwd())
    sys.meta_path.insert(0, Finder())
    tests = given.tests or plan[given.module]["tests"]
    code = pytest.main(["-x", "-s", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", *tests])
    os._exit(int(code))


if __name__ == "__main__":
    main()
