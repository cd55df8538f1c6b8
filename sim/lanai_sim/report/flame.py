"""A flame graph as one SVG: width is time, what stands on a box was called by it. Point at a box to
read its share."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from zlib import crc32

from .stacks import Stack

WIDTH, ROW, LETTER = 1200, 18, 6.6
NARROWEST = 0.4  # pixels; what is narrower is left out


@dataclass
class Box:
    """A function on a stack, with all that it called."""

    name: str
    time: int = 0
    children: dict[str, "Box"] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        return 1 + max((child.depth for child in self.children.values()), default=0)


def tree(totals: Mapping[Stack, int], root: str) -> Box:
    top = Box(root)
    for stack, time in totals.items():
        box = top
        box.time += time
        for name in stack:
            box = box.children.setdefault(name, Box(name))
            box.time += time
    return top


def svg(totals: Mapping[Stack, int], title: str, unit: str = "slots") -> str:
    """The picture; `totals` as `stacks.fold` gives them."""
    top = tree(totals, "all")
    height = (top.depth + 2) * ROW
    boxes: list[str] = []
    _draw(boxes, top, 0.0, height - ROW, WIDTH / max(top.time, 1), top.time, unit)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="monospace" '
        'font-size="11">'
        f'<text x="4" y="13" font-size="13" fill="currentColor">{escape(title)}</text>{"".join(boxes)}</svg>\n'
    )


def _draw(boxes: list[str], box: Box, x: float, y: float, scale: float, whole: int, unit: str) -> None:
    width = box.time * scale
    if width < NARROWEST:
        return
    share = 100 * box.time / max(whole, 1)
    label = box.name if len(box.name) * LETTER < width - 4 else box.name[: max(int((width - 8) / LETTER), 0)]
    boxes.append(
        f"<g><title>{escape(box.name)}: {box.time:,} {unit}, {share:.2f} %</title>"
        f'<rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{ROW - 1}" fill="{_colour(box.name)}"/>'
        f'<text x="{x + 3:.2f}" y="{y + 13}" pointer-events="none">{escape(label)}</text></g>'
    )
    for child in sorted(box.children.values(), key=lambda child: child.name):
        _draw(boxes, child, x, y - ROW, scale, whole, unit)
        x += child.time * scale


def _colour(name: str) -> str:
    """A warm colour, the same for a name always."""
    seed = crc32(name.encode())
    return f"hsl({20 + seed % 35} {65 + seed // 64 % 25}% {62 + seed // 4096 % 14}%)"
