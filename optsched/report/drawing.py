"""Figures as SVG in the report: text stays text, points have names, colours follow the theme."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
from matplotlib.figure import Figure

_INK = "#010203"
"""Stands for the colour of the page's text while a figure is drawn."""

_LOOK: dict[Any, Any] = {
    "svg.hashsalt": "optsched",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "legend.facecolor": "none",
    "text.color": _INK,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
}

_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_URL = re.compile(r"url\(#([^)]+)\)")
_FONT_FAMILY = re.compile(r"font-family:[^;]*(;|$)")


@dataclass(frozen=True)
class Point:
    """A point of a picture, as the page shows it."""

    says: str
    """Under the pointer."""
    leads_to: str = ""
    """Id of a part of the page that a click on it shows; empty: none."""


Told = Mapping[str, Sequence[Point]]
"""By the gid of a collection of points."""


def drawing(figure: Figure, label: str, key: str, told: Told | None = None) -> str:
    """A figure as an SVG element; the same figure has the same one.

    Args:
        figure: drawn under ``look()``.
        label: what it shows, for those who hear the page.
        key: makes its ids differ from those of other drawings in the page.
        told: what points say under the pointer.
    """
    buffer = io.BytesIO()
    with look():
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    ElementTree.register_namespace("", _SVG[1:-1])
    root = ElementTree.fromstring(buffer.getvalue())
    for metadata in root.findall(f"{_SVG}metadata"):
        root.remove(metadata)
    for gid, points in (told or {}).items():
        group = next(part for part in root.iter() if part.get("id") == gid)
        _tell(group, points)
    prefix = "s" + hashlib.sha1(key.encode()).hexdigest()[:5]
    _make_ids_unique(root, prefix)
    _leave_font_to_the_page(root)
    del root.attrib["width"], root.attrib["height"]
    leads = root.find(f".//{_SVG}a") is not None  # what is an image has no parts to go to
    root.attrib.update({"role": "group" if leads else "img", "aria-label": label})
    text = ElementTree.tostring(root, encoding="unicode").replace(" />", "/>")
    return text.replace(_INK, "currentColor").replace("#000000", "currentColor")


def _tell(group: ElementTree.Element, points: Iterable[Point]) -> None:
    """Let each of a collection of points say what it is, and lead where it leads."""
    uses = [(parent, use) for parent in group.iter() for use in parent if use.tag == f"{_SVG}use"]
    for (parent, use), point in zip(uses, points, strict=True):
        ElementTree.SubElement(use, f"{_SVG}title").text = point.says
        if point.leads_to:
            link = ElementTree.Element(
                f"{_SVG}a", {"href": f"#{point.leads_to}", "aria-label": point.says}
            )
            parent.insert(list(parent).index(use), link)
            parent.remove(use)
            link.append(use)


def look() -> Any:
    """The setting in which figures of the page are drawn."""
    return mpl.rc_context(_LOOK)


def _make_ids_unique(root: ElementTree.Element, prefix: str) -> None:
    """Give the ids that something refers to a prefix, and take the others away."""
    referred: set[str] = set()
    for part in root.iter():
        for name, value in part.attrib.items():
            referred.update([value[1:]] if name == _LINK else _URL.findall(value))
    for part in root.iter():
        for name, value in list(part.attrib.items()):
            if name == "id":
                del part.attrib[name]
                if value in referred:
                    part.set("id", prefix + value)
            elif name == _LINK:
                del part.attrib[name]
                part.set("href", f"#{prefix}{value[1:]}")
            else:
                part.set(name, _URL.sub(rf"url(#{prefix}\1)", value))


def _leave_font_to_the_page(root: ElementTree.Element) -> None:
    """Take the font families out of the styles."""
    for part in root.iter():
        if "style" in part.attrib:
            part.set("style", _FONT_FAMILY.sub("", part.get("style", "")))
