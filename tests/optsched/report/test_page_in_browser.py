"""The page in a headless browser: nothing on the console, nothing wider than the window, tables
that sort; at 1280 and 360 pixels, and in the dark."""

import html
import json
import re
import shutil
import subprocess

import pytest

from optsched.study import Ratios, Store, StudyGrid, run_study
from optsched.study.page import study_page

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium on this machine")

LOOK = """
const page = document.getElementById("page");
const pause = () => new Promise((go) => setTimeout(go, 100));
page.addEventListener("load", () => setTimeout(async () => {
  const inside = page.contentDocument, width = inside.documentElement.clientWidth;
  const scrolls = (part) =>
    part && (getComputedStyle(part).overflowX === "auto" || scrolls(part.parentElement));
  const wide = [...inside.body.querySelectorAll("*")]
    .filter((part) => part.getBoundingClientRect().right > width + 1)
    .filter((part) => !scrolls(part.parentElement))
    .map((part) => part.tagName + " " + part.className);
  const cells = () => [...inside.querySelectorAll(".headline th, .headline td")]
    .filter((cell) => cell.scrollWidth > cell.clientWidth + 1).map((cell) => cell.textContent);
  for (let turn = 0; turn < 20 && cells().length; turn++) await pause();  // until it is laid out
  const cut = cells();
  const head = inside.querySelectorAll("#overview th")[1], column = () =>
    [...inside.querySelectorAll("#overview tbody td:nth-child(2)")].map((cell) =>
      cell.dataset.order);
  const ratio = head.getBoundingClientRect().right, before = column();
  const sorted = [];
  for (const _ of [0, 1]) { head.click(); await pause(); sorted.push(column()); }
  const shown = () => [...inside.querySelectorAll(".run")]
    .filter((part) => part.getBoundingClientRect().height > 0).map((part) => part.id);
  const runs = [shown()], link = inside.querySelector('svg a[href="#covering-run-1"]');
  link.focus();
  const focused = inside.activeElement === link;
  link.dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true}));
  await pause();
  runs.push(shown());
  document.getElementById("seen").textContent = JSON.stringify({
    runs, focused, width, wide, cut, ratio, before, sorted,
    scroll: inside.documentElement.scrollWidth,
    ink: getComputedStyle(inside.body).color, paper: getComputedStyle(inside.body).backgroundColor,
    titles: inside.querySelectorAll("svg use title").length});
}, 200));
"""


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """The page of a small study with two parameters."""
    path = tmp_path_factory.mktemp("browser") / "study.sqlite"
    options = {"items": [3, 6], "tightness": [0.3, 0.7]}
    grid = StudyGrid("covering", options, seeds=range(2), heuristics=["greedy", "everything"])
    run_study([grid], path, workers=1)
    with Store.reading(path) as kept:
        return study_page(Ratios.of(kept), kept, "A study", ["optsched study run study.toml"])


def seen(text, folder, width, *flags):
    """What a browser makes of the page in a frame of that width, and what its console says."""
    # a link to a place in the page is one there, and not in the host
    text = text.replace("<head>", '<head><base href="about:srcdoc">')
    host = folder / "host.html"
    host.write_text(
        f'<!doctype html><pre id="seen"></pre><iframe id="page" style="border:0" width="{width}" '
        f'height="900" srcdoc="{html.escape(text)}"></iframe><script>{LOOK}</script>',
        encoding="utf-8",
    )
    made = subprocess.run(
        [
            *(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"),
            *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
            *("--disable-sync", f"--user-data-dir={folder / 'profile'}", "--window-size=1400,1000"),
            *("--enable-logging=stderr", "--virtual-time-budget=8000", "--dump-dom", *flags),
            host.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    told = re.search(r'<pre id="seen">(.+?)</pre>', made.stdout, re.DOTALL)
    assert told, made.stderr
    console = [line for line in made.stderr.splitlines() if "CONSOLE" in line]
    return json.loads(html.unescape(told[1])), console


@pytest.mark.parametrize("width", [1280, 360])
def test_nothing_is_wider_than_the_window_and_the_console_is_silent(text, tmp_path, width):
    found, console = seen(text, tmp_path, width)
    assert console == []
    assert found["wide"] == []
    assert found["cut"] == []  # cells of the first table
    assert found["scroll"] <= found["width"] <= width
    assert found["ratio"] <= width  # the column of ratios is in view
    assert found["titles"] > 8  # points that tell which instance they are


def test_a_click_on_a_heading_sorts_the_table_by_number(text, tmp_path):
    found, _ = seen(text, tmp_path, 1280)
    up, down = found["sorted"]
    assert sorted(up) == sorted(down) == sorted(found["before"])
    assert up == sorted(up, key=float)
    assert down == up[::-1]


def test_a_click_on_a_point_shows_its_run_in_the_place_of_the_first(text, tmp_path):
    found, console = seen(text, tmp_path, 420)
    assert console == []
    assert found["focused"]  # so that Enter does what a click does
    assert found["runs"] == [["covering-run-0"], ["covering-run-1"]]


def test_a_reader_who_prefers_the_dark_has_light_ink_on_dark_paper(text, tmp_path):
    def brightness(colour):
        return sum(map(int, re.findall(r"\d+", colour)[:3]))

    day, _ = seen(text, tmp_path, 420)
    night, console = seen(text, tmp_path, 420, "--blink-settings=preferredColorScheme=0")
    assert console == []
    assert brightness(day["ink"]) < brightness(day["paper"])
    assert brightness(night["ink"]) > brightness(night["paper"])
