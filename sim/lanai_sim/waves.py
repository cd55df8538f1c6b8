"""Waveforms of a NIC for a viewer."""

import gzip
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from lanai_firmware import output_file
from lanai_firmware.lang.types import layout
from lanai_firmware.vocabulary import Vocabulary
from lanai_hdl.link.flit import Kind
from lanai_host.errors import UserError

# Makes a waveform readable: enumerations a second time as text, and each packet on the link in words.
#
# The engine writes numbers. Their names stand in the gateware as attributes of the signals, so a pass over the
# finished file adds a signal of type `string` (which viewers show as it is) beside each enumeration, and two for the
# packets sent and received.


TOP = "TOP"
Names = Mapping[int, str]
IDLE, HEAD, DATA, TAIL = (kind.value for kind in (Kind.IDLE, Kind.HEAD, Kind.DATA, Kind.TAIL))


@dataclass
class Module:
    """The names in a module of the gateware: of its enumerations' values, and of the modules inside."""

    enums: dict[str, Names]
    inside: dict[str, str]


def modules_of(scopes: Mapping[str, Mapping[str, Any]]) -> dict[str, Module]:
    """Return every module of a model, of what `engines.gates.netlist.Netlist.scopes` gives."""
    return {
        name: Module(
            {signal: {int(value): text for value, text in names.items()} for signal, names in one["enums"].items()},
            dict(one["inside"]),
        )
        for name, one in scopes.items()
    }


def check_name(file: str) -> None:
    """Refuse a kind of file that cannot be written."""
    if file.endswith(".fst"):
        raise UserError(
            f"cannot write {file!r}: FST needs zlib's headers, which pip does not bring; write a name that "
            "ends in .vcd or .vcd.gz"
        )


def numbered(file: str, node: int) -> str:
    """run.vcd.gz -> run.0.vcd.gz"""
    path = Path(file)
    kind = "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
    return str(path.with_name(f"{path.name.removesuffix(kind)}.{node}{kind}"))


def open_for_writing(file: Path) -> IO[str]:
    """Text into a plain file or a compressed one, as its name says."""
    return gzip.open(file, "wt", compresslevel=4) if file.suffix == ".gz" else open(file, "w")


def decode(raw: Path, file: str, modules: Mapping[str, Module], top: str, vocabulary: Vocabulary | None = None) -> None:
    """Write `file` from what the engine has left in `raw`, which goes. Without a vocabulary packets
    are named by their route only."""
    try:
        with output_file.replaced(file, "the waveform") as place, open(raw) as lines, open_for_writing(place) as out:
            out.writelines(decoded(lines, modules, top, vocabulary))
    finally:
        raw.unlink(missing_ok=True)


def decoded(
    lines: Iterable[str], modules: Mapping[str, Module], top: str, vocabulary: Vocabulary | None = None
) -> Iterator[str]:
    """The lines of a VCD with the texts in between."""
    source = iter(lines)
    header = _Header(modules, top, vocabulary)
    yield from header.read(source)
    packets = [packet for packet in header.packets.values() if packet.wired]
    for line in source:
        if line[0] == "#":
            for packet in packets:
                yield from packet.slot()
            yield line
            continue
        yield line
        text, code = line[1:].split() if line[0] in "bB" else (line[0], line[1:].rstrip())
        for say in header.listeners.get(code, ()):
            yield from say(int(text, 2) if text.strip("01") == "" else 0)
    for packet in packets:
        yield from packet.slot()


class _Header:
    """The declarations: what to add to them, and who listens to which signal."""

    def __init__(self, modules: Mapping[str, Module], top: str, vocabulary: Vocabulary | None) -> None:
        self.modules = modules
        self.top = top
        self.listeners: dict[str, list[Callable[[int], Iterable[str]]]] = {}
        self.packets = {side: _Packets(f"~{side}", vocabulary) for side in ("tx", "rx")}
        self._made = 0

    def read(self, lines: Iterator[str]) -> Iterator[str]:
        scopes: list[str | None] = []  # the module of each; None where it is not known
        for line in lines:
            words = line.split()
            keyword = words[0] if words else ""
            if keyword == "$scope":
                scopes.append(self._module(scopes, words[2]))
            elif keyword == "$upscope":
                scopes.pop()
            yield line
            if keyword == "$scope" and len(scopes) == 1:
                for name, packets in (("packet_sent", self.packets["tx"]), ("packet_received", self.packets["rx"])):
                    yield f"$var string 1 {packets.code} {name} $end\n"
            elif keyword == "$var":
                yield from self._variable(scopes[-1] if scopes else None, words[3], words[4], len(scopes) == 1)
            elif keyword == "$enddefinitions":
                return

    def _module(self, scopes: list[str | None], name: str) -> str | None:
        if not scopes:
            return self.top  # the outermost scope has the top's ports
        if len(scopes) == 1:
            return name if name in self.modules else None
        above = self.modules.get(scopes[-1] or "")
        return above.inside.get(name) if above is not None else None

    def _variable(self, module: str | None, code: str, name: str, outermost: bool) -> Iterator[str]:
        if outermost and name.startswith(("link_tx__", "link_rx__")):
            packets, part = self.packets[name[5:7]], name[9:]
            if part in ("kind", "data"):
                self.listeners.setdefault(code, []).append(packets.hear(part))
        known = None if module is None else self.modules.get(module)
        names = None if known is None else known.enums.get(name)
        if names is None:
            return
        self._made += 1
        own = f"~{self._made}"
        self.listeners.setdefault(code, []).append(lambda value: [f"s{names.get(value, str(value))} {own}\n"])
        yield f"$var string 1 {own} {name}_text $end\n"


class _Packets:
    """Follows the flits of one direction, slot by slot."""

    def __init__(self, code: str, vocabulary: Vocabulary | None) -> None:
        self.code = code
        self.vocabulary = vocabulary
        self.size = 0 if vocabulary is None else layout(vocabulary.header).size // 4  # words of a header
        self.wired: set[str] = set()
        self._now = {"kind": IDLE, "data": 0}
        self._words: list[int] = []
        self._shown = ""

    def hear(self, part: str) -> Callable[[int], Iterable[str]]:
        self.wired.add(part)

        def heard(value: int) -> Iterable[str]:
            self._now[part] = value
            return ()

        return heard

    def slot(self) -> Iterator[str]:
        """A slot has gone by. The text changes with the first and with the last word of a packet's
        header, and after the packet."""
        kind, data = self._now["kind"], self._now["data"]
        if kind == HEAD:
            self._words = []
            yield from self._show(f"to_{data:08x}")
        elif kind == DATA and self.vocabulary is not None and len(self._words) < self.size:
            self._words.append(data)
            if len(self._words) in (1, self.size):
                yield from self._show(self.vocabulary.text(self._words))
        elif kind == TAIL:
            yield from self._show("-")

    def _show(self, text: str) -> Iterator[str]:
        if text != self._shown:
            self._shown = text
            yield f"s{text} {self.code}\n"


# Reads back the waveforms that an engine writes: chosen signals as arrays, one value a slot.


ADDED = re.compile(r"\$\d+(?=\.|$)")
Samples = dict[str, NDArray[np.uint64]]


def sample(path: Path, names: Sequence[str]) -> tuple[NDArray[np.uint64], Samples]:
    """The times in the file, and for each name its values after each of them.

    A name is the scopes and the signal joined by dots, such as
    "TOP.lanai_nic.nic.processor.retire.pc". Numbers that Amaranth adds to make equal names differ
    ("doorbell$547") change with every edit of the gateware and may be left out. At most 64 bits
    each.
    """
    try:
        with open(path) as file:
            codes = _declared(file, names, path)
            rows = list(_rows(file, codes, len(names)))
    except OSError as error:
        raise UserError(f"cannot read the waveform {str(path)!r}: {error.strerror}") from error
    if not rows:
        raise UserError(f"the waveform {str(path)!r} holds no time; widen its window")
    table = np.array(rows, np.uint64)
    return table[:, 0], {name: table[:, 1 + column] for column, name in enumerate(names)}


def _declared(lines: Iterable[str], names: Sequence[str], path: Path) -> dict[str, list[int]]:
    """Identifier code to the columns it fills, from the header."""
    wanted = {name: column for column, name in enumerate(names)}
    codes: dict[str, list[int]] = {}
    scopes: list[str] = []
    for line in lines:
        words = line.split()
        if not words:
            continue
        if words[0] == "$scope":
            scopes.append(words[2])
        elif words[0] == "$upscope":
            scopes.pop()
        elif words[0] == "$var":
            name = ".".join([*scopes, words[4]])
            column = wanted.pop(name if name in wanted else ADDED.sub("", name), None)
            if column is not None:
                codes.setdefault(words[3], []).append(column)
        elif words[0] == "$enddefinitions":
            break
    if wanted:
        raise UserError(f"the waveform {str(path)!r} has no signal {sorted(wanted)[0]!r}")
    return codes


def _rows(lines: Iterable[str], codes: dict[str, list[int]], width: int) -> Iterator[list[int]]:
    """A row each time: the time and all values."""
    row = [0] * (1 + width)
    begun = False
    for line in lines:
        first = line[0]
        if first == "#":
            if begun:
                yield row[:]
            row[0] = int(line[1:])
            begun = True
            continue
        if first in "bB":
            text, code = line[1:].split()
        else:
            text, code = first, line[1:].rstrip()
        columns = codes.get(code)
        if columns is not None:
            value = int(text, 2) if text.strip("01") == "" else 0  # undriven counts as 0
            for column in columns:
                row[1 + column] = value
    if begun:
        yield row
