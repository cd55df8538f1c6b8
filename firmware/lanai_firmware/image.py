"""The image: what the driver loads, the tools disassemble, and reports map back to source.

On disk: MAGIC, SHA-256 of the rest, length of the header, header (JSON: everything but the bytes),
bytes. The same source gives the same file, byte for byte, on every machine.
"""

import hashlib
import json
from bisect import bisect_right
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from lanai_hdl.errors import UserError

from . import output_file

MAGIC = b"LANAIFW1"
DIGEST_SIZE = 32


@dataclass(frozen=True)
class Symbol:
    """A function or a global. `kind` is "code" or "data"; `layout` has a global's type in
    words."""

    name: str
    address: int
    size: int
    kind: str
    layout: str = ""


@dataclass(frozen=True)
class SourceSpan:
    """The lines of one function."""

    name: str
    file: str
    first: int
    last: int


@dataclass(frozen=True)
class Location:
    """The function, file and line that a pc comes from."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} ({self.function})" if self.file else self.function


@dataclass(frozen=True)
class Site:
    """A place where firmware stops itself; its number is in the word `__trap_site`."""

    file: str
    line: int
    function: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason} (in {self.function})"


@dataclass(frozen=True)
class Image:
    """Firmware ready to load.

    `loaded` goes to `base`; the `zeroed_size` bytes from `zeroed` on must be zero when the
    processor starts. Free SRAM lies between `free` and `stack_bottom`; the stack is never more than
    from there to `stack_top`. The processor ends at `halt`, with main's result in the word
    `__result` and 1 in `__done`.
    """

    entry: str
    base: int
    loaded: bytes
    zeroed: int
    zeroed_size: int
    regions: dict[str, int]
    symbols: dict[str, Symbol]
    lines: tuple[tuple[int, str, int], ...]
    spans: tuple[SourceSpan, ...]
    sites: tuple[Site, ...]
    halt: int
    stack_bottom: int
    stack_top: int
    sram_size: int
    result: str  # main's result type

    @property
    def free(self) -> int:
        return self.zeroed + self.zeroed_size

    def address(self, symbol: str) -> int:
        """Return the address of a function or global. The name is "module.name"."""
        if symbol not in self.symbols:
            close = sorted(name for name in self.symbols if name.split(".")[-1] == symbol.split(".")[-1])
            raise UserError(
                f"the image has no symbol {symbol!r}" + (f"; did you mean {' or '.join(close)}" if close else "")
            )
        return self.symbols[symbol].address

    def globals(self) -> dict[str, int]:
        """Addresses of all globals by symbol, as `lang.Machine(symbols=...)` takes them."""
        return {symbol.name: symbol.address for symbol in self.symbols.values() if symbol.kind == "data"}

    def sram(self) -> bytes:
        """SRAM as it must be when the processor starts."""
        return bytes(self.base) + self.loaded + bytes(self.sram_size - self.base - len(self.loaded))

    def where(self, pc: int) -> Location:
        """The source of the instruction at `pc`: also of code that was inlined, the function that
        it was written in."""
        index = bisect_right(self.lines, pc, key=lambda row: row[0]) - 1
        _, file, line = self.lines[index] if index >= 0 else (0, "", 0)
        code = self.function_at(pc)
        if not file or code is None:
            return Location("", 0, code or f"{pc:#x}")
        if line == 0:  # LLVM's own instructions, such as a prologue
            file, line = next(((span.file, span.first) for span in self.spans if span.name == code), (file, 0))
        for span in self.spans:
            if span.file == file and span.first <= line <= span.last:
                return Location(file, line, span.name)
        return Location(file, line, code)

    def function_at(self, pc: int) -> str | None:
        """The symbol whose code holds `pc`."""
        index = bisect_right(self.code, pc, key=lambda symbol: symbol.address) - 1
        if index < 0 or pc >= self.code[index].address + self.code[index].size:
            return None
        return self.code[index].name

    @cached_property
    def code(self) -> list[Symbol]:
        """Functions by address."""
        return sorted((s for s in self.symbols.values() if s.kind == "code"), key=lambda symbol: symbol.address)

    def trap_text(self, site: int) -> str:
        """Return the text of a number in `__trap_site`."""
        return str(self.sites[site]) if 0 < site < len(self.sites) else f"unknown trap site {site}"

    @cached_property
    def digest(self) -> bytes:
        """Return the hash of all that is on disk."""
        return hashlib.sha256(self._rest()).digest()

    def to_bytes(self) -> bytes:
        return MAGIC + self.digest + self._rest()

    def _rest(self) -> bytes:
        header = asdict(self)
        del header["loaded"]
        text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
        return len(text).to_bytes(4, "big") + text + self.loaded

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "image") -> Self:
        """Raises `UserError` naming `name` if the bytes are not an image or are damaged."""
        if data[: len(MAGIC)] != MAGIC:
            raise UserError(
                f"{name} is not a firmware image: it starts with {data[:8]!r}; make one with `lanai fw build`"
            )
        rest = data[len(MAGIC) + DIGEST_SIZE :]
        digest = hashlib.sha256(rest).digest()
        recorded = data[len(MAGIC) : len(MAGIC) + DIGEST_SIZE]
        if digest != recorded:
            raise UserError(
                f"{name} is corrupted: {len(data)} bytes with digest {digest.hex()[:16]}, recorded is "
                f"{recorded.hex()[:16]}; delete it and build again"
            )
        size = int.from_bytes(rest[:4], "big")
        header: dict[str, Any] = json.loads(rest[4 : 4 + size])
        header["loaded"] = rest[4 + size :]
        header["symbols"] = {key: Symbol(**value) for key, value in header["symbols"].items()}
        header["lines"] = tuple((a, f, n) for a, f, n in header["lines"])
        header["spans"] = tuple(SourceSpan(**span) for span in header["spans"])
        header["sites"] = tuple(Site(**site) for site in header["sites"])
        image = cls(**header)
        image.__dict__["digest"] = digest  # what `digest` would find: making the header again takes a tenth of a second
        return image

    def save(self, path: str | Path) -> None:
        output_file.write(path, self.to_bytes(), "the image")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise UserError(f"cannot read the image {str(path)!r}: {error.strerror}") from error
        return cls.from_bytes(data, repr(str(path)))
