"""Whether a reader can read a picture: nothing overlaps, nothing is cut off."""

from itertools import combinations, pairwise


def unreadable(picture):
    """What overlaps or leaves the picture, by name: panels, legend, caption, ticks of an axis."""
    picture.draw_without_rendering()
    (body,) = picture.subfigs
    (legend,) = body.legends
    boxes = {f"panel {i}": ax.get_tightbbox() for i, ax in enumerate(picture.axes)}
    boxes |= {"legend": legend.get_window_extent()}
    if picture.get_supxlabel():
        boxes |= {"caption": picture._supxlabel.get_window_extent()}
    found = [f"{a} and {b}" for a, b in combinations(boxes, 2) if boxes[a].overlaps(boxes[b])]
    found += [name for name, box in boxes.items() if not within(box, picture.bbox)]
    for i, ax in enumerate(picture.axes):
        ticks = [label for label in ax.get_xticklabels() if label.get_text()]
        if any(label.get_rotation() for label in ticks):
            continue  # slanted names may share a rectangle
        for a, b in pairwise(ticks):
            if a.get_window_extent().overlaps(b.get_window_extent()):
                found.append(f"ticks {a.get_text()} and {b.get_text()} of panel {i}")
    return found


def within(box, whole):
    return whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0 and box.y1 <= whole.y1
