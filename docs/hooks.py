"""What the site has beside the pages in this folder: reference, executed notebooks, formulas.

``mkdocs`` calls the functions named ``on_...`` (see ``hooks`` in mkdocs.yml).
"""

from __future__ import annotations

import hashlib
import inspect
import json
import pkgutil
import re
import shlex
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from importlib import import_module
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import griffe
from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from PIL import Image

from optsched.report.formulas import mathml

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "out" / "notebooks"
"""Executed notebooks, by what they were executed with."""

PACKAGES = ("optsched", "formulations", "heuristics")
INNER = re.compile(r"optsched\.(cli|jit|parallel)")
"""Packages that are no part of the reference."""
PUBLIC = re.compile(
    r"optsched(\.\w+)?|optsched\.evaluation\.\w+"
    r"|optsched\.(model\.(model|expression)|solvers\.(backend|options|solution|registry)|study\.spec)"
    r"|(formulations|heuristics)(\.\w+)?"
    r"|formulations\.\w+\.(instance|schedule|check|generator|workload|problem_\w+)"
    r"|heuristics\.\w+\.(a_online|okita|r_dr|r_dsr|aerialedge|baselines)"
)
"""Modules that are part of it. What a package's ``__all__`` names stands under the package."""


QUICK = "optsched.session"
"""The one module of the reference that a quick build shows."""


class Examples(griffe.Extension):
    """Shows a docstring's ``Example:`` as code, as the plural is."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Read the singular as the plural."""
        if obj.docstring:
            text = obj.docstring.value
            obj.docstring.value = re.sub(r"^( *)Example:$", r"\1Examples:", text, flags=re.M)


def modules() -> Iterator[str]:
    """The modules of the reference."""
    for package in PACKAGES:
        found = pkgutil.walk_packages(import_module(package).__path__, package + ".")
        for name in [package, *(module.name for module in found)]:
            if PUBLIC.fullmatch(name) and not INNER.match(name):
                yield name


def reference() -> dict[str, list[str]]:
    """Modules by their page: one for each package, and one for modules in no package."""
    pages: dict[str, list[str]] = {}
    for name in modules():
        package = ".".join(name.split(".")[:2])
        page = package if (ROOT / package.replace(".", "/")).is_dir() else name.split(".")[0]
        pages.setdefault(page, []).append(name)
    return pages


def notebooks() -> list[Path]:
    """The notebooks, by name."""
    return sorted((ROOT / "notebooks").glob("*.ipynb"))


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the pages that are made in their parts of the navigation."""
    parts = {name: part for entry in config.nav or [] if isinstance(entry, dict)
             for name, part in entry.items()}  # fmt: skip
    parts["Tutorial"].append({"Notebooks": [f"notebooks/{path.stem}.md" for path in notebooks()]})
    parts["Reference"].append({"Packages": [f"reference/{page}.md" for page in reference()]})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made. ``extra.quick`` leaves out what takes its time."""
    quick = config.extra.get("quick", False)
    pages = reference()
    for page, names in pages.items():
        shown = [] if quick and page != QUICK else names
        text = f"# {page}\n" + "".join(f"\n::: {name}\n" for name in shown)
        files.append(File.generated(config, f"reference/{page}.md", content=text))
    for path, parts in zip(notebooks(), executed(quick), strict=True):
        for name, content in parts.items():
            where = f"notebooks/{name}" if name.endswith(".md") else f"notebooks/{path.stem}/{name}"
            files.append(File.generated(config, where, content=content))
    text = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    content = text.replace("](../docs/", "](")
    files.append(File.generated(config, "benchmarks.md", content=content))
    return files


def executed(quick: bool) -> list[dict[str, str | bytes]]:
    """The notebooks as pages: Markdown by the page's name, and pictures.

    Executing them takes minutes, so what came out is kept until a notebook or the code changes.
    """
    if quick:
        return [as_page(path, execute=False) for path in notebooks()]
    with ThreadPoolExecutor(2) as pool:  # each has a separate process
        return list(pool.map(kept_page, notebooks()))


def kept_page(path: Path) -> dict[str, str | bytes]:
    """A notebook's page, executed unless it was."""
    sources = sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))
    cases = sorted((ROOT / "notebooks" / "cases").glob("*.json"))
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in [path, *cases, *sources]))
    folder = KEPT / f"{path.stem}-{digest.hexdigest()[:12]}"
    if not folder.is_dir():
        making = folder.with_suffix(".part")
        making.mkdir(parents=True, exist_ok=True)
        for name, content in as_page(path, execute=True).items():
            data = content.encode() if isinstance(content, str) else content
            (making / name).write_bytes(data)
        making.rename(folder)
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def as_page(path: Path, *, execute: bool) -> dict[str, str | bytes]:
    """A notebook as Markdown, with its pictures."""
    import nbformat
    from nbclient import NotebookClient
    from nbconvert import MarkdownExporter

    notebook = nbformat.read(path, as_version=4)
    if execute:
        NotebookClient(
            notebook, timeout=600, resources={"metadata": {"path": path.parent}}
        ).execute()
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "text/html" in data:
                data["text/html"] = mathml(data["text/html"])
    for cell in notebook.cells:
        cell.source = cell.source.replace("](../docs/", "](../")
    text, resources = MarkdownExporter().from_notebook_node(notebook)
    pictures: dict[str, str | bytes] = dict(resources.get("outputs", {}))
    for name in pictures:
        text = text.replace(f"({name})", f"({path.stem}/{name})")
    return {f"{path.stem}.md": text} | pictures


LONG = ("claims.md", "benchmarks.md")
"""Pages that are numbers for the most part, which nobody searches."""


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Put models and claims where a page asks for them."""
    if page.file.src_uri in LONG:
        page.meta["search"] = {"exclude": True}
    markdown = re.sub(r"<!-- model: (.+?) -->", lambda found: model(found[1]), markdown)
    markdown = re.sub(r"<!-- claims: (\w+) -->", lambda found: claims(found[1]), markdown)
    markdown = re.sub(r"<!-- equations: (.+?) -->", lambda found: equations(found[1]), markdown)
    markdown = re.sub(r"<!-- figures: (\w+) -->", lambda found: figures(found[1]), markdown)
    for made in (solves, statements):
        mark = f"<!-- {made.__name__} -->"
        markdown = markdown.replace(mark, made()) if mark in markdown else markdown
    return markdown


def solves() -> str:
    """The table of problems: objective, constraints, methods, as they are registered."""
    from optsched.problem import problems

    lines = ["| problem | objective | constraints | methods |", "|---|---|---|---|"]
    for name, found in problems().items():
        package, _, paper = found.instance_type.__module__.partition(".")
        if package != "formulations":  # of somebody else, who registered it in this process
            continue
        paper = paper.partition(".")[0]
        objective = (inspect.getdoc(found.cost) or "").splitlines()[0].partition(";")[0].rstrip(".")
        models = sorted(found.formulations, key=lambda m: m != found.reference)
        kinds = {
            "exact, the reference first": [
                m for m in models if not found.formulations[m].relaxation
            ],
            "relaxations, bounds and subproblems": dict.fromkeys(
                [*(m for m in models if found.formulations[m].relaxation), *found.bounds]
            ),
            "proposed by the paper": [h for h, a in found.heuristics.items() if a.proposed],
            "other algorithms": [h for h, a in found.heuristics.items() if not a.proposed],
        }
        methods = "<br>".join(
            f"{kind}: {', '.join(f'`{one}`' for one in names)}" for kind, names in kinds.items()
        )
        lines.append(
            f"| [`{name}`](papers/{paper}.md)<br>{found.summary} "
            f"| {found.sense} {objective[0].lower()}{objective[1:]} "
            f"| {'<br>'.join(constraints(paper, name))} | {methods} |"
        )
    return "\n".join(lines)


def constraints(paper: str, problem: str) -> list[str]:
    """What a paper's page says in words of each constraint that a problem has."""
    page = (ROOT / "docs" / "papers" / f"{paper}.md").read_text(encoding="utf-8")
    table = page.split("| | constraint | in words |\n|---|---|---|\n")[1].split("\n\n")[0]
    rows = [line.strip("| ").rsplit(" | ", 1) for line in table.splitlines()]
    found = []
    for start, words in rows:
        only, colon, rest = words.partition("`: ")
        if not colon or only == f"`{problem}":
            found.append(f"({start.split(' | ')[0]}) {rest if colon else words}")
    return found


def statements() -> str:
    """The table of what a model may say beside rows, and which solver takes it as it is."""
    from optsched.model import blocks
    from optsched.solvers.registry import announced, backend

    kinds = [getattr(blocks, name) for name in blocks.__all__ if name not in ("Block", "Linear")]
    native: dict[str, list[str]] = {}
    for solver in announced():
        for kind in backend(solver).native:
            native.setdefault(kind, []).append(solver)
    lines = ["| statement | solvers that take it as it is | for the others |", "|---|---|---|"]
    for kind in kinds:
        taken = ", ".join(f"`{solver}`" for solver in native.get(kind.kind, [])) or "-"
        lines.append(f"| `{kind.kind}`: {statement(kind)} | {taken} | {kind.how} |")
    return "\n".join(lines)


def statement(kind: type) -> str:
    """The first sentence of a block's docstring."""
    return " ".join((inspect.getdoc(kind) or "").split("\n\n")[0].split()).rstrip(".")


def model(words: str) -> str:
    """``problem.formulation option=value ...``: the model of a generated instance, as it shows."""
    import numpy as np

    from optsched.problem import problem

    name, *options = shlex.split(words)
    chosen, formulation = name.split(".")
    given = {key: json.loads(value) for key, value in (pair.split("=") for pair in options)}
    instance = problem(chosen).generate(np.random.default_rng(0), **given)
    built: Any = problem(chosen).formulations[formulation]
    return mathml(built.build(instance)._repr_html_())


def equations(names: str) -> str:
    """Problems by name: the table of the paper's numbers, and where each is in the models."""
    from optsched.problem import problem

    found: dict[str, list[Any]] = {}
    closest: dict[str, Any] = {}
    for one in map(problem, names.split()):
        for equation in one.equations():
            found.setdefault(equation.number, []).append(equation)
            closest.setdefault(equation.number, one.equation(equation.number))
    lines = ["| number | statement | where |", "|---|---|---|"]
    for number in sorted(found, key=lambda n: (int(n.rstrip(ascii_lowercase)), n)):
        best = closest[number]
        formulas = "<br>".join(f"${formula}$" for formula in best.formulas)
        models: dict[str, list[str]] = {}
        for one in [best, *(other for other in found[number] if other != best)]:
            text = one.reason or ", ".join(f"`{name}`" for name in one.names)
            models.setdefault(text, []).append(f"`{one.model}`")
        where = "<br>".join(f"{', '.join(names)}: {text}" for text, names in models.items())
        lines.append(f"| {number} | {formulas} | {where} |")
    return "\n".join(lines)


def figures(paper: str) -> str:
    """Show a paper's figures: picture and what it shows, or why there is none."""
    from heuristics.common.figures import figures as declared

    parts = []
    for one in declared(paper)[paper]:
        if one.missing:
            text = f"{one.caption} Not drawn: {one.missing}"
        else:
            text = shown(f"{paper}_{one.number}.png", ", ".join(one.series))
        if one.printed:
            text += "\n\nPrinted: " + "; ".join(dict.fromkeys(n.text for n in one.printed)) + "."
        parts.append(f"### Figure {one.number} {{#{paper}-{one.number}}}\n\n{text}")
    return "\n\n".join(parts)


def shown(name: str, series: str) -> str:
    """Return a picture of the gallery, and its caption with the version that drew it."""
    with Image.open(ROOT / "docs" / "assets" / "figures" / name) as picture:
        about, width, height = picture.info, picture.width, picture.height
    size = f"loading=lazy width={width} height={height}"
    caption = f"{about['Description'].partition('. ')[2]} Drawn by {about['Software']}."
    return f"![{series}](assets/figures/{name}){{{size}}}\n\n{caption}"


def claims(paper: str) -> str:
    """The table of a paper's claims, from the page that ``optsched claims`` wrote."""
    text = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    before, section = text.split(f"\n## {paper}\n")
    scale = "full" if "full scale" in before[before.rindex("\nMade by ") :] else "quick"
    return f"At {scale} scale. " + section.split("\n\n- ")[0].strip()


def on_page_content(html: str, **_: Any) -> str:
    """Turn LaTeX into MathML, which browsers show by themselves."""
    return re.sub(
        r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>',
        lambda found: convert(unescape(found[2]), display=["inline", "block"][found[1] == "div"]),
        html,
        flags=re.DOTALL,
    )


def on_post_build(config: MkDocsConfig) -> None:
    """Drop what no reader loads, maps of scripts and stemmers; 256 colours do for a picture."""
    for path in Path(config.site_dir).rglob("*.png"):
        if (picture := Image.open(path)).mode == "P":
            continue
        picture = picture.convert("RGBA")
        if picture.getextrema()[3] == (255, 255):  # nothing shines through
            picture.convert("RGB").quantize(256).save(path, optimize=True)
    scripts = Path(config.site_dir) / "assets" / "javascripts"
    languages = (scripts / "lunr").rglob("*.js")
    for path in [*Path(config.site_dir).rglob("*.map"), *languages]:
        path.unlink()
