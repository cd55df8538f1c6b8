"""The number of instructions that the compiled search of examples/firmware/search.py spends on an envelope
that does not match.

The firmware itself lays out its list; then its function `search` is called by hand for lists of two
lengths, on the golden model. The difference is what the extra nodes cost, free of what a call
costs.
"""

from dataclasses import dataclass
from pathlib import Path

from lanai_firmware.compiler import build
from lanai_firmware.compiler.source import load_module
from lanai_firmware.image import Image
from lanai_firmware.iss import Memory, Processor, Stop
from lanai_firmware.lang import offset_of, sizeof
from lanai_hdl.isa import Reg
from lanai_host.errors import UserError

EXAMPLE = Path(__file__).parents[3] / "examples" / "firmware" / "search.py"
LIMIT = 100_000
EXACT, ANY_TAG = 0xFFFFFFFF, 0
CONTEXT, TAG = 3, 0x00050007


@dataclass(frozen=True)
class Miss:
    """A search and what all the envelopes it passes look like."""

    context: int
    tag: int
    mask: int


MISSES = {
    "other_context": Miss(CONTEXT + 1, TAG, EXACT),
    "other_tag": Miss(CONTEXT, TAG + 1, EXACT),
    "other_context_any_tag": Miss(CONTEXT + 1, TAG, ANY_TAG),
    "same_key": Miss(CONTEXT, TAG ^ 0x10000, EXACT),
}


class Searcher:
    """The example, stopped where its `search` is called for the first time."""

    def __init__(self, path: Path = EXAMPLE) -> None:
        if not path.exists():
            raise UserError(
                f"{str(path)!r} is not there: the examples come with a checkout of the project, not with the package"
            )
        self.example = load_module(path)
        self.image: Image = build(path)
        self.processor = Processor(Memory(self.image.sram_size))
        self.processor.write(0, self.image.sram())
        self.entry = self.image.address("search.search")
        self.processor.add_breakpoint(self.entry)
        if self.processor.run(LIMIT) is not Stop.BREAKPOINT:
            raise UserError(f"{str(path)!r} does not call its function search() in {LIMIT} instructions")
        self.processor.remove_breakpoint(self.entry)
        self.back = self._word(self.processor.r[Reg.SP])
        self.processor.add_breakpoint(self.back)
        self.registers = list(self.processor.r)
        self.nodes = int(self.example.ENVELOPES)
        self._refill()

    def _word(self, address: int, value: int | None = None) -> int:
        if value is not None:
            self.processor.write(address, value.to_bytes(4, "big"))
        return int.from_bytes(self.processor.memory.read(address, 4), "big")

    def _node(self, index: int, field: str) -> int:
        envelope = self.example.Envelope
        place: int = index * sizeof(envelope) + offset_of(envelope, field)
        return self.image.address("search.envelopes") + place

    def _refill(self) -> None:
        """All envelopes alike."""
        for index in range(self.nodes):
            self._word(self._node(index, "key"), CONTEXT << 16 | TAG & 0xFFFF)
            self._word(self._node(index, "tag"), TAG)

    def count(self, miss: Miss, nodes: int) -> int:
        """Instructions of one search that passes `nodes` envelopes in vain."""
        self._word(self.image.address("search.ring"), self._node(self.nodes - nodes, "next"))
        p = self.processor
        p.r[:] = self.registers
        p.r[Reg.ARG1], p.r[Reg.ARG2], p.r[Reg.ARG3] = miss.context, miss.tag, miss.mask
        p.pc, before = self.entry, p.retired
        self._word(p.r[Reg.SP], self.back)
        if p.run(LIMIT) is not Stop.BREAKPOINT or p.r[Reg.RV]:
            raise UserError(f"search() found {p.r[Reg.RV]:#x}, or did not end, where nothing matches: {miss}")
        return p.retired - before

    def per_node(self, miss: Miss) -> float:
        half = self.nodes // 2
        return (self.count(miss, self.nodes) - self.count(miss, half)) / (self.nodes - half)


def search_figures() -> dict[str, float]:
    """Instructions a node. The headline is the worst of all misses that the key shows; `same_key`
    differs in the tag's upper half alone."""
    searcher = Searcher()
    costs = {name: searcher.per_node(miss) for name, miss in MISSES.items()}
    figures = {f"core.list_search.{name}": cost for name, cost in costs.items()}
    figures["core.list_search_instrs_per_node"] = max(cost for name, cost in costs.items() if name != "same_key")
    return figures
