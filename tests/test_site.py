"""The site builds without a warning, and holds what the guide and the code name."""

import importlib.util
import pkgutil
import re
from pathlib import Path

import pytest
from PIL import Image

import formulations
import heuristics
import optsched
from heuristics.common.figures import figures
from optsched.model import blocks
from optsched.problem import problems

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
    pages |= {Path("benchmarks")}
    pages |= {*(Path("notebooks") / path.stem for path in NOTEBOOKS)}
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
        assert "<!-- equations" not in text
        assert "The paper&rsquo;s numbers" in text or "The paper's numbers" in text
        assert "provisional" in text if "At quick scale" in text else "At full scale" in text


def test_every_figure_has_a_picture_of_this_version_under_its_present_caption():
    drawn = {
        f"{paper}_{one.number}.png": one
        for paper, of in figures().items()
        for one in of
        if one.sweep
    }
    kept = {path.name: path for path in (ROOT / "docs" / "assets" / "figures").iterdir()}
    assert kept.keys() == drawn.keys(), "make gallery"
    assert sum(path.stat().st_size for path in kept.values()) < 1.5e6
    for name, one in drawn.items():
        with Image.open(kept[name]) as picture:
            about = picture.info
        assert about["Software"] == f"optsched {optsched.__version__}", "make gallery"
        said = re.sub(
            r" Scale: small; \d+ seeds, n = [\d to]+ for each mean\.", "", about["Description"]
        )
        caption = f"Figure {one.number}. {one.caption.rstrip('.')}. {one.note}".strip()
        assert said == caption, "make gallery"


def test_the_page_of_figures_shows_every_picture_once_it_is_scrolled_to(site):
    text = next(site.glob("figures*")).read_text(encoding="utf-8")
    pictures = re.findall(r"<img[^>]*assets/figures/[^>]*>", text)
    drawn = [one for of in figures().values() for one in of if one.sweep]
    assert len(pictures) == len(drawn)
    assert all("lazy" in picture and "width" in picture for picture in pictures)
    assert text.count(f"Drawn by optsched {optsched.__version__}.") == len(drawn)
    assert text.count("Not drawn: ") == sum(len(of) for of in figures().values()) - len(drawn)


def hooks_of_the_site():
    """The module that makes pages."""
    spec = importlib.util.spec_from_file_location("hooks", ROOT / "docs" / "hooks.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_what_it_solves_lists_every_problem_with_its_objective_constraints_and_methods(site):
    text = next(site.glob("what_it_solves*")).read_text(encoding="utf-8")
    assert "<!--" not in text.partition("<article")[2].partition("</article>")[0]
    rows = {row.partition("<code>")[2].partition("</code>")[0]: row for row in text.split("<tr>")}
    ours = {
        n: p for n, p in problems().items() if p.instance_type.__module__[:13] == "formulations."
    }
    assert len(ours) >= 9  # tests of other modules register problems of their own
    for name, problem in ours.items():
        assert problem.sense in rows[name]
        assert any(number in rows[name] for number in ("(2", "(5", "(L2"))
        for method in (*problem.formulations, *problem.bounds, *problem.heuristics):
            assert f"<code>{method}</code>" in rows[name]
    assert "its server" in rows["dsrp"]
    assert "its server" not in rows["drp"]
    for kind in {*blocks.__all__} - {"Block", "Linear"}:
        assert f"<code>{getattr(blocks, kind).kind}</code>" in text


def test_the_glossary_explains_each_term_in_few_sentences_and_in_order():
    entries = re.split(r"^### ", (ROOT / "docs" / "glossary.md").read_text("utf-8"), flags=re.M)[1:]
    terms = [entry.partition("\n")[0] for entry in entries]
    assert len(terms) >= 20
    assert terms == sorted(terms, key=str.lower)
    for entry in entries:
        assert entry.count(".\n") + entry.count(". ") <= 3, entry
