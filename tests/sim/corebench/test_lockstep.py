"""The core against the golden model: random programs, slots taken at random."""

import json
import re

import pytest

from lanai_firmware.iss import access, compute
from lanai_hdl.isa import Access, AluOp, Condition
from lanai_host.errors import UserError
from lanai_sim.cli import main
from lanai_sim.corebench.bench import CoreBench
from lanai_sim.corebench.firmware_ways import WAYS
from lanai_sim.corebench.lockstep import LAYOUT, Divergence, pattern_of, prove, prove_many, waits_of
from lanai_sim.corebench.search import MISSES, Searcher


def test_fifty_thousand_instructions():
    """Their effects and their times are equal, to the slot."""
    assert sum(proved.instructions for proved in prove_many(seed=0, instructions=50_000)) >= 50_000


@pytest.mark.slow
def test_a_million_instructions():
    assert sum(proved.instructions for proved in prove_many(seed=1000, instructions=1_000_000)) >= 1_000_000


def right_shift_keeps_carry(a, amount, arithmetic, original=compute.shift):
    result, carry = original(a, amount, arithmetic)
    return result, carry if amount < 0x80000000 else a & 1


def pl_for_ge(flags, code, original=compute.condition):
    return original(flags, Condition.PL if code == Condition.GE else code)


def signed_halves(instruction, original=access.spls_access):
    kind = original(instruction)
    return Access.HALF if kind == Access.UHALF else kind


FAULTS = {
    "carry of subb": lambda m: m.setitem(compute._CARRY, AluOp.SUBB, "int(a >= b)"),
    "overflow of add": lambda m: m.setitem(compute._OVERFLOW, AluOp.ADD, "(a ^ b) & (a ^ v)"),
    "and of a register": lambda m: m.setitem(compute._VALUE, AluOp.AND, "{a} & {b} & 0x7FFFFFFF"),
    "carry of right shifts": lambda m: m.setattr(compute, "shift", right_shift_keeps_carry),
    "ge looks at N alone": lambda m: m.setattr(compute, "condition", pl_for_ge),
    "halves never unsigned": lambda m: m.setattr(access, "spls_access", signed_halves),
    "load to pc has one slot": lambda m: m.setattr(access, "TWO_SLOTS", 0),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_proof_sees_a_wrong_model(fault, monkeypatch):
    """Each fault, put into the model, must make it differ from the core, and the report must show
    where."""
    FAULTS[fault](monkeypatch)
    compute.alu_template.cache_clear()
    with pytest.raises(Divergence, match=r"seed \d+, instruction \d+"):
        list(prove_many(seed=0, instructions=50_000))
    monkeypatch.undo()
    compute.alu_template.cache_clear()


def test_the_proof_sees_a_wrong_slot(monkeypatch):
    """The core runs with slots taken that the model believes free."""
    monkeypatch.setattr("lanai_sim.corebench.lockstep.pattern_of", lambda seed: bytes([0, 0, 0, 0, 1, 0]))
    bench = CoreBench(LAYOUT.size)
    bench.reset = lambda taken, waits, original=bench.reset: original(bytes(6), waits)
    with pytest.raises(Divergence, match=r"slot .*<--"):
        prove(0, bench)


def test_patterns_cover_the_edges():
    shares = [(sum(p[::2]) / len(p) * 2, sum(p[1::2]) / len(p) * 2) for p in map(pattern_of, range(40))]
    assert (0, 0) in shares
    assert (1, 0) in shares
    assert (0, 1) in shares
    assert {any(waits_of(seed)) for seed in range(10)} == {True, False}
    assert any(0.2 < even < 0.9 and 0.2 < odd < 0.9 for even, odd in shares)


def test_command(capsys, tmp_path):
    from lanai_sim.cli import main

    assert main(["dev", "lockstep", "--instructions", "2000", "--seed", "5", "--json", str(tmp_path / "f.json")]) == 0
    assert "core and model agree" in capsys.readouterr().out
    assert '"lockstep.instructions"' in (tmp_path / "f.json").read_text()
    assert main(["dev", "lockstep", "--instructions", "0"]) == 2


# `lanai dev bench core`, and the figures it must keep.


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    path = tmp_path_factory.mktemp("bench") / "core.json"
    assert main(["dev", "bench", "core", "--cycles", "20000", "--json", str(path)]) == 0
    return json.loads(path.read_text())["figures"]


EXACT = (
    "core.list_search_instrs_per_node",
    "core.list_search.same_key",
    "core.slowdown.one_edge_taken",
    "core.slowdown.even_edge_taken",
    "core.slowdown.odd_edge_taken",
    "core.progress.both_edges_taken",
    "core.cycles_per_instruction.free",
)


@pytest.mark.parametrize("name", EXACT)
def test_figures(name, figures, expected):
    expected(name, figures[name])


def test_bounds_of_the_issue(figures):
    assert figures["core.list_search_instrs_per_node"] <= 7
    assert figures["core.slowdown.one_edge_taken"] == 1.5
    assert figures["core.progress.both_edges_taken"] == 0
    assert figures["core.cycles_per_second"] > 0


@pytest.mark.parametrize("name", MISSES)
def test_cost_does_not_depend_on_the_length(name):
    """The search is linear: any two lengths give the same cost a node."""
    searcher = Searcher()
    counts = [searcher.count(MISSES[name], nodes) for nodes in (8, 16, 24, 64)]
    assert counts[1] - counts[0] == counts[2] - counts[1] == (counts[3] - counts[2]) / 5


def test_missing_example(tmp_path):
    with pytest.raises(UserError, match=r"none\.py' is not there"):
        Searcher(tmp_path / "none.py")


# `lanai fw run --packets`: firmware that waits for events, on a NIC in plain Python; `--timeout` in every way.


ECHO = """
from lanai_firmware.lang import Const, Ptr, at, firmware, u32
from lanai_firmware.nic import events, receive_dma, send_dma
from lanai_firmware.nic.registers import EVENT_RECV, VALID

BUFFER: Const[u32] = u32(0x2000)


@firmware
def main() -> u32:
    receive_dma.post(BUFFER, BUFFER + 64)
    bad = u32(0)
    while bad < 2:
        while receive_dma.verdict() == 0:
            events.wait({waits})
        if receive_dma.verdict() == VALID:
            send_dma.queue_packet(at(Ptr[u32], receive_dma.packet())[0], receive_dma.packet(), receive_dma.length())
        else:
            bad += 1
        receive_dma.release()
        receive_dma.post(BUFFER, BUFFER + 64)
    return bad
"""
ENDLESS = """
from lanai_firmware.lang import firmware, u32
@firmware
def main() -> None:
    x = u32(0)
    while True:
        x += 1
"""
MODELLED = ["python", "native", "iss"]
TIMED = """
from lanai_firmware.lang import firmware, u32
from lanai_firmware.nic import events, timer
from lanai_firmware.nic.registers import EVENT_TIMER
@firmware
def main() -> u32:
    timer.start(10)
    events.wait(EVENT_TIMER)
    return u32(7)
"""
PACKETS = "# two are right\n81000000 68656c6c\n! 00000001  # its CRC is wrong\n\n82000000\n"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """`run(firmware, packets, *options)` gives the code and what was said."""
    monkeypatch.chdir(tmp_path)

    def command(firmware, packets, *options):
        (tmp_path / "firmware.py").write_text(firmware)
        (tmp_path / "packets.txt").write_text(packets)
        code = main(["fw", "run", "firmware.py", *options])
        return code, "".join(capsys.readouterr())

    return command


@pytest.mark.parametrize("way", MODELLED)
def test_packets_come_until_nothing_can_happen(run, tmp_path, way):
    code, said = run(ECHO.format(waits="EVENT_RECV"), PACKETS, "--on", way, "--packets", "packets.txt", "--json", "j")
    sent = "sent 81000000: 81000000 68656c6c\nsent 82000000: 82000000\n"
    assert said.startswith(sent + "3 packets came, 0 did not, 2 left\nmain() waits, and nothing can happen any more\n")
    figures = json.loads((tmp_path / "j").read_text())["figures"]
    assert (code, figures["fw.run.came"], figures["fw.run.left"]) == (0, 3, 2)
    assert ("fw.run.cycles" in figures) == (way == "iss")


@pytest.mark.parametrize("way", MODELLED)
def test_main_may_end_before_all_have_come(run, way):
    code, said = run(
        ECHO.format(waits="EVENT_RECV"), "!00000001\n" * 2 + PACKETS, "--on", way, "--packets", "packets.txt"
    )
    assert code == 0
    assert re.match(r"[23] packets came, [23] did not, 0 left\nmain\(\) = 2\n", said)


def test_firmware_that_polls_needs_no_wait(run):
    firmware = ECHO.format(waits="0").replace("bad = u32(0)", "bad = u32(1)")
    assert "main() = 2\n" in run(firmware, PACKETS, "--packets", "packets.txt")[1]


def test_the_timer_goes_off_when_nothing_else_can_happen(run):
    assert "main() = 7\n" in run(TIMED, "", "--packets", "packets.txt")[1]


@pytest.mark.parametrize(
    ("packets", "message"),
    [
        ("00\n", "packets.txt:1: a packet of 1 bytes is not whole words; fill it up to a multiple of 4"),
        ("\n!0x12\n", "packets.txt:2: '0x12' is not a packet; write its bytes, as in 0001 ff"),
    ],
)
def test_a_file_of_packets_is_judged(run, packets, message):
    code, said = run(ECHO.format(waits="EVENT_RECV"), packets, "--packets", "packets.txt")
    assert (code, message in said) == (2, True)


def test_what_cannot_be_run_is_told(run):
    code, said = run(ECHO.format(waits="EVENT_RECV"), PACKETS, "--packets", "packet.txt")
    assert (code, "cannot read --packets 'packet.txt': No such file or directory; name a file" in said) == (2, True)
    code, said = run(ECHO.format(waits="EVENT_RECV"), PACKETS, "--packets", "packets.txt", "--on", "rtl")
    assert (code, "packets come to firmware on python, native and iss" in said) == (2, True)
    small = ("--on", "native", "--nic", "small_fpga")
    code, said = run(ECHO.format(waits="EVENT_RECV"), PACKETS, "--packets", "packets.txt", *small)
    assert (code, "on native, packets come to 1 MiB of SRAM, not to 131072 bytes" in said) == (2, True)


def test_the_nic_may_be_of_a_file(run, tmp_path):
    def with_nic(text, *options):
        (tmp_path / "nic.toml").write_text(text)
        return run(ECHO.format(waits="EVENT_RECV"), PACKETS, "--packets", "packets.txt", "--nic", "nic.toml", *options)

    own = '[nic]\npreset = "small_fpga"\nsram_size = 65536\n'
    code, said = with_nic(own)
    assert (code, "3 packets came, 0 did not" in said) == (0, True)
    assert "not to 65536 bytes" in with_nic(own, "--on", "native")[1]
    for text, message in {
        "[nic]\nsram = 65536\n": "[nic] has no key 'sram'; did you mean 'sram_size'?",
        "sram_size = 65536\n": "--nic 'nic.toml' has no table [nic]; write, for example: nic = {sram_size = 65536}",
        "[nic\n": "cannot read --nic 'nic.toml': Expected ']'",
    }.items():
        code, said = with_nic(text)
        assert (code, message in said, said.count("\n")) == (2, True, 1)
    code, said = run(ECHO.format(waits="EVENT_RECV"), PACKETS, "--nic", "lanai4")
    assert (code, "'lanai4' is not known; did you mean 'lanai41'?" in said) == (2, True)


@pytest.mark.parametrize("way", WAYS)
def test_a_timeout_ends_every_way(run, way):
    code, said = run(ENDLESS, "", "--on", way, "--timeout", "1", "--cycles", "999999999999")
    assert (code, f"main has not ended after 1 s on {way}; give more with --timeout" in said) == (2, True)


def test_a_run_within_its_time_is_as_without(run):
    assert run(ECHO.format(waits="EVENT_RECV"), PACKETS, "--packets", "packets.txt", "--timeout", "300")[0] == 0
