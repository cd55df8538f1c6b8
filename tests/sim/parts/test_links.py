"""All ways of messages between parts keep one contract."""

import os
import signal
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path

import pytest
import sanitizer
from tests.sim.parts.test_together import LANAI, MPIEXEC, SECONDS, start

from lanai_sim.kernel.kernel import Interrupted
from lanai_sim.parts import links
from lanai_sim.parts.links import PartLinks
from lanai_sim.parts.run import PartRun
from lanai_sim.parts.world import PartKernel

PROGRAM = Path(__file__).with_name("links_contract.py")
PARTS = 3


@pytest.mark.ci
@pytest.mark.skipif(not MPIEXEC.exists(), reason="needs the mpiexec of the mpich wheel")
@pytest.mark.parametrize("kind", ["Mailboxes", "Messages"])
def test_links_keep_the_contract(kind):
    done = start([MPIEXEC, "-n", PARTS, sys.executable, PROGRAM, kind])
    assert (done.returncode, done.stdout.count("kept"), done.stderr) == (0, PARTS, "")


@pytest.mark.ci
@pytest.mark.skipif(not MPIEXEC.exists(), reason="needs the mpiexec of the mpich wheel")
def test_the_contract_holds_between_machines():
    """Each process of MPI is told that it is alone on its machine."""
    apart = ("-genv", "MPIR_CVAR_NOLOCAL", "1")
    done = start([MPIEXEC, *apart, "-n", PARTS, sys.executable, PROGRAM, "Messages", "apart"])
    assert (done.returncode, done.stdout.count("kept")) == (0, PARTS), done.stderr  # MPI itself may warn


# A signal that comes while a part waits for others, in native code.


class NoLinks(PartLinks):
    waited = 0.0

    def leave(self):
        pass

    def sizes(self):
        return []


class Alone:
    """The only part."""

    def __init__(self):
        self.links = NoLinks()


def run_of(runs):
    """Return a run in which no rank has begun. `runs`: simulated time goes on."""
    made = PartRun.__new__(PartRun)
    made.kernel, made.simulating = PartKernel(Alone()), False
    made.kernel.runs = runs
    return made


def test_an_exception_that_native_code_has_lost_was_a_signal():
    with pytest.raises(KeyboardInterrupt):
        NoLinks().fail()


def test_the_scheduler_ends_a_boot():
    made = run_of(runs=True)
    made._signal(signal.SIGINT, None)
    with pytest.raises(Interrupted, match="SIGINT"):
        made.kernel.part.links.check()
    with pytest.raises(KeyboardInterrupt):  # a second signal does not wait for the scheduler
        made._signal(signal.SIGINT, None)


def test_outside_the_scheduler_a_signal_ends_the_run_at_once():
    with pytest.raises(KeyboardInterrupt):
        run_of(runs=False)._signal(signal.SIGINT, None)


IN_C = """
import ctypes, sys
from lanai_sim.parts.mpi_part import in_mpi
with in_mpi():
    print(flush=True)
    ctypes.PyDLL(None).sleep(60)  # no handler of Python's runs, as in MPI_Init
"""
ENDLESS = """
from mpi4py import MPI
while True:
    MPI.COMM_WORLD.Barrier()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(("part", "said"), [(0, "lanai: interrupted\n"), (1, "")])
def test_a_signal_in_mpi_ends_the_part_and_the_first_one_says_so(number, part, said):
    environment = {**os.environ, "PMI_RANK": str(part)}
    command = [sys.executable, "-c", IN_C, "--parts"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as run:
        run.stdout.readline()
        run.send_signal(number)
        _, errors = run.communicate(timeout=20)
    assert (run.returncode, errors) == (130, said)


def marked(mark):
    """Return the processes with this in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes():
                found.append(folder.name)
        except OSError:
            continue
    return found


@pytest.mark.ci
@pytest.mark.skipif(not MPIEXEC.exists(), reason="needs the mpiexec of the mpich wheel")
@pytest.mark.parametrize("after", [0.3, 0.6, 0.9, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2.1, 2.4])
def test_ctrl_c_at_any_moment_is_told_once(after):
    """By then the parts import, wait in MPI_Init, build their machine, boot it, or run ranks."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PMI")}
    mark = f"{os.getpid()}-{after}"
    command = [MPIEXEC, "-n", 2, *LANAI, "--parts", "-n", 2, "--device", "t3d", "python", "-c", ENDLESS]
    with subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**environment, "LANAI_TEST_MARK": mark},
    ) as run:  # fmt: skip
        time.sleep(after)
        run.send_signal(signal.SIGINT)
        said, _ = run.communicate(timeout=SECONDS)
    assert run.returncode == 130, said
    assert said.count("lanai: interrupted") == 1, said
    assert "TERMINATION" not in said
    assert "Traceback" not in said
    assert "killed" not in said
    give_up = time.monotonic() + 20
    while left := marked(f"LANAI_TEST_MARK={mark}".encode()):
        assert time.monotonic() < give_up, left
        time.sleep(0.05)


# The mailboxes of parts under a thread sanitizer: parts are threads of one process.


ROOM = 2048  # bytes of a message, so that a round is short
THREADS = Path(__file__).with_name("mailbox_threads.c")


def run(folder, change=lambda text: text):
    """Run the program with the sanitizer. `change` is made to the text of the mailboxes."""
    text = change(files(links.__package__).joinpath("mailboxes.c").read_text())
    source = folder / "threads.c"
    source.write_text(links.header(ROOM) + text + THREADS.read_text())
    return sanitizer.run(sanitizer.build(source))


@pytest.mark.slow
def test_parts_do_not_race(tmp_path):
    done = run(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_a_race_would_be_seen(tmp_path):
    """A part's message is not published to those that read it."""
    release, relaxed = (
        f"atomic_store_explicit(&own->sent, all->sent, memory_order_{x})" for x in ("release", "relaxed")
    )

    def unordered(text):
        assert release in text
        return text.replace(release, relaxed)

    assert "data race" in run(tmp_path, unordered).stderr
