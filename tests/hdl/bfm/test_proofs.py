"""The prover: what holds is proved, what does not is refused with a waveform, and what cannot be asked is told."""

from pathlib import Path

import pytest
from amaranth import Assert, Module, Signal
from amaranth.asserts import AnySeq
from amaranth.lib import wiring

from lanai_hdl.bfm import proofs
from lanai_hdl.bfm.proofs import prove
from lanai_hdl.errors import UserError


class Counts(wiring.Component):
    """A counter that stops at `last` is never above `most`."""

    def __init__(self, last, most):
        self.last, self.most = last, most
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        count = Signal(4)
        with m.If((count != self.last) & AnySeq(1)):
            m.d.sync += count.eq(count + 1)
        m.d.comb += Assert(count <= self.most, "stops")
        return m


@pytest.mark.proof
@pytest.mark.slow
def test_what_holds_is_proved_and_what_does_not_has_a_waveform(lanai_prove, tmp_path):
    lanai_prove(Counts(5, 5))
    with pytest.raises(AssertionError, match="Assert failed") as caught:
        lanai_prove(Counts(5, 4), mode="bmc", depth=8)
    waveform = Path(str(caught.value).rpartition(": ")[2])
    assert waveform.read_text().startswith("$")
    lanai_prove(Counts(5, 4), mode="bmc", depth=5)  # too short to fail


@pytest.mark.parametrize(("mode", "depth"), [("proof", 2), ("bmc", 0)])
def test_what_is_no_proof_is_refused(tmp_path, mode, depth):
    with pytest.raises(UserError, match=rf"mode='{mode}', depth={depth} is no proof; take one of \('prove', 'bmc'\)"):
        prove(Counts(5, 5), tmp_path, mode=mode, depth=depth)


def test_missing_tools_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(proofs, "_path", lambda: str(tmp_path))
    with pytest.raises(UserError, match=r"yowasp-sby is not installed; pip install 'openlanai\[formal\]'"):
        prove(Counts(5, 5), tmp_path)
