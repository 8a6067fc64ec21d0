"""What a release must pass beyond ``make test-all``: nox's ``package``, ``lowest`` and ``tests``.

Tried so far: the wheel on 3.11, 3.12 and 3.13, the tests and ``lowest`` on 3.11. There is no
session for 3.14, as highspy 1.12 has no wheel for it. A session without its interpreter is skipped.
"""

from pathlib import Path

import nox

PYTHONS = ["3.11", "3.12", "3.13"]

nox.options.sessions = ["package", "lowest", "tests"]
nox.options.error_on_missing_interpreters = False


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """The whole suite; what follows ``--`` goes to pytest."""
    session.install("-e", ".[dev]")
    session.run("python", "-m", "pytest", "-n", "auto", *session.posargs)


@nox.session(python=PYTHONS[0])
def lowest(session: nox.Session) -> None:
    """The whole suite with the lowest version declared of everything."""
    session.install("uv>=0.5")
    session.run("uv", "pip", "install", "--resolution", "lowest-direct", "-e", ".[dev,docs]")
    session.run("python", "-m", "pytest", "-n", "auto", *session.posargs)


@nox.session(python=PYTHONS)
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
