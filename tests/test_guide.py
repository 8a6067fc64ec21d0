"""The guide and the README do what they say, and print what they show.

A block with a title is a file. Python without one runs, page by page in one namespace; a block of
text right after it is what it prints. In a block of console output, lines after a command are what
it prints: dots stand for anything, and seconds and versions are not compared.
"""

from __future__ import annotations

import ast
import doctest
import importlib.util
import os
import pkgutil
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest
from loky import get_reusable_executor
from typer.testing import CliRunner

from optsched.cli import app
from optsched.study.plan import _by_name

ROOT = Path(__file__).resolve().parents[1]

FENCE = re.compile(r'^```(\w+)?(?: title="(.+?)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
CLOCK = re.compile(r"(seconds\s+)[\d.e-]+(?=\s|$)|()\b[\d.]+(?= s\b)")
VERSION = re.compile(r"\b\d+\.\d+\.\d+\b")
SET_UP = re.compile(
    r"git clone |python3 -m venv |\. \.venv/|\.venv/bin/pip install |pip install \./optsched|cd "
)
"""What makes an environment, which the tests have."""

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ELSEWHERE = {"as_printed.md", "claims.md", "guarantees.md"}
"""Pages that a test of their own runs, or a command wrote."""


@dataclass(frozen=True)
class Fence:
    """A fenced block of a page."""

    language: str
    title: str
    text: str
    follows: bool
    """Whether nothing stands between it and the block before."""


def fences(page: Path) -> Iterator[Fence]:
    """The blocks of a page, in order."""
    text, end = page.read_text(encoding="utf-8"), -1
    for found in FENCE.finditer(text):
        follows = end >= 0 and not text[end : found.start()].strip()
        yield Fence(found[1] or "", found[2] or "", found[3], follows)
        end = found.end()


def run_page(page: Path, folder: Path) -> Iterator[tuple[str, str, str]]:
    """Run a page in a folder, which is the current one: what ran, what is shown, what came."""
    names: dict[str, object] = {"__name__": "guide"}
    printed = ""
    for fence in fences(page):
        if fence.title:
            (folder / fence.title).parent.mkdir(parents=True, exist_ok=True)
            (folder / fence.title).write_text(fence.text, encoding="utf-8")
        elif fence.language == "python" and not lacks(fence.text):
            heard = StringIO()
            with redirect_stdout(heard):
                exec(compile(fence.text, f"{page.name}", "exec"), names)
            printed = heard.getvalue()
        elif fence.language == "text" and fence.follows:
            yield "python", fence.text, printed
        elif fence.language in ("bash", "console"):
            for command, shown in commands(fence):
                said = run_command(command, folder)
                if fence.language == "console" and shown.strip():
                    yield command, shown, said


def lacks(code: str) -> bool:
    """Whether it shows another tool that is not installed here."""
    shown = re.findall(r"^# \w+, (linopy|PyJobShop)$", code, flags=re.MULTILINE)
    return any(importlib.util.find_spec(tool.lower()) is None for tool in shown)


def commands(fence: Fence) -> Iterator[tuple[str, str]]:
    """Commands of a block, each with what is shown below it."""
    text = fence.text.replace("\\\n", " ")
    if fence.language == "bash":
        yield from ((line, "") for line in text.splitlines() if line.strip())
        return
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def run_command(line: str, folder: Path) -> str:
    """What a command prints. Only ours are run; it ends well unless a comment says otherwise."""
    words = shlex.split(line, comments=True)
    expected = int(line.rpartition("# exits ")[2]) if "# exits " in line else 0
    if not words or SET_UP.match(line):
        return ""
    if words[0] == "make":
        assert f"\n{words[1]}:" in (ROOT / "Makefile").read_text(encoding="utf-8"), line
        return ""
    if words[:2] == ["pip", "install"]:
        install(folder / words[-1])
        return ""
    if words[0] == "pytest":
        return run_pytest(words[1:], folder)
    if words[0] == "python":
        heard = StringIO()
        with redirect_stdout(heard):
            runpy.run_path(str(folder / words[1]), run_name="__main__")
        return heard.getvalue()
    assert words[0] == "optsched", f"a command that no test runs: {line}"
    target = ""
    if ">" in words:
        words, target = words[: words.index(">")], words[-1]
    result = CliRunner().invoke(app, words[1:], catch_exceptions=False)
    assert result.exit_code == expected, f"{line}\n{result.output}"
    if target:
        (folder / target).write_text(result.stdout, encoding="utf-8")
    wrote = [line for line in result.stderr.splitlines() if line.startswith("wrote ")]
    return "" if target else "\n".join([result.stdout.rstrip(), *wrote]) + "\n"


def run_pytest(words: list[str], folder: Path) -> str:
    """What pytest prints in a separate process, which knows nothing of the run it is part of."""
    path = os.pathsep.join([str(folder), str(ROOT)])
    plain = ["-p", "no:xdist", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plain, *words],
        cwd=folder,
        env={k: v for k, v in os.environ.items() if "PYTEST" not in k} | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def install(package: Path) -> None:
    """Make a package's modules and entry points found, as installing it would."""
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    folder = package / f"{project['name']}-{project['version']}.dist-info"
    folder.mkdir()
    name = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (folder / "METADATA").write_text(name, encoding="utf-8")
    lines = []
    for group, entries in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in entries.items())]
    (folder / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    forget()


def forget() -> None:
    """Look again at what is installed, here and in the processes that studies run in."""
    _by_name.cache_clear()
    get_reusable_executor().shutdown()


def same(shown: str, came: str) -> bool:
    """Whether what came is what is shown, but for seconds and versions."""
    plain: Callable[[str], str] = lambda text: VERSION.sub("v", CLOCK.sub(r"\1s", text))  # noqa: E731
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(plain(shown), plain(came), options)


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path) -> Iterator[None]:
    """What a page installs or imports from its files is gone with it."""
    yield
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(f"{tmp_path}{os.sep}"):
            del sys.modules[name]
    if list(tmp_path.glob("*.dist-info")):
        forget()


def test_ten_minutes_take_the_lines_it_says_and_at_most_25():
    page = ROOT / "docs" / "ten_minutes.md"
    typed = [line for fence in fences(page) for line in typed_lines(fence)]
    assert len(typed) <= 25
    assert f"You type {len(typed)} lines" in page.read_text(encoding="utf-8")


def typed_lines(fence: Fence) -> list[str]:
    """The lines of a block that a reader types: code, and commands with their continued lines."""
    text = fence.text
    if fence.language == "console":
        text = "".join(re.findall(r"^\$ (?:.*\\\n)*.*\n", text, flags=re.MULTILINE))
    elif fence.language not in ("bash", "python"):
        return []
    return [line for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name not in ELSEWHERE], ids=lambda page: page.stem
)
def test_every_block_of_a_page_runs_and_prints_what_is_shown(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))  # of the processes that commands start
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    for what, shown, came in run_page(page, tmp_path):
        assert same(shown, came), f"{what}\n--- shown\n{shown}\n--- came\n{came}"


NAMED = re.compile(
    r"`((?:optsched|formulations|heuristics)(?:\.\w+)+"
    r"|(?:optsched|formulations|heuristics|tests|benchmarks|studies|notebooks|docs)/[\w/*.-]+"
    r"|[\w/*-]+(?:\.py|/))`"
)
"""A dotted name of ours, or the path of a file or folder, in running text."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_path_and_dotted_name_on_a_page_exists(page: Path) -> None:
    for paragraph in FENCE.sub("\n\n", page.read_text(encoding="utf-8")).split("\n\n"):
        folders = [ROOT, ROOT / "optsched"]
        for name in NAMED.findall(paragraph):
            if re.fullmatch(r"\w+(\.\w+)+", name) and not name.endswith(".py"):
                assert name in NOT_MODULES or resolved(name), f"{page.name}: {name}"
                continue
            if name == "mine.py":  # of the reader
                continue
            pattern = name.replace("NAME", "*").rstrip("/")
            assert any(list(folder.glob(pattern)) for folder in folders), f"{page.name}: {name}"
            if name.endswith("/"):
                folders.append(ROOT / name)


NOT_MODULES = {f"optsched.{group}" for group in ("problems", "heuristics", "commands", "claims")}
"""Groups of entry points."""


def resolved(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def test_the_architecture_lists_the_layers_of_the_toolkit_in_order():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (layers,) = [c["layers"] for c in contracts["contracts"] if c.get("containers")]
    figure = next(fences(ROOT / "docs" / "architecture.md")).text
    shown = re.findall(r"^  (\w+) ", figure, flags=re.MULTILINE)
    assert shown == [layer for layer in layers if layer != "errors"]


def test_the_architecture_has_a_paragraph_for_every_package_of_the_toolkit():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    told = {name.rstrip("/") for name in re.findall(r"\*\*`optsched/(\w+/)`\*\*", text)}
    packages = {path.parent.name for path in (ROOT / "optsched").glob("*/__init__.py")}
    assert told == packages - {"cli"}


def test_the_page_for_users_of_other_tools_counts_its_own_code():
    page = ROOT / "docs" / "coming_from.md"
    code = {f.text.partition("\n")[0][2:]: f.text for f in fences(page) if f.language == "python"}
    code["ratio, linopy"] = code["optimum, linopy"] + code["ratio, linopy"]
    text = page.read_text(encoding="utf-8")
    for what, lines in code.items():
        row = " | ".join([what, *map(str, counted(lines))])
        assert f"| {row} |" in text, row


def counted(code: str) -> tuple[int, int, int]:
    """Lines of code, import statements, and distinct names that its author has to know."""
    nodes = list(ast.walk(ast.parse(code)))
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {alias.name for node in imports for alias in node.names}
    names |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    names |= {node.arg for node in nodes if isinstance(node, ast.keyword) and node.arg}
    lines = [line for line in code.splitlines() if line.strip() and not line.startswith("#")]
    return len(lines), len(imports), len(names)
