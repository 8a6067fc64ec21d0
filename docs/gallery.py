"""Draw every figure at small scale for the page of figures: ``make gallery``.

A picture carries its caption and the version that drew it, so that neither can get lost.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo

import optsched
from heuristics.common.figure_command import STORE
from heuristics.common.figures import PaperFigure, figures
from heuristics.common.measure import Measured, measure_sweeps
from optsched.parallel.local import cores
from optsched.study.sweep import Sweep

FOLDER = Path(__file__).parent / "assets" / "figures"
DOTS_PER_INCH = 80
COLOURS = 64
"""In a picture; median cut, which is the default, would change those of the series."""


def draw(found: Mapping[str, Sequence[PaperFigure]], measured: Mapping[Sweep, Measured]) -> None:
    """Write the picture of every figure, and remove what is none."""
    FOLDER.mkdir(exist_ok=True)
    pictures = {
        FOLDER / f"{paper}_{one.number}.png": as_png(one, measured[one.sweep])
        for paper, of in found.items()
        for one in of
        if one.sweep is not None
    }
    for path in FOLDER.iterdir():
        path.unlink()
    for path, picture in pictures.items():
        path.write_bytes(picture)


def as_png(one: PaperFigure, measured: Measured) -> bytes:
    """A figure without its caption, which is text of the file: ``Description``."""
    if measured.error or measured.reason:
        raise SystemExit(f"figure {one.number}: {measured.error or measured.reason}")
    about = PngInfo()
    about.add_text("Description", one.caption_of(measured.table, "small"))
    about.add_text("Software", f"optsched {optsched.__version__}")
    drawn, made = io.BytesIO(), io.BytesIO()
    one.draw(one.points(measured.table)).savefig(drawn, dpi=DOTS_PER_INCH)
    picture = Image.open(drawn).convert("RGB")
    picture = picture.quantize(COLOURS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    picture.save(made, "png", optimize=True, pnginfo=about)
    return made.getvalue()


if __name__ == "__main__":
    known = figures()
    sweeps = {one.sweep: paper for paper, of in known.items() for one in of if one.sweep}
    STORE.parent.mkdir(exist_ok=True)
    draw(known, measure_sweeps(sweeps, "quick", workers=cores(), keep=STORE))
