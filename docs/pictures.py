"""The pictures of the docs, drawn from the machine's declaration and from a record: `python docs/pictures.py` writes
them.

Their colours follow the reader's choice of dark or light, on a background of their own.
"""

import json
from pathlib import Path
from xml.sax.saxutils import escape

from lanai_hdl.machine import MACHINE
from lanai_sim.machine.presets import PRESETS

IMAGES = Path(__file__).parent / "images"
STYLE = """
.paper { fill: #ffffff } .box { fill: #eef3f8; stroke: #4a6078 } .chip { fill: #f8f8f6; stroke: #8a8a80 }
.option { fill: none; stroke: #4a6078; stroke-dasharray: 5 4 } .bus { fill: #f4d9a8; stroke: #9a6a10 }
.step { fill: #0a5fa8 } .line { stroke: #55606a; fill: none } .head { fill: #55606a }
text { font: 13px system-ui, sans-serif; fill: #1c2126 } .small { font-size: 11.5px; fill: #4c565f }
.title { font-weight: 600 } .number { fill: #ffffff; font-weight: 600 } .middle { text-anchor: middle }
@media (prefers-color-scheme: dark) {
.paper { fill: #16191d } .box { fill: #223040; stroke: #8fb0d0 } .chip { fill: #1c2024; stroke: #70757c }
.option { stroke: #8fb0d0 } .bus { fill: #5a4312; stroke: #e0b050 } .step { fill: #5aa9ee }
.line { stroke: #a8b2bc } .head { fill: #a8b2bc } text { fill: #e8ebee } .small { fill: #b4bcc4 }
.number { fill: #10151a } }
"""


class Picture:
    """An SVG picture. Places and sizes are pixels."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self._size = width, height
        self._title = title
        self._parts: list[str] = []

    def box(self, x: int, y: int, width: int, height: int, lines: list[str], kind: str = "box") -> None:
        """A box. The first of its lines is its title."""
        self._parts.append(f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="5"/>')
        top = y + height / 2 - 8 * (len(lines) - 1) + 4.5
        for number, line in enumerate(lines):
            self.text(x + width // 2, top + 16 * number, line, "middle " + ("small" if number else "title"))

    def bar(self, x: int, y: int, width: int, height: int) -> None:
        self._parts.append(f'<rect class="step" x="{x}" y="{y}" width="{width}" height="{height}"/>')

    def text(self, x: float, y: float, line: str, kind: str = "") -> None:
        self._parts.append(f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(line)}</text>')

    def arrow(self, x: int, y: int, to_x: int, to_y: int, both: bool = True) -> None:
        ends = 'marker-end="url(#head)"' + (' marker-start="url(#head)"' if both else "")
        self._parts.append(f'<line class="line" x1="{x}" y1="{y}" x2="{to_x}" y2="{to_y}" {ends}/>')

    def step(self, x: int, y: int, number: int) -> None:
        self._parts.append(f'<circle class="step" cx="{x}" cy="{y}" r="11"/>')
        self.text(x, y + 4.5, str(number), "number middle")

    def __str__(self) -> str:
        width, height = self._size
        marker = (
            '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
            'orient="auto-start-reverse"><path class="head" d="M0 0 8 4 0 8z"/></marker>'
        )
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        )
        paper = f'<rect class="paper" width="{width}" height="{height}"/>'
        start = [f'{head} role="img">', f"<title>{escape(self._title)}</title>", f"<style>{STYLE}</style>", marker]
        return "\n".join([*start, paper, *self._parts, "</svg>", ""])


def nic() -> Picture:
    """The blocks of the NIC of the common testbed."""
    config = PRESETS["lanai41"]()
    titles = {block.title for block in MACHINE.blocks}
    registers = sum(len(list(block.all_registers)) for block in MACHINE.blocks)
    made = Picture(900, 500, "The blocks of the NIC")
    made.box(20, 20, 330, 44, ["Host", "processor, memory, MPI library"])
    made.box(550, 20, 330, 44, ["Wire", f"{config.link_kbytes // 1000} MB/s each way, switches, other NICs"])
    made.box(10, 90, 880, 395, [], "chip")
    bus = f"{config.host_bus_bits} bits at {config.host_bus_khz // 1000} MHz"
    made.box(30, 105, 310, 48, ["Host bus", f"PIO, and bus master; {bus}"])
    made.box(560, 105, 310, 48, ["Link", "receiver and transmitter, CRC, STOP and GO"])
    made.box(30, 210, 130, 60, ["Host DMA", "host memory to", "and from SRAM"])
    made.box(210, 210, 130, 60, ["Registers", f"{registers} registers,", f"{len(MACHINE.event_bits)} events"])
    made.box(
        390, 200, 120, 80, ["Processor", "a Lanai at", f"{config.slot_khz // 2000} MHz, no cache", "runs the firmware"]
    )
    made.box(560, 210, 130, 60, ["Receive DMA", "packets to SRAM"])
    made.box(740, 210, 130, 60, ["Send DMA", "SRAM to packets"])
    made.box(385, 105, 135, 48, ["Adapter", "mbcf, sci, t3d_shell"], "option")
    made.box(30, 330, 840, 46, ["LBUS", _turns()], "bus")
    memory = f"{config.sram_size >> 20} MB: firmware, requests, packets, messages without a receive"
    made.box(240, 410, 420, 50, ["SRAM", memory])
    for x, y in ((95, 270), (450, 280), (625, 270), (805, 270)):
        made.arrow(x, y, x, 330)
    made.arrow(450, 376, 450, 410)
    made.arrow(185, 64, 185, 105)
    made.arrow(715, 64, 715, 105)
    made.arrow(95, 153, 95, 210)
    made.arrow(275, 153, 275, 210)
    made.arrow(185, 153, 185, 330)
    made.arrow(625, 153, 625, 210, both=False)
    made.arrow(805, 210, 805, 153, both=False)
    made.arrow(340, 240, 390, 240)
    made.arrow(340, 129, 385, 129)
    made.arrow(520, 129, 560, 129)
    assert {"Host bus", "Host DMA", "Receive DMA", "Send DMA", "Link", "Local bus"} <= titles
    return made


def _turns() -> str:
    return "one access a slot; even slots: host, host DMA, processor; odd slots: receive DMA, send DMA, processor"


WAY = [
    (0, ["MPI_Send", "writes a short body,", "or names pinned pages"]),
    (1, ["Firmware", "takes request and credit;", "a long message asks first"]),
    (1, ["Host DMA, send DMA", "read the pages,", "put packets on the wire"]),
    (3, ["DMA, firmware", "packet to SRAM; matched", "with posted receives"]),
    (3, ["Host DMA", "writes the body into", "the receive's buffer"]),
]
LANES = ["Rank 0", "NIC 0", "Wire", "NIC 1", "Rank 1"]


def message() -> Picture:
    """The way of a message on `mpi-np`, with the numbers of its page."""
    made = Picture(900, 470, "The way of a message on mpi-np")
    middles = [105, 300, 450, 600, 795]
    for middle, lane in zip(middles, LANES, strict=True):
        width = 90 if lane == "Wire" else 180
        made.box(middle - width // 2, 15, width, 440, [], "chip")
        made.text(middle, 36, lane, "middle title")
    for number, (lane, lines) in enumerate(WAY):
        y = 55 + 80 * number
        made.box(middles[lane] - 85, y, 170, 64, lines)
        made.step(middles[lane] - 85, y, number + 1)
    made.arrow(190, 87, 250, 135, both=False)
    made.arrow(300, 199, 300, 215, both=False)
    made.arrow(385, 247, 515, 310, both=False)
    made.text(450, 262, "packets", "middle small")
    made.arrow(600, 359, 600, 375, both=False)
    made.box(710, 55, 170, 64, ["MPI_Recv", "posts the receive and", "waits for one word"])
    made.arrow(710, 87, 640, 295, both=False)
    made.box(710, 375, 170, 64, ["The word changes", "rank 1 goes on: its", "data are in its buffer"])
    made.arrow(685, 407, 710, 407, both=False)
    return made


CARD = 420, 210  # pixels


def waits() -> Picture:
    """The card about testing: four ranks of which each waits for the next."""
    made = Picture(*CARD, "Four ranks, each of which waits for the next")
    places = {0: (40, 25), 1: (280, 25), 2: (280, 105), 3: (40, 105)}
    for rank, (x, y) in places.items():
        made.box(x, y, 100, 44, [f"rank {rank}", "in MPI_Recv"])
    made.arrow(140, 47, 280, 47, both=False)
    made.arrow(330, 69, 330, 105, both=False)
    made.arrow(280, 127, 140, 127, both=False)
    made.arrow(90, 105, 90, 69, both=False)
    made.text(210, 91, "deadlock", "middle title")
    made.text(210, 185, "the run ends at once, and says who waits for whom", "middle small")
    return made


def systems() -> Picture:
    """The card about studying: one message on all systems, of the record of docs/compare.md."""
    record = json.loads((IMAGES.parent / "compare.json").read_text())["kit"]
    times = {name: values["one way, 4 B, us"] for name, values in record.items()}
    made = Picture(*CARD, "One way of 4 bytes on each system, in microseconds")
    made.text(210, 24, "4 bytes, one way", "middle title")
    step = (CARD[1] - 44) // len(times)
    for number, (name, time) in enumerate(sorted(times.items(), key=lambda one: one[1])):
        y = 36 + step * number
        made.text(20, y + 13, name)
        width = max(2, round(250 * time / max(times.values())))
        made.bar(80, y, width, 17)
        made.text(86 + width, y + 13, f"{time:.1f} us", "small")
    return made


def parts() -> Picture:
    """The card about writing: what is new, from the program down to the gates."""
    made = Picture(*CARD, "Parts that you can replace, and their languages")
    rows = [
        ("MPI program", "unchanged", "chip"),
        ("messaging system", "Python", "box"),
        ("firmware", "Python, compiled by LLVM", "box"),
        ("hardware block", "Amaranth, into an FPGA", "box"),
    ]
    for number, (title, how, kind) in enumerate(rows):
        made.box(85, 10 + 52 * number, 250, 34, [title, how], kind)
        if number:
            made.arrow(210, 52 * number - 8, 210, 52 * number + 10, both=False)
    return made


def lab() -> Picture:
    """The card about teaching: the way of a lab."""
    made = Picture(*CARD, "A lab: start, write, grade")
    steps = [
        ("lanai lab start", "code with gaps"),
        ("you", "write gateware or firmware"),
        ("lanai lab grade", "cases and cycles"),
    ]
    for number, (title, what) in enumerate(steps):
        y = 14 + 66 * number
        made.box(100, y, 220, 46, [title, what])
        made.step(100, y + 23, number + 1)
        if number:
            made.arrow(210, y - 20, 210, y, both=False)
    made.arrow(320, 169, 360, 169, both=False)
    made.text(385, 173, "score", "middle small")
    return made


CARDS = {"card-test.svg": waits, "card-study.svg": systems, "card-write.svg": parts, "card-teach.svg": lab}
PICTURES = {"nic.svg": nic, "message.svg": message, **CARDS}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (IMAGES / name).write_text(str(draw()))
