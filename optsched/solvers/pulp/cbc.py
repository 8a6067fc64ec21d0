"""CBC, the program that PuLP bundles, run on an MPS file without PuLP in between.

PuLP reads a time limit as "Optimal", values at eight digits and no bound. Here the status comes
from CBC's solution file and log, the values from its binary solution, the bound from its log.
"""

from __future__ import annotations

import math
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import distribution
from pathlib import Path

import numpy as np

from optsched.errors import InputError
from optsched.files.mps import mps_text
from optsched.files.names import Names
from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm
from optsched.solvers.backend import MIXED_INTEGER, Backend, Feature, SolverResult
from optsched.solvers.dual_bound import claimed_bound
from optsched.solvers.numbers import (
    contradiction,
    gap_needs_constant,
    has_endless_column,
    may_be_unbounded,
    refuse_numbers,
    second_look,
    with_constant,
    without_constant,
)
from optsched.solvers.options import Options
from optsched.solvers.solution import Limit, Status
from optsched.solvers.threads import Ended, run

_PATIENCE = 5.0  # seconds CBC has to end after Ctrl-C before it is killed
_TOLERANCE = 1e-9  # its default of 1e-7 is on rows it has scaled, where it may hide 1e-6 and more
_HIDDEN = 0.5  # a row of whole numbers is broken by 1; a tolerance must let through less
_PRINTED = 6e-4  # the log's "Lower bound" is rounded to three digits behind the point
_NEAR = 0.9  # a claim of infeasibility this near to the time limit is not believed


class Cbc(Backend):
    """CBC: linear and mixed-integer linear models, LP duals; the binary that PuLP bundles.

    It can be trusted with an optimum, and with infeasibility said twice: it has been seen (2.10.3)
    to call feasible models infeasible, so that every such claim is asked for again with other
    settings. It is not trusted if an integer column has a coefficient of 5e8 or more: its
    tolerance of 1e-9 on whole numbers then hides half a unit. There an optimum is "feasible", and
    "infeasible" an error. An optimum of a linear program whose own duals bound nothing is asked
    for again, too.

    ``options.extra`` holds its command-line parameters, such as ``{"cuts": "off"}``. Its
    preprocessing and heuristics of integer models, which lose optima, are off unless
    ``{"preprocess": "on"}``, ``{"heuristics": "on"}``.
    """

    name = "cbc"
    features = MIXED_INTEGER | {Feature.STOP}
    native: frozenset[str] = frozenset()

    def version(self) -> str:
        """Version of CBC, raising ImportError if there is none for this machine."""
        return _version()

    def solve(self, compiled: MatrixForm, options: Options, start: Floats | None) -> SolverResult:
        """Solve; ``start`` holds a value per column, NaN if there is none.

        Raises:
            UnsupportedError: numbers CBC would change without a word.
            InputError: a parameter in ``options.extra`` is unknown or cannot take its value.
        """
        refuse_numbers("CBC", compiled, smallest=1e-20, largest=1e20, infinite=1e27)
        if gap_needs_constant(compiled, options):
            start = None if start is None else np.append(start, 1.0)
            return without_constant(self.solve(with_constant(compiled), options, start))
        if (result := contradiction(compiled)) is not None:
            return result
        if options.extra:
            _check_extra(options)
        deadline = None if options.time_limit is None else time.perf_counter() + options.time_limit
        cost = -compiled.cost if compiled.maximise else compiled.cost
        result = (
            SolverResult(Status.INFEASIBLE_OR_UNBOUNDED)
            if has_endless_column(compiled, cost)
            else _asked(compiled, cost, options, deadline, start)
        )
        doubtful = result.status in (Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED) or (
            result.status is Status.INFEASIBLE and may_be_unbounded(compiled)
        )
        if not doubtful:
            return result
        again = _asked(compiled, 0.0 * compiled.cost, options, deadline, None)
        if again.status in (Status.INFEASIBLE, Status.INFEASIBLE_OR_UNBOUNDED):
            return replace(result, status=Status.INFEASIBLE)  # nothing is unbounded without costs
        if again.x is None:
            return SolverResult(Status.INFEASIBLE_OR_UNBOUNDED) if not again.limit else again
        return replace(result, status=Status.UNBOUNDED)


def _asked(
    compiled: MatrixForm,
    cost: Floats,
    options: Options,
    deadline: float | None,
    start: Floats | None,
) -> SolverResult:
    """What CBC says, with other settings where its first word may be false."""
    result = _Run(compiled, cost, options, deadline).solve(start)
    if result.status is Status.INFEASIBLE:
        again = _Run(compiled, cost, options, deadline, again=True).solve(start)
        result = second_look(compiled, result, again)
    elif result.status is Status.ERROR or _bounds_nothing(compiled, cost, result):
        result = _Run(compiled, cost, options, deadline, again=True).solve(start)
    return _trusted(compiled, result)


def _bounds_nothing(compiled: MatrixForm, cost: Floats, result: SolverResult) -> bool:
    """Whether duals come with an optimum that leave a column without end a reduced cost."""
    if result.row_duals is None:
        return False
    sign = -1.0 if compiled.maximise else 1.0
    minimised = replace(compiled, cost=cost, maximise=False)
    return math.isinf(claimed_bound(minimised, sign * result.row_duals))


def _trusted(compiled: MatrixForm, result: SolverResult) -> SolverResult:
    """The answer without the proofs that CBC's tolerance on whole numbers is too coarse for."""
    matrix = compiled.rows.matrix
    largest = np.abs(matrix.data[compiled.integer[matrix.indices]]).max(initial=0.0)
    if largest * _TOLERANCE < _HIDDEN:
        return result
    said = f"no proof: CBC's tolerance on whole numbers is too coarse for a factor of {largest:g}"
    if result.status is Status.OPTIMAL:
        return replace(result, status=Status.FEASIBLE, bound=None, limit=Limit.GAP, message=said)
    if result.status is Status.INFEASIBLE:
        return SolverResult(Status.ERROR, message=f"called infeasible; {said}")
    return replace(result, bound=None)


@lru_cache(maxsize=1)
def _binary() -> Path:
    """The program PuLP bundles, or one on the path.

    PuLP itself is not imported: it would load highspy for all to see, and the HiGHS inside
    OR-tools, if loaded later, would take highspy's functions for its own and crash.

    Raises:
        ImportError: there is none.
    """
    package = Path(str(distribution("pulp").locate_file("pulp")))
    system = {"win32": "win", "darwin": "osx"}.get(sys.platform, "linux")
    arm = system == "linux" and platform.machine().lower() in ("aarch64", "arm64")
    for width in ("arm64",) if arm else ("i64", "64"):
        folder = package / "solverdir" / "cbc" / system / width
        path = folder / ("cbc.exe" if system == "win" else "cbc")
        if os.access(path, os.X_OK):
            return path
    if (other := shutil.which("cbc")) is not None:
        return Path(other)
    raise ImportError("PuLP bundles no CBC for this machine, and no program cbc is on the path")


@lru_cache(maxsize=1)
def _version() -> str:
    found = re.search(r"Version: (\S+)", _talk("-exit"))
    return found.group(1) if found else "unknown"


def _talk(*arguments: str) -> str:
    """What CBC says to arguments that solve nothing."""
    return subprocess.run(
        [str(_binary()), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    ).stdout


def _arguments(extra: Mapping[str, object]) -> list[str]:
    return [text for k, v in extra.items() for text in (f"-{k}", str(v)) if text]


def _check_extra(options: Options) -> None:
    for key, value in options.extra.items():
        said = _talk(*_arguments({key: value}), "-exit")
        wrong = re.search(r"^.*(No match for|illegal|Possible options).*$", said, re.MULTILINE)
        if wrong or not key.isidentifier():
            reason = wrong.group(0).strip() if wrong else "not a name"
            raise InputError.of(f"extra[{key!r}]", value, f"a parameter of CBC ({reason})")


def _has_gap(options: Options) -> bool:
    """Whether a gap was asked for, in our words or in CBC's, which may be abbreviated."""
    theirs = re.compile("ratio|allow|inc|cuto", re.IGNORECASE)
    return bool(options.gap or options.absolute_gap or any(map(theirs.match, options.extra)))


def _mps(compiled: MatrixForm, cost: Floats) -> str:
    """The model as a minimisation without constant, columns C0, C1, ... and rows R0, R1, ..."""
    columns = [f"C{j}" for j in range(len(cost))]
    rows = [f"R{i}" for i in range(compiled.rows.count)]
    plain = replace(compiled, cost=cost, offset=0.0, maximise=False)
    return mps_text(plain, Names(columns, rows, columns, rows), "model")


@dataclass(frozen=True)
class _Files:
    folder: Path

    @property
    def model(self) -> Path:
        return self.folder / "model.mps"

    @property
    def start(self) -> Path:
        return self.folder / "start.txt"

    @property
    def values(self) -> Path:
        return self.folder / "values.bin"

    @property
    def summary(self) -> Path:
        return self.folder / "summary.txt"

    @property
    def words(self) -> str:
        """How the summary begins; empty if there is none."""
        if not self.summary.exists():
            return ""
        with self.summary.open() as summary:
            return summary.readline().split(" - ")[0].strip()


def _summary(files: _Files) -> list[str]:
    return ["-printingOptions", "all", "-solution", str(files.summary)]


class _Stopper:
    """Ctrl-C once, so that CBC writes what it has; then, if it does not end, an end."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.asked: float | None = None

    def ask(self) -> None:
        """Called again and again until the program has ended."""
        if self.asked is None:
            self.asked = time.perf_counter()
            self.process.send_signal(signal.SIGINT)
        elif time.perf_counter() - self.asked > _PATIENCE:
            self.process.kill()


class _Run:
    """One run of the program, minimising ``cost``."""

    def __init__(
        self,
        compiled: MatrixForm,
        cost: Floats,
        options: Options,
        deadline: float | None,
        *,
        again: bool = False,
    ) -> None:
        self.compiled = compiled
        self.cost = cost
        self.options = options
        self.deadline = deadline
        self.again = again
        self.integer = compiled.has_integers

    def solve(self, start: Floats | None) -> SolverResult:
        """Write the model, run the program, read what it left."""
        with tempfile.TemporaryDirectory(prefix="optsched-cbc-") as folder:
            files = _Files(Path(folder))
            sides = self.compiled.rows
            kept = np.flatnonzero(np.isfinite(sides.lower) | np.isfinite(sides.upper))
            files.model.write_text(_mps(self.compiled, self.cost))
            began = time.perf_counter()
            ended = self._listen(self._command(files, start) + _summary(files))
            if not files.words and not ended.stopped:
                # it crashes (2.10.3) on summing up some models infeasible at sight
                ended = self._listen(self._command(files, start))
            near = self.options.time_limit is not None and (
                time.perf_counter() - began >= _NEAR * self.options.time_limit
            )
            return self._read(files, kept, ended.result or "", ended.stopped, near)

    def _listen(self, command: list[str]) -> Ended[str]:
        """Run the program: all it prints."""
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C is for us to pass on
        )
        try:
            return run(lambda: self._log(process), _Stopper(process).ask, self.options.stop)
        finally:
            process.kill()  # does nothing to one that has ended

    def _command(self, files: _Files, start: Floats | None) -> list[str]:
        options = self.options
        command = [str(_binary()), str(files.model)]
        if start is not None and self.integer and (~np.isnan(start)).any():
            known = np.flatnonzero(~np.isnan(start)).tolist()
            lines = [f"{i} C{c} {float(start[c])!r} 0" for i, c in enumerate(known)]
            files.start.write_text("\n".join(["Stopped on time - objective value 0", *lines, ""]))
            command += ["-mipstart", str(files.start)]
        if self.deadline is not None:
            left = max(self.deadline - time.perf_counter(), 0.01)
            command += ["-seconds", repr(left), "-timeMode", "elapsed"]
        if not self.again:
            command += ["-primalTolerance", repr(_TOLERANCE)]
        elif not self.integer:  # its presolve has been seen to call unbounded programs optimal
            command += ["-presolve", "off", "-scaling", "off"]
        extra = options.extra
        if self.integer:
            # off: both have been seen (2.10.3) to lose optima and to crash
            switch = "on" if self.again else "off"
            command += ["-preprocess", switch, "-heuristics", switch]
            # its default of 1e-6 loses optima, and points, behind coefficients from 1e4 on
            command += ["-integerTolerance", repr(_TOLERANCE)]
            # its default passes over what is less than 1e-5 better; said last, it undoes the gaps
            first = {k: v for k, v in extra.items() if k.lower().startswith("inc")}
            extra = {k: v for k, v in extra.items() if k not in first}
            command += ["-increment", "0", *_arguments(first)]
            command += ["-ratioGap", repr(options.gap), "-allowableGap", repr(options.absolute_gap)]
        if options.threads > 1:
            command += ["-threads", str(options.threads)]
        if options.seed:
            command += ["-randomSeed", str(options.seed), "-randomCbcSeed", str(options.seed)]
        return [*command, *_arguments(extra), "-solve", "-saveSolution", str(files.values)]

    def _log(self, process: subprocess.Popen[str]) -> str:
        """All the program prints until it ends."""
        lines = []
        for line in process.stdout or ():
            lines.append(line)
            if self.options.log:
                print(line, end="", flush=True)
        process.wait()
        return "".join(lines)

    def _read(
        self, files: _Files, kept: np.ndarray, log: str, stopped: bool, near: bool
    ) -> SolverResult:
        words = files.words
        if not words:
            if stopped:
                return SolverResult(Status.INTERRUPTED)
            if "Problem is infeasible - tightenPrimalBounds" in log:
                return SolverResult(Status.INFEASIBLE)
            tail = " ".join(log.split()[-40:])
            return SolverResult(Status.ERROR, message=f"CBC ended without an answer: ...{tail}")
        return _Answer(self, words, log, stopped, near).result(files, kept)


@dataclass(frozen=True)
class _Answer:
    """What CBC's words and numbers amount to."""

    run: _Run
    words: str
    """The first words of the solution file."""
    log: str
    stopped: bool
    near: bool

    def result(self, files: _Files, kept: np.ndarray) -> SolverResult:
        """The answer, in the caller's sense."""
        nodes = re.findall(r"Enumerated nodes:\s+(\d+)", self.log)
        answer = SolverResult(
            Status.ERROR, nodes=int(nodes[-1]) if nodes and self.run.integer else None
        )
        if self.words.startswith(("Infeasible", "Integer infeasible")):
            if self.near or self.stopped:  # it has been cut short before it could know
                return self._ended(answer, None)
            either = "infeasible or unbounded" in self.log
            status = Status.INFEASIBLE_OR_UNBOUNDED if either else Status.INFEASIBLE
            return replace(answer, status=status)
        if self.words.startswith("Unbounded"):
            return replace(answer, status=Status.UNBOUNDED)
        cut = re.search(r"Result - (Stopped|User)|Exiting on (maximum|user)", self.log)
        if self.words.startswith("Optimal") and not cut and not self.stopped:
            return self._optimal(answer, files, kept)
        if self.words.startswith(("Stopped", "Optimal")):
            found = self.run.integer and "no integer solution" not in self.words
            x = _vectors(files, len(self.run.cost), len(kept)).x if found else None
            return self._ended(answer, x)
        return replace(answer, message=f"CBC ended with {self.words!r}")

    def _optimal(self, answer: SolverResult, files: _Files, kept: np.ndarray) -> SolverResult:
        compiled = self.run.compiled
        found = _vectors(files, len(self.run.cost), len(kept))
        if self.words != "Optimal" or (self.run.integer and _has_gap(self.run.options)):
            bound = self._bound()
            return replace(answer, status=Status.FEASIBLE, x=found.x, bound=bound, limit=Limit.GAP)
        sign = -1.0 if compiled.maximise else 1.0
        value = float(self.run.cost @ found.x) * sign + compiled.offset
        answer = replace(answer, status=Status.OPTIMAL, x=found.x, bound=value)
        if not compiled.is_linear_program:
            return answer
        duals = np.zeros(compiled.rows.count)
        duals[kept] = sign * found.duals
        return replace(answer, row_duals=duals, reduced_costs=sign * found.reduced_costs)

    def _ended(self, answer: SolverResult, x: Floats | None) -> SolverResult:
        """Before its proof was complete."""
        bound = self._bound()
        if self.stopped:
            return replace(answer, status=Status.INTERRUPTED, x=x, bound=bound)
        status = Status.NO_SOLUTION if x is None else Status.FEASIBLE
        on_time = "time" in self.words or self.near
        limit = Limit.TIME if on_time else Limit.NODES
        return replace(answer, status=status, x=x, bound=bound, limit=limit)

    def _bound(self) -> float | None:
        """The log's bound, moved outward by what its three digits may hide."""
        found = re.findall(r"^Lower bound:\s+(\S+)", self.log, re.MULTILINE)
        if not found:
            return None
        try:
            bound = float(found[-1]) - _PRINTED
        except ValueError:
            return None
        if not np.isfinite(bound) or abs(bound) >= 1e20:
            return None
        sign = -1.0 if self.run.compiled.maximise else 1.0
        return sign * bound + self.run.compiled.offset


@dataclass(frozen=True, eq=False)
class _Vectors:
    duals: Floats
    x: Floats
    reduced_costs: Floats


def _vectors(files: _Files, columns: int, rows: int) -> _Vectors:
    """CBC's binary solution: two counts, the value, then four vectors.

    Raises:
        ValueError: the file is not of that form.
    """
    data = files.values.read_bytes()
    counts = np.frombuffer(data[:8], dtype=np.int32)
    if counts.tolist() != [rows, columns]:
        raise ValueError(f"CBC's solution has {counts.tolist()} rows and columns")
    numbers = np.frombuffer(data[16:], dtype=np.float64)
    _, duals, x, costs = np.split(numbers, np.cumsum([rows, rows, columns]))
    return _Vectors(duals.copy(), x.copy(), costs.copy())
