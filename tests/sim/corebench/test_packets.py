"""`lanai fw run --packets`: firmware that waits for events, on a NIC in plain Python; `--timeout` in every way."""

import json
import re

import pytest

from lanai_sim.cli import main
from lanai_sim.corebench.firmware_ways import WAYS

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


@pytest.mark.parametrize("way", WAYS)
def test_a_timeout_ends_every_way(run, way):
    code, said = run(ENDLESS, "", "--on", way, "--timeout", "1", "--cycles", "999999999999")
    assert (code, f"main has not ended after 1 s on {way}; give more with --timeout" in said) == (2, True)


def test_a_run_within_its_time_is_as_without(run):
    assert run(ECHO.format(waits="EVENT_RECV"), PACKETS, "--packets", "packets.txt", "--timeout", "300")[0] == 0
