"""The site builds without a warning, and holds what the guide and the code name."""

import importlib.util
import pkgutil
import re
from pathlib import Path

import pytest

import formulations
import heuristics
import optsched

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, its notebooks not executed; the reference has one page in full."""
    pytest.importorskip("material", reason="the site needs the extra docs")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    folder = tmp_path_factory.mktemp("site")
    polyfills = ["assets/iframe-worker.js"]
    extra = {"quick": True, "generator": False, "polyfills": polyfills}
    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), extra=extra))
    return folder


def test_the_site_builds_without_a_warning_and_names_every_page(site):
    pages = {
        path.relative_to(ROOT / "docs").with_suffix("") for path in (ROOT / "docs").rglob("*.md")
    }
    pages |= {Path("benchmarks"), *(Path("notebooks") / path.stem for path in NOTEBOOKS)}
    for page in pages:
        assert list(site.glob(f"{page}.html")) or list(site.glob(f"{page}/index.html")), page


def test_the_reference_names_every_package_and_what_it_exports(site):
    hooks = hooks_of_the_site()
    shown = {name for names in hooks.reference().values() for name in names}
    assert {"optsched.model", "optsched.problem", "formulations.preemptive.problem_2"} <= shown
    rooms = {"optsched", "formulations", "heuristics"} | {
        found.name
        for package in (optsched, formulations, heuristics)
        for found in pkgutil.iter_modules(package.__path__, package.__name__ + ".")
        if found.ispkg and not hooks.INNER.match(found.name)
    }
    assert rooms <= shown
    for page in hooks.reference():
        assert list(site.glob(f"reference/{page}.html")), page


def test_the_site_loads_nothing_from_elsewhere_and_has_no_formula_left_in_latex(site):
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=\"?(https?:[^\"> ]+)", text)
        assert not loaded, (page, loaded)
        assert 'class="arithmatex"' not in text, page


def test_papers_show_their_models_and_claims(site):
    for paper in ("preemptive", "okita", "batch", "drp", "aerialedge"):
        text = next(site.glob(f"papers/{paper}*")).read_text(encoding="utf-8")
        assert "<math" in text
        assert "constraints in" in text
        assert "provisional" in text if "At quick scale" in text else "At full scale" in text


def hooks_of_the_site():
    """The module that makes pages."""
    spec = importlib.util.spec_from_file_location("hooks", ROOT / "docs" / "hooks.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made
