"""The head of a waveform: the scopes and names of the signals that a model puts out."""

from collections.abc import Iterable
from typing import Any


def header(signals: Iterable[tuple[str, int]]) -> str:
    """A VCD's text up to the first time. `signals`: paths and widths, in the order of their numbers. All begin in one
    scope, whose own signals, the ports among them, stand beside it too."""
    tree: dict[str, Any] = {}
    for number, (path, width) in enumerate(signals):
        *scopes, name = path.split(".")
        place = tree
        for scope in scopes:
            place = place.setdefault(scope, {})
        place[f"{name} "] = (number, width)  # the space tells it from a scope of this name
    ports = {name: what for one in tree.values() for name, what in one.items() if not isinstance(what, dict)}
    lines = ["$version openlanai $end", "$timescale 1ps $end", "$scope module TOP $end"]
    lines += [*_scope(ports), *_scope(tree), "$upscope $end", "$enddefinitions $end"]
    return "\n".join(lines) + "\n"


def _scope(tree: dict[str, Any]) -> list[str]:
    lines = []
    for name, what in tree.items():
        if isinstance(what, dict):
            lines += [f"$scope module {name} $end", *_scope(what), "$upscope $end"]
        else:
            number, width = what
            bits = f" [{width - 1}:0]" if width > 1 else ""
            lines.append(f"$var wire {width} {code(number)} {name.rstrip()}{bits} $end")
    return lines


def code(number: int) -> str:
    """The short name of a signal, as native/wave.h writes it."""
    text = ""
    while True:
        text += chr(33 + number % 94)
        number //= 94
        if not number:
            return text
