"""Figures as drawings in the page: text stays text, points tell what they are, ink is its ink."""

from __future__ import annotations

import hashlib
import io
import itertools
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
_DECIMAL = re.compile(r"-?\d+\.\d{2,}")
_COMMAND = re.compile(r"\s*([A-Za-z])\s*")
_URL = re.compile(r"url\(#([^)]+)\)")

_PART = re.compile(r"([A-Za-z])([^A-Za-z]*)")
_CLOSED = re.compile(r"(M([-\d.]+) ([-\d.]+)V[-\d.]+H[-\d.]+V\3)H\2z")
_BOX = re.compile(r"M([-\d.]+) ([-\d.]+)V([-\d.]+)H([-\d.]+)V\2z")
_BOXES = re.compile(r"(?:M[-\d.]+ [-\d.]+V[-\d.]+H[-\d.]+V[-\d.]+z){2,}")


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
    _lighten(root, prefix)
    _unwrap(root)
    _join(root)
    _share_patterns(root, prefix)
    _share_styles(root, prefix)
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


def _lighten(root: ElementTree.Element, prefix: str) -> None:
    """Short ids, and none that nothing refers to; coordinates to 0.01 point."""
    names: dict[str, str] = {}  # of what is referred to
    for part in root.iter():
        for name, value in part.attrib.items():
            used = [value[1:]] if name == _LINK else _URL.findall(value)
            for one in used:
                names.setdefault(one, f"{prefix}i{len(names)}")
    for part in root.iter():
        for name, value in list(part.attrib.items()):
            if name == "id":
                del part.attrib[name]
                if value in names:
                    part.set("id", names[value])
            elif name == _LINK:
                del part.attrib[name]
                part.set("href", f"#{names[value[1:]]}")
            elif name in ("d", "x", "y", "points", "transform"):
                short = _DECIMAL.sub(_rounded, value)
                if name == "d":
                    short = _straight(_COMMAND.sub(r"\1", short.strip()))
                if name == "transform" and short.startswith("rotate(-0 "):
                    del part.attrib[name]
                else:
                    part.set(name, short)
            else:
                part.set(name, _URL.sub(lambda found: f"url(#{names[found[1]]})", value))


def _straight(path: str) -> str:
    """A path whose lines along an axis say one number each, and none that closing draws."""
    said, x, y = [], "", ""
    for command, numbers in _PART.findall(path):
        last_x, last_y = ["", "", *numbers.split()][-2:]
        if command == "L" and last_x == x:
            said.append(f"V{last_y}")
        elif command == "L" and last_y == y:
            said.append(f"H{last_x}")
        else:
            said.append(command + numbers)
        x, y = last_x, last_y
    return _CLOSED.sub(r"\1z", "".join(said))


def _unwrap(root: ElementTree.Element) -> None:
    """Take out groups that say nothing of their parts; make one of neighbours that say the same."""
    group = f"{_SVG}g"
    for parent in reversed(list(root.iter())):
        parts: list[ElementTree.Element] = []
        for part in parent:
            if part.tag != group or (part.attrib and not part.get("clip-path")):
                parts.append(part)
            elif not part.attrib:
                parts.extend(part)
            elif parts and parts[-1].tag == group and parts[-1].attrib == part.attrib:
                parts[-1].extend(part)
            else:
                parts.append(part)
        parent[:] = parts


def _join(root: ElementTree.Element) -> None:
    """Make one path of neighbours that look alike; not where one would show through another."""
    for parent in root.iter():
        last: ElementTree.Element | None = None
        for part in list(parent):
            alike = (
                last is not None
                and part.tag == last.tag == f"{_SVG}path"
                and {**part.attrib, "d": ""} == {**last.attrib, "d": ""}
                and "opacity" not in part.get("style", "")
            )
            if alike and last is not None:
                last.set("d", last.get("d", "") + part.get("d", ""))
                parent.remove(part)
            else:
                last = part
    for path in root.iter(f"{_SVG}path"):
        path.set("d", _BOXES.sub(_in_a_row, path.get("d", "")))


def _in_a_row(found: re.Match[str]) -> str:
    """Boxes side by side as one, with a line where one ends and the next begins."""
    rows: list[list[tuple[str, ...]]] = []
    for box in _BOX.findall(found[0]):
        x, top, bottom, _ = box
        last = rows[-1][-1] if rows else None
        if last is not None and last[1:] == (top, bottom, x):
            rows[-1].append(box)
        else:
            rows.append([box])
    said = []
    for row in rows:
        (x, top, bottom, _), end = row[0], row[-1][3]
        height = float(bottom) - float(top)
        said.append(f"M{x} {top}V{bottom}H{end}V{top}z")
        for number, (start, _, _, cut) in enumerate(row[:-1]):
            line = -height if number % 2 else height
            said.append(f"m{_short(float(cut) - float(start))} 0v{_short(line)}")
    return "".join(said)


def _share_styles(root: ElementTree.Element, prefix: str) -> None:
    """One rule for every look that several parts have; the letters are the page's."""
    looks: dict[str, list[ElementTree.Element]] = {}
    for part in root.iter():
        part.text = (part.text or "").strip() or None
        part.tail = None if part.tag != f"{_SVG}tspan" else part.tail
        style = re.sub(r"font-family:[^;]*(;|$)", "", part.attrib.pop("style", "")).strip("; ")
        clip = part.attrib.pop("clip-path", "")  # as often said as a colour
        style = "; ".join(filter(None, (style, clip and f"clip-path: {clip}")))
        if style:
            looks.setdefault(style, []).append(part)
    rules = []
    for number, (style, parts) in enumerate(looks.items()):
        if len(parts) == 1:
            parts[0].set("style", style)
            continue
        rules.append(f".{prefix}{number}{{{style}}}")
        for part in parts:
            part.set("class", f"{prefix}{number}")
    _say_once(root, [f"{prefix}{n}" for n, style in enumerate(looks) if "opacity" not in style])
    sheet = ElementTree.Element(f"{_SVG}style")
    sheet.text = "".join(rules)
    root.insert(0, sheet)


def _share_patterns(root: ElementTree.Element, prefix: str) -> None:
    """Draw the lines of a hatching once, whatever colours they lie on."""
    known: dict[str, str] = {}
    for pattern in root.iter(f"{_SVG}pattern"):
        for lines in pattern.findall(f"{_SVG}path"):
            said = str(sorted(lines.attrib.items()))
            if said in known:
                lines.tag = f"{_SVG}use"
                lines.attrib.clear()
                lines.set("href", f"#{known[said]}")
            else:
                known[said] = f"{prefix}h{len(known)}"
                lines.set("id", known[said])


def _say_once(root: ElementTree.Element, classes: Sequence[str]) -> None:
    """Let neighbours of one look have it from a group."""
    inheriting = (f"{_SVG}use", f"{_SVG}text", f"{_SVG}path")
    for parent in list(root.iter()):
        parts: list[ElementTree.Element] = []
        for look, alike in itertools.groupby(
            parent, lambda part: part.get("class", "") if part.tag in inheriting else ""
        ):
            same = list(alike)
            if look in classes and len(same) > 2:
                for part in same:
                    del part.attrib["class"]
                group = ElementTree.Element(f"{_SVG}g")
                group.set("class", look)
                group.extend(same)
                same = [group]
            parts.extend(same)
        parent[:] = parts


def _rounded(number: re.Match[str]) -> str:
    return _short(float(number[0]))


def _short(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
