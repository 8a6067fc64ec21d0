"""optsched: offline optima, online algorithms and certified ratios for ML-job scheduling.

``dir(optsched)`` lists the whole interface. Each name is loaded when it is first used.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from optsched.adversary import adversarial as adversarial
    from optsched.analysis.explain import explain as explain
    from optsched.analysis.report import report as report
    from optsched.errors import InputError as InputError
    from optsched.errors import ModelError as ModelError
    from optsched.errors import UnsupportedError as UnsupportedError
    from optsched.files.reading import read as read
    from optsched.model import Model as Model
    from optsched.problem import Bound as Bound
    from optsched.problem import ExactMethod as ExactMethod
    from optsched.problem import Formulation as Formulation
    from optsched.problem import Guarantee as Guarantee
    from optsched.problem import Heuristic as Heuristic
    from optsched.problem import Problem as Problem
    from optsched.problem import Violation as Violation
    from optsched.problem import problem as problem
    from optsched.problem import problems as problems
    from optsched.solve import solve as solve
    from optsched.solvers.options import Options as Options
    from optsched.solvers.registry import available as solvers  # noqa: F401
    from optsched.solvers.solution import Solution as Solution
    from optsched.solvers.solution import Status as Status
    from optsched.study.ratios import ratios as ratios
    from optsched.study.reading import Ratios as Ratios

__version__ = "0.1.0"

_PLACES = {
    "Bound": "optsched.problem",
    "ExactMethod": "optsched.problem",
    "Formulation": "optsched.problem",
    "Guarantee": "optsched.problem",
    "Heuristic": "optsched.problem",
    "InputError": "optsched.errors",
    "Model": "optsched.model",
    "ModelError": "optsched.errors",
    "Options": "optsched.solvers.options",
    "Problem": "optsched.problem",
    "Ratios": "optsched.study.reading",
    "Solution": "optsched.solvers.solution",
    "Status": "optsched.solvers.solution",
    "UnsupportedError": "optsched.errors",
    "Violation": "optsched.problem",
    "adversarial": "optsched.adversary",
    "explain": "optsched.analysis.explain",
    "problem": "optsched.problem",
    "problems": "optsched.problem",
    "ratios": "optsched.study.ratios",
    "read": "optsched.files.reading",
    "report": "optsched.analysis.report",
    "solve": "optsched.solve",
    "solvers": "optsched.solvers.registry:available",
}
"""The module of each public name, and its name there if that is another one."""

__all__ = [*_PLACES]


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        place, _, other = _PLACES[name].partition(":")
        found = getattr(import_module(place), other or name)
        globals()[name] = found
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


class _Package(ModuleType):
    """This package, in which ``problem``, ``report``, ``solve`` and ``solvers`` are functions.

    There are modules of these names, too, and loading one would put it in the function's place.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _PLACES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
