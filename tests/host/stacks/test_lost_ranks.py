"""With `--survive-death`, what waits for a rank that has died ends with an error, on every device."""

import sys

import pytest
import warm

from lanai_host.errors import DeviceLost, PeerLost
from lanai_host.operation import ANY_SOURCE, DeviceError, ErrorKind
from lanai_host.stacks import names
from lanai_host.stacks.health import check_probe, fail_probe

WITHOUT_NICS = {"ideal"}
WITHOUT_RECOVERY = {"bip", "t3d", "ccu"}  # all that is under way ends, and so does what begins
PROGRAM = """
import os, signal, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
world.Set_errhandler(MPI.ERRORS_RETURN)
go_on = sys.argv[1] == "go on"
world.Barrier()
if world.rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
if world.rank == 0:
    calls = {
        sys.argv[2]: lambda: getattr(world, sys.argv[2])(*sys.argv[3:] and [bytearray(4)], source=1, tag=5),
        "Iprobe": lambda: world.Iprobe(1, 5),
        "Isend": lambda: world.Isend(bytes(5000), 1).Wait(),
        "Irecv": lambda: world.Irecv(bytearray(9), 1).Wait(),
    }
    for name, call in calls.items():
        try:
            print(name, call())
        except MPI.Exception as error:
            print(name, error.Get_error_class() == MPI.ERR_PROC_ABORTED, "was killed by SIGKILL" in str(error))
    if go_on:
        try:
            print(world.Probe(MPI.ANY_SOURCE))
        except MPI.Exception as error:
            print("any source", error.Get_error_class() == MPI.ERR_PROC_ABORTED)
        world.Send(bytes(3), 2)
        status = MPI.Status()
        world.Probe(MPI.ANY_SOURCE, MPI.ANY_TAG, status)
        print("from", status.source)
        world.Recv(bytearray(3000), 2)
        sys.stdout.flush()
elif go_on:
    world.Recv(bytearray(3), 0)
    world.Send(bytes(3000), 0)
"""

FENCE = """
import os, signal
from mpi4py import MPI
world = MPI.COMM_WORLD
window = MPI.Win.Create(bytearray(100), comm=world)
for each in (world, window):
    each.Set_errhandler(MPI.ERRORS_RETURN)
if world.rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
for _ in range(2):
    try:
        window.Fence()
    except MPI.Exception as error:
        print(error.Get_error_class() == MPI.ERR_PROC_ABORTED)
"""


ACCESS = """
import os, signal
from mpi4py import MPI
world = MPI.COMM_WORLD
window = MPI.Win.Allocate(4096, comm=world)
for each in (world, window):
    each.Set_errhandler(MPI.ERRORS_RETURN)
window.Lock_all()
world.Barrier()
start = MPI.Wtime()
while world.rank == 1 and MPI.Wtime() < start + 100e-6:
    pass  # its last messages leave
if world.rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
if world.rank == 0:
    try:
        world.Probe(1)
    except MPI.Exception:
        pass
    for call in (window.Put, window.Get):
        for size in (8, 4096):
            try:
                call(bytearray(size), 1)
                window.Flush(1)
            except MPI.Exception as error:
                print(error.Get_error_class() == MPI.ERR_PROC_ABORTED, "was killed by SIGKILL" in str(error))
    window.Put(b"alive", 2)
    window.Flush(2)
    world.Send(b"", 2)
elif world.rank == 2:
    world.Recv(bytearray(1), 0)
    print(bytes(window.tomemory()[:5]).decode(), flush=True)
"""


BESIDE_THE_DEAD = """
import os, signal
from mpi4py import MPI
world = MPI.COMM_WORLD
window = MPI.Win.Create(bytearray(5), comm=world)
world.Set_errhandler(MPI.ERRORS_RETURN)
world.Barrier()
if world.rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
try:
    world.Probe(1)
except MPI.Exception:
    pass
other = 2 - world.rank
for _ in range(4):
    window.Lock(other)
    window.Put(b"alive", other)
    window.Unlock(other)
world.Sendrecv(b"", other, recvbuf=bytearray(1), source=other)
print(bytes(window.tomemory()).decode(), flush=True)
"""


@pytest.mark.parametrize("waiting", ["Probe", pytest.param("Recv", marks=pytest.mark.slow)])
@pytest.mark.parametrize("device", [name for name in names() if name not in WITHOUT_NICS])
def test_a_wait_for_a_rank_that_died_ends(device, waiting):
    others = "end" if device in WITHOUT_RECOVERY else "go on"
    run = warm.lanai(
        "run", "-q", "-n", 3, "--survive-death", "--device", device, sys.executable, "-c", PROGRAM, others, waiting,
        *(["into a buffer"] if waiting == "Recv" else []), timeout=500,
    )  # fmt: skip
    calls = (waiting, "Iprobe", "Isend", "Irecv")
    survived = ["any source True", "from 2"] if others == "go on" else []
    assert run.stdout.splitlines() == [*(f"{call} True True" for call in calls), *survived], run.stderr
    assert run.returncode == 137


@pytest.mark.parametrize("device", sorted(WITHOUT_RECOVERY))
def test_one_sided_calls_end_where_the_whole_device_has_failed(device):
    """Receives for the requests of others end as soon as they are posted, and are not posted for ever."""
    run = warm.lanai(
        "run", "-q", "-n", 3, "--survive-death", "--device", device, sys.executable, "-c", FENCE, timeout=500
    )
    assert run.stdout == "True\n" * 4, run.stderr
    assert run.returncode == 137


@pytest.mark.parametrize("device", ["sci", "lanai2", pytest.param("mbcf", marks=pytest.mark.slow)])
def test_an_access_to_the_memory_of_a_rank_that_died_says_so(device):
    run = warm.lanai(
        "run", "-q", "-n", 3, "--survive-death", "--device", device, sys.executable, "-c", ACCESS, timeout=500
    )
    assert sorted(run.stdout.splitlines()) == ["True True"] * 4 + ["alive"], run.stdout + run.stderr


def test_a_window_by_messages_serves_the_others_when_a_rank_has_died():
    """Its service listens for anyone: each loss ends such a receive once, not all those that are posted later."""
    run = warm.lanai(
        "run",
        "-q",
        "-n",
        3,
        "--survive-death",
        "--device",
        "mpi-np",
        sys.executable,
        "-c",
        BESIDE_THE_DEAD,
        timeout=500,
    )
    assert run.stdout.splitlines() == ["alive"] * 2, run.stderr


def test_a_probe_for_any_source_is_told_of_each_loss_once():
    lost, told = {3: "gone", 1: "dead"}, set()
    for text in ("dead", "gone"):
        with pytest.raises(PeerLost, match=text):
            check_probe(ANY_SOURCE, lost, told)
    check_probe(ANY_SOURCE, lost, told)
    check_probe(2, lost, told)
    for _ in range(2):
        with pytest.raises(PeerLost, match="gone"):
            check_probe(3, lost, told)


def test_what_a_failed_device_says_depends_on_what_failed():
    with pytest.raises(PeerLost, match="text"):
        fail_probe(DeviceError(ErrorKind.PEER_FAILED, "text"))
    with pytest.raises(DeviceLost, match="text") as raised:
        fail_probe(DeviceError(ErrorKind.NIC_LOST, "text"))
    assert not isinstance(raised.value, PeerLost)


BESIDE = """
from mpi4py import MPI
world = MPI.COMM_WORLD
world.Set_errhandler(MPI.ERRORS_RETURN)
memory = bytearray(4)
while MPI.Wtime() < 100e-6:
    pass
if world.rank == 0:
    try:
        world.Ssend(memory, 2)
    except MPI.Exception:
        print("lost", flush=True)
world.Recv(memory, {0: 1, 1: 0, 2: 0}[world.rank])
"""


LOST = ("lost\n", "rank 0 waits for rank 1 in MPI_Recv")
NEVER_LOST = ("", "rank 0 waits for rank 2 in MPI_Ssend")  # what is lost on the wire is not sent again
FAILED = ("lost\n", "rank 1 waits in vain for rank 0")  # and the device with it


@pytest.mark.parametrize(
    ("device", "said"),
    [
        ("mbcf", LOST),
        ("lanai2", LOST),
        ("sci", LOST),
        pytest.param("mpi-np", NEVER_LOST, marks=pytest.mark.slow),
        pytest.param("bip", NEVER_LOST, marks=pytest.mark.slow),
        pytest.param("t3d", NEVER_LOST, marks=pytest.mark.slow),
        pytest.param("ccu", FAILED, marks=pytest.mark.slow),
    ],
)
def test_a_deadlock_beside_a_cut_cable_is_seen(device, said):
    """The adapter is idle again when the commands to a peer that it has given up have ended."""
    back = "300ms" if said is FAILED else "20ms"  # long after the device has given up, if it does
    options = ("-q", "-n", 3, "--device", device, "--fault", f"down nic2 from=60us to={back}")
    run = warm.lanai("run", *options, sys.executable, "-c", BESIDE, timeout=300)
    assert (run.stdout, said[1] in run.stderr) == (said[0], True), run.stderr
    assert "deadlock at" in run.stderr
