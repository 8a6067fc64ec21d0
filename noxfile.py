"""What a release must pass beyond ``make test-all``: nox's ``package``, ``lowest`` and ``tests``.

Tried so far: ``package`` and the tests on 3.11 to 3.14, the latter by ``make test-all
PYTHON=python3.14``, and ``lowest`` on 3.11. A session without its interpreter is skipped.
"""

from pathlib import Path

import nox

nox.options.sessions = ["package", "lowest", "tests"]
nox.options.error_on_missing_interpreters = False


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
def tests(session: nox.Session) -> None:
    """The whole suite; what follows ``--`` goes to pytest."""
    session.install("-e", ".[dev]")
    session.run("python", "-m", "pytest", "-n", "auto", *session.posargs)


@nox.session(python="3.11")
def lowest(session: nox.Session) -> None:
    """The whole suite with the lowest version declared of everything."""
    session.install("uv>=0.5")
    session.run("uv", "pip", "install", "--resolution", "lowest-direct", "-e", ".[dev,docs]")
    session.run("python", "-m", "pytest", "-n", "auto", *session.posargs)


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
def package(session: nox.Session) -> None:
    """Sdist and wheel: built, checked, and a first ratio by the wheel alone."""
    session.install("build>=1.2", "twine>=6")
    folder = Path(session.create_tmp()).resolve() / "dist"
    session.run("python", "-m", "build", "--outdir", str(folder))
    made = sorted(folder.iterdir())
    session.run("twine", "check", "--strict", *map(str, made))
    session.install(str(next(file for file in made if file.suffix == ".whl")))
    session.chdir(folder)  # away from the checkout, so that the wheel is what runs
    session.run("optsched", "ratio", "preemptive", "--jobs", "3", "--seeds", "2")
