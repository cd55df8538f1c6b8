"""The NIC as Verilog: how much it is, and that each of its processes has something to wait for."""

import re

from amaranth.back import verilog

from lanai_hdl.config import NicConfig
from lanai_hdl.nic import Nic

TEXT = verilog.convert(Nic(NicConfig(sram_size=16384)), name="nic", strip_internal_attrs=True)
MOST_LINES = 25_000
PROCESS = re.compile(r"^  always @\*\n?(.*?)(?=^  \S|^endmodule)", re.DOTALL | re.MULTILINE)


def test_the_text_is_not_longer_than_it_must_be():
    assert len(TEXT.splitlines()) <= MOST_LINES


def test_no_process_reads_nothing():
    """An event simulator would never run it, and its signal would stay undefined (amaranth-lang/amaranth#1629)."""
    sources = [re.sub(r"\S+\s*(\[[\d:]+\]\s*)?=|begin|end", "", body) for body in PROCESS.findall(TEXT)]
    assert len(sources) > 100
    assert [body for body in sources if not re.search(r"\\\S|[A-Za-z_]{2}", body)] == []
