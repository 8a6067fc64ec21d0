"""Call MathOpt's library, and avoid its faults."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any


@lru_cache(maxsize=1)
def quieten_scip() -> None:
    """Keep SCIP from printing two errors whenever it is handed an interrupter (ortools 9.15).

    Its errors reach us as statuses; where its library is not found it goes on printing.
    """
    import ctypes

    import ortools
    from ortools.math_opt.core.python import solver  # noqa: F401  (loads the library)

    folder = Path(ortools.__file__).parent
    for place in (".libs", ".dylibs"):
        for path in (folder / place).glob("libscip*"):
            with suppress(OSError, AttributeError):
                ctypes.CDLL(str(path)).SCIPmessageSetErrorPrinting(None, None)


def call(
    code: int, proto: Any, parameters: Any, details: Any, interrupter: Any = None, log: bool = False
) -> Any:
    """The SolveResultProto, or the words of an error.

    MathOpt's Python layer loses those words: it raises its own AttributeError instead.

    Args:
        code: SolverTypeProto.
        proto: ModelProto.
        parameters: SolveParametersProto.
        details: ModelSolveParametersProto.
        interrupter: PySolveInterrupter.
        log: whether to print what the solver says.
    """
    from ortools.math_opt import callback_pb2, parameters_pb2
    from ortools.math_opt.core.python import solver
    from pybind11_abseil.status import StatusNotOk

    try:
        return solver.solve(
            proto,
            code,
            parameters_pb2.SolverInitializerProto(),
            parameters,
            details,
            _print_lines if log else None,
            callback_pb2.CallbackRegistrationProto(),
            None,
            interrupter,
        )
    except StatusNotOk as failure:
        return str(failure)


def _print_lines(lines: list[str]) -> None:
    print("\n".join(lines), flush=True)
