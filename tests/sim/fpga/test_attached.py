"""A board at the end of its line: what it says of itself, its self-test, with the link looped back and by a switch."""

import contextlib
import dataclasses
import os
import re
import select
import socket
import threading
import tty
from functools import partial

import pytest

from lanai_firmware.programs.selftest import Report
from lanai_hdl.boards import find
from lanai_hdl.machine import MACHINE_ID, Control, host_offset
from lanai_hdl.uart.frame import HEAD_BYTES, FrameKind, whole_frames
from lanai_host.bus.serial import SerialBus, SerialLine, SerialPort
from lanai_host.errors import UserError
from lanai_sim.cli import main
from lanai_sim.engines.boards.simulated import SimulatedBoards
from lanai_sim.fpga.attached import PATTERN, look, selftest
from lanai_sim.fpga.board_rtl import VerilatedBoard

BOARD = find("ulx3s-85f")
FAST = dataclasses.replace(
    BOARD, config=BOARD.config.but(sram_size=32 * 1024), baud=1000 * BOARD.config.slot_khz // 8
)  # less SRAM and a quicker line shorten the simulation
ALL = Report.SRAM | Report.LINK | Report.HOST_DMA | Report.DONE


class Spoiled(SerialLine):
    """A line on which what `spoil` makes of a frame comes, for each that the board has sent."""

    def __init__(self, line, spoil):
        self.line, self.spoil = line, spoil
        self.came, self.spoiled = bytearray(), bytearray()

    def write(self, data):
        self.line.write(data)

    def read(self, size):
        while len(self.spoiled) < size:
            self.came += self.line.read(1)
            for frame in whole_frames(self.came):
                self.spoiled += self.spoil(frame).to_bytes()
        data = bytes(self.spoiled[:size])
        del self.spoiled[:size]
        return data

    def poll(self, seconds):
        return bool(self.spoiled) or self.line.poll(seconds)


def test_what_a_board_says_of_itself():
    with VerilatedBoard(FAST) as line:
        bus = SerialBus(line)
        seen = look(bus)
        assert seen.words["ID"] == MACHINE_ID
        assert seen.words["SRAM_SIZE"] == 32 * 1024
        assert seen.counters["TX_FLITS"] > 0  # the self-test that it carries has begun
        assert seen.runs
        assert seen.link_up
        assert seen.others(FAST) == []
        assert seen.others(BOARD) == ["SRAM_SIZE is 32768, and 131072 in a bitstream for ulx3s-85f"]
        bus.write(host_offset("CONTROL"), int(Control.RESET))
        assert not look(bus).runs


def test_a_board_without_a_nic_is_refused():
    def spoil(frame):
        return dataclasses.replace(frame, data=b"\xff" * len(frame.data))

    with VerilatedBoard(FAST) as line, pytest.raises(UserError, match="no lanai here: ID reads 0xffffffff"):
        look(SerialBus(Spoiled(line, spoil)))


@pytest.mark.ci
def test_the_self_test_passes_again_and_again():
    with VerilatedBoard(FAST) as line:
        for _ in range(2):
            found = selftest(SerialBus(line), FAST)
            assert (found.report, found.detail, found.line, found.passed) == (ALL, 0, True, True)
            assert not any("FAILED" in text for text in found.lines())
            assert "link       passed: round the looped link" in found.lines()


@pytest.mark.ci
def test_a_usb_chips_clocked_fifo_is_quicker():
    board = FAST.with_line("ft245-sync")
    with VerilatedBoard(board) as line:
        found = selftest(SerialBus(line), board)
    assert found.passed
    assert found.bytes_per_second > 15e6


@pytest.mark.by_hand
def test_a_usb_chips_fifo_carries_a_megabyte_a_second(capsys):
    board = FAST.with_line("ft245")
    with VerilatedBoard(board) as line:
        found = selftest(SerialBus(line), board)
    assert found.passed
    assert found.bytes_per_second > 4e6
    assert main(["board", "selftest", "simulated", "--line", "ft245"]) == 0
    rate = re.search(r"^line +passed: ([\d.]+) kB/s", capsys.readouterr().out, re.MULTILINE)
    assert float(rate[1]) > 1000


@pytest.mark.ci
def test_a_bit_that_a_line_loses_fails_the_line_alone():
    def spoil(frame):
        wrong = frame.kind is FrameKind.PIO_DATA and frame.data == PATTERN[: len(frame.data)]
        return dataclasses.replace(frame, data=frame.data[:-1] + b"\0") if wrong else frame

    with VerilatedBoard(FAST) as line:
        found = selftest(SerialBus(Spoiled(line, spoil)), FAST)
    assert (found.report, found.line, found.passed) == (ALL, False, False)
    assert [text.split()[0] for text in found.lines() if "FAILED" in text] == ["line"]


@pytest.mark.ci
def test_host_memory_that_is_wrong_fails_the_host_dma_alone():
    def spoil(frame):
        wrong = bytes([*frame.data[:-1], frame.data[-1] ^ 1]) if frame.data else b""
        return dataclasses.replace(frame, data=wrong) if frame.kind is FrameKind.MEMORY_WRITE else frame

    with VerilatedBoard(FAST) as line:
        found = selftest(SerialBus(Spoiled(line, spoil)), FAST)
    assert (found.report, found.passed) == (ALL & ~Report.HOST_DMA, False)
    assert found.detail
    (failed,) = [text for text in found.lines() if "FAILED" in text]
    assert failed == f"host DMA   FAILED: the first wrong word is at {found.detail:#x}"


# The command, on a board whose link is on pins: its first NIC of two simulated ones, behind a port of this machine.


@pytest.fixture
def port():
    """The name of a serial port with a simulated board behind it."""
    ours, theirs = os.openpty()
    os.set_blocking(ours, False)
    pair, over = SimulatedBoards(BOARD.config, skip=False), threading.Event()

    def play():
        while not over.is_set():
            with contextlib.suppress(BlockingIOError):
                pair.send(0, os.read(ours, 4096))
            for _, frame in pair.run(pair.slot + 5_000):
                os.write(ours, frame.to_bytes())

    player = threading.Thread(target=play)
    player.start()
    yield os.ttyname(theirs)
    over.set()
    player.join()
    pair.close()
    os.close(ours)
    os.close(theirs)


@pytest.mark.ci
def test_a_board_on_a_port(port, capsys):
    assert main(["board", "selftest", port]) == 0
    assert "link       passed: by the board's switch\n" in capsys.readouterr().out
    assert main(["board", "info", port]) == 0
    out = capsys.readouterr().out
    assert "this is the NIC that `lanai build --board ulx3s-85f` builds" in out
    assert "the processor runs; the link is up" in out
    assert re.search(r"^PHY_RETRAINS +1$", out, re.MULTILINE)
    assert main(["board", "info", port, "--board", "ulx3s-25f"]) == 0
    assert "lanai: note: SRAM_SIZE is 131072, and 65536 in a bitstream for ulx3s-25f" in capsys.readouterr().out


@contextlib.contextmanager
def on_a_socket(port):
    """Do as a program that drives a chip without a serial port: pass its bytes to a socket and from there. Give the
    URL of pyserial."""
    server, board = socket.create_server(("127.0.0.1", 0)), os.open(port, os.O_RDWR | os.O_NOCTTY)
    tty.setraw(board)

    def pass_on():
        client, _ = server.accept()
        with client:
            while True:
                for ready in select.select([client, board], [], [])[0]:
                    data = client.recv(4096) if ready is client else os.read(board, 4096)
                    if not data:
                        return
                    os.write(board, data) if ready is client else client.sendall(data)

    relay = threading.Thread(target=pass_on)
    relay.start()
    yield f"socket://127.0.0.1:{server.getsockname()[1]}"
    relay.join()
    os.close(board)
    server.close()


@pytest.mark.ci
def test_a_board_behind_a_program_of_ones_own(port, capsys):
    with on_a_socket(port) as url:
        assert main(["board", "info", url]) == 0
    assert "this is the NIC that `lanai build --board ulx3s-85f` builds" in capsys.readouterr().out


def test_the_pins_of_a_cable(capsys):
    assert main(["board", "pins"]) == 0
    rows = re.findall(r"^(clock|control|data \d) +(G[PN]\d+) +(G[PN]\d+)", capsys.readouterr().out, re.MULTILINE)
    cable, ports = rows[:6], rows[6:]
    assert [signal for signal, *_ in cable] == ["clock", "control", "data 0", "data 1", "data 2", "data 3"]
    assert len({pin for _, *pins in cable for pin in pins}) == 12
    assert ports[:6] == cable, "a switch has a NIC's pins at its port 0"
    assert len(ports) == 4 * 6
    assert len({pin for _, *pins in ports for pin in pins}) == 4 * 12


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["info", "/dev/none"], "cannot open serial port '/dev/none': No such file or directory; name the board's"),
        (["info", "/dev/none", "--line", "ft245"], "--line 'ft245' is for 'simulated'; /dev/none has the line that it"),
        (
            ["info", "simulated", "--line", "ft600"],
            "line 'ft600' is not known; choose one of serial, ft245, ft245-sync",
        ),
        (["info", "/dev/none", "--baud", "0"], "--baud 0 is no rate; write bits a second, for example 1000000"),
        (["pins", "--board", "ulx3s-84f"], "board 'ulx3s-84f' is not known; did you mean 'ulx3s-85f'?"),
        (["load", "none"], "'none' is no file; `lanai build --board ulx3s-85f --output DIR` writes top.bit"),
        (["load", "other.bit"], "'other.bit' is no bitstream for LFE5U-85F, the FPGA of ulx3s-85f; --board names"),
        (["load", "top.bit"], "openFPGALoader is not on PATH; install it, or load top.bit with a tool of your own"),
    ],
)
def test_bad_input(tmp_path, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "other.bit").write_bytes(b"\xff\0Part: LFE5U-25F-6CABGA381\0")
    (tmp_path / "top.bit").write_bytes(b"\xff\0Part: LFE5U-85F-6CABGA381\0")
    assert main(["board", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_load_gives_the_bitstream_to_the_boards_own_tool(tmp_path, monkeypatch):
    (tmp_path / "openFPGALoader").write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/got\nexit 3\n')
    (tmp_path / "openFPGALoader").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    (tmp_path / "top.bit").write_bytes(b"\xff\0Part: LFE5U-85F-6CABGA381\0")
    assert main(["board", "load", str(tmp_path)]) == 3
    assert (tmp_path / "got").read_text() == f"--board=ulx3s {tmp_path}/top.bit\n"


@pytest.mark.parametrize(
    ("comes", "said"),
    [(b"", "the board said nothing for 0.2 s; is it running"), (b"\xff" * 9, "frame kind 15 of ffff is")],
)
def test_a_port_without_a_nic_is_one_line(monkeypatch, capsys, comes, said):
    monkeypatch.setattr("lanai_sim.commands.board.SerialPort", partial(SerialPort, silence=0.2))
    ours, theirs = os.openpty()
    tty.setraw(theirs)
    name = os.ttyname(theirs)
    answering = threading.Thread(target=lambda: (os.read(ours, HEAD_BYTES), os.write(ours, comes)))
    answering.start()
    assert main(["board", "info", name]) == 2
    answering.join()
    assert capsys.readouterr().err.startswith(f"lanai: error: {name}: {said}")
    os.close(ours)
    os.close(theirs)
