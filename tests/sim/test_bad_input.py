"""Mistakes of a user, and failures of a program or a machine: each ends the run clearly, with its own
code and words."""

import json
import os
import pty
import resource
import select
import shlex
import signal
import subprocess
import sys
import time

import pytest

from lanai_host import compilers
from lanai_host.errors import UserError
from lanai_sim import cli
from openlanai import Job

LANAI = [sys.executable, "-m", "lanai_sim"]


def lanai(*words, **options):
    return subprocess.run([*LANAI, *words], capture_output=True, text=True, timeout=500, check=False, **options)


REFUSED = [
    ("no-such-command", "command 'no-such-command' is not known; choose one of board, "),
    ("tarce", "command 'tarce' is not known; did you mean 'trace'? choose one of board, "),
    ("fw buidl x", "action 'buidl' is not known; did you mean 'build'? choose one of build, run, disasm, size"),
    ("run", "no program was named"),
    ("run -n 2 no-such-program", "program 'no-such-program' was not found, neither as a file nor on PATH"),
    ("run --device mpinp true", "--device 'mpinp' is not known; did you mean 'mpi-np'? choose one of ideal, "),
    (
        "run --devcie ideal true",
        "--devcie is not an option of `",
        "; did you mean '--device'? see `lanai run --help all`",
    ),
    ("run -n 0 true", "-n/--ranks: '0' is not a count; write a whole number from 1"),
    ("run --max-wall soon true", "--max-wall: 'soon' is not a number"),
    ("run --fabric torsu:2x2 --device mpi-np true", "'torsu:2x2' is not known; did you mean 'torus'? write "),
    ("cache --prune", "--prune is not an option of `lanai cache`; see `lanai cache --help`"),
    ("trace report t --htlm p", "--htlm is not an option", "'--html'? see `lanai trace report --help`"),
    ("trace report t --most 0", "--most: '0' is not a count; write a whole number from 1"),
    ("trace profile t --most -3", "--most: '-3' is not a count; write a whole number from 1"),
    ("trace profile t --node one", "--node: 'one' is not a whole number"),
    ("trace report", "the following arguments are required: TRACE; see `lanai trace report --help`"),
    ("paper ccuu", "paper 'ccuu' is not known; did you mean 'ccu'? choose one of ccu, "),
    ("build --board ulx3s-85", "board 'ulx3s-85' is not known; did you mean 'ulx3s-85f'?"),
    ("lab grade 9", "lab 9 does not exist"),
    ("lab grade dna", "did you mean 'dma'?"),
    ("lab grade ''", "lab '' is not known"),
    ("list parameters knick", "no parameter's name begins with 'knick'; "),
    ("list parameters nic.link_latncy", "'nic.link_latncy'; did you mean 'nic.link_latency'? names begin with ranks"),
    ("mpicc -static-mpi a.c", "-static-mpi: there is no static library"),
    ("mpicc -config=gcc a.c", "-config=gcc: ", "-cc=COMPILER"),
    ("mpicc -cc=mpicc a.c", "'mpicc' is an MPI wrapper"),
    ("sweep queues --store", "--store is for a program; a study has its journal and --output DIR: leave --store out"),
    ("sweep queues --rows a.csv", "--rows is for a program; a study has its journal"),
    ("sweep -n 2 --output out -- true", "--output is for a study; a program has --rows FILE and --plot FILE"),
    (
        "sweep queues --on no_such_module:make",
        "gives no executor: ModuleNotFoundError: No module named 'no_such",
    ),
    ("sweep queues --on json:make", "gives no executor: AttributeError: module 'json' has no attribute 'make'"),
    ("sweep queues --on json:dumps", "gives no executor: TypeError"),
    ("sweep queues --on collections:Counter", "an object of type Counter; it must give a concurrent.futures.Executor"),
    ("compare --systems ideal,mpinp", "system 'mpinp' is not known; did you mean 'mpi-np'?"),
    ("compare --systems ,", "--systems ',' names none"),
    ("compare --jobs -1", "--jobs must be at least 1"),
    ("compare -n 1 -- nosuch", "program 'nosuch' was not found, neither as a file nor on PATH"),
    ("compare -n 1 -- python nosuch.py 3", "there is no 'nosuch.py' for python to run; give the path"),
    ("compare --plot a.xyz", "cannot draw to 'a.xyz': its name must end in .svg, .png, .pdf"),
    ("compare --journal .", "cannot read the journal '.': Is a directory; name a file"),
    ("compare --answers E", "--answers 'E': the built-in kit compares its own"),
    ("compare --answers ( -- python", "--answers '(' is not a regular expression: missing )"),
    ("compare -n 4", "-n 4: the built-in kit has its own numbers of ranks"),
    ("dev bench loggp --systems idael", "did you mean 'ideal'"),
    ("dev bench loggp --systems ,", "--systems ','"),
    ("dev bench alltoall --ranks 3 --size 1024", "--size 1024 is not measured; there are 8 ranks 1024 bytes"),
    ("dev bench alltoall --ranks 16 --size 65536", "--ranks 16 --size 65536 is not measured; there are 8 ranks"),
    ("dev bench alltoall --ranks -1 --size 0", "--ranks -1 --size 0 is not measured; there are 8 ranks"),
    ("dev bench p2p --parts trafic", "--parts names 'trafic'; there are traffic, stages"),
    ("dev bench p2p --sizes 4,-1", "--sizes names '-1'"),
    ("dev bench p2p --repetitions 0", "--repetitions 0 measures nothing"),
    ("dev bench rate --size 0", "--size 0 measures nothing"),
    ("dev bench rate --count -1", "--count -1 measures nothing"),
    ("dev bench rate --messages 0", "--messages 0 measures nothing"),
    ("dev bench overlap --ranks 1", "--ranks 1 is too small; a transfer has two ends"),
    ("dev bench overlap --size 0", "--size 0 measures nothing"),
    ("dev bench collectives --ranks 4 1", "--ranks 1 is too small; a collective operation has two ranks"),
    ("dev bench collectives --calls 0", "--calls 0 --late 1000: take one call or more"),
    ("run --device 'none such' true", "'none such'"),
]


@pytest.mark.parametrize("line", REFUSED, ids=lambda line: line[0])
def test_a_command_line_that_cannot_be_is_one_line_that_names_what_is_near(line, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    words, *said = line
    assert cli.main(shlex.split(words)) == 2
    errors = [one for one in capsys.readouterr().err.splitlines() if not one.startswith("lanai: queues: ")]
    assert len(errors) == 1
    assert errors[0].startswith("lanai: error: ")
    assert [text for text in said if text not in errors[0]] == []


def test_gigabytes_of_output_need_no_memory():
    """A rank that prints without end, read slowly: it waits, and we do not grow."""
    body = "import os\nwhile True: os.write(1, b'x' * 65536)"
    process = subprocess.Popen([*LANAI, "run", "-n", "2", "python", "-c", body], stdout=subprocess.PIPE)
    try:
        taken, peak = 0, 0
        while taken < 96 << 20:
            taken += len(os.read(process.stdout.fileno(), 1 << 20))
            if taken % (16 << 20) < 1 << 16:
                with open(f"/proc/{process.pid}/status") as status:
                    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
        assert peak < 400 << 10  # kB
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


def test_a_full_disk_under_the_output_is_told():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*LANAI, "run", "-n", "2", "python", "-c", "print('x' * 100000)"], stdout=full, stderr=subprocess.PIPE,
             text=True,
            timeout=500, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert "lanai: what the ranks printed was lost: No space left on device" in done.stderr


@pytest.mark.parametrize(("own", "code"), [(0, 1), (7, 7)])
def test_a_trace_cut_by_a_full_disk_is_an_error(own, code):
    words = ["python", "-c", f"from mpi4py import MPI; MPI.COMM_WORLD.Barrier(); raise SystemExit({own})"]
    done = lanai("run", "-n", "2", "--trace", "/dev/full", *words)
    assert "lanai: the trace '/dev/full' ends after 0 bytes: No space left on device" in done.stderr
    assert done.returncode == code


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_standard_stream_loses_what_goes_there(tmp_path, closed):
    """The output does not land in the file that is opened next, either."""
    figures = tmp_path / "figures.json"
    words = [*LANAI, "run", "-n", "2", "--json", str(figures), "python", "-c", "import os; os.write(1, b'printed\\n')"]
    command = f"{shlex.join(words)} {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done
    assert done.stdout == ("" if ">&-" in closed.split() else "printed\n" * 2)
    assert "Traceback" not in done.stderr
    assert json.loads(figures.read_text())["figures"]["run.simulated_us"] == 0


def test_a_job_of_a_process_without_standard_streams(tmp_path):
    """A service is one. Ranks that print more than a pipe holds do not wait."""
    script = tmp_path / "service.py"
    script.write_text(
        "import openlanai, pathlib, sys\n"
        "result = openlanai.Job(['python', '-c', 'print(\"x\" * 500000)'], ranks=2).run()\n"
        "pathlib.Path(sys.argv[1]).write_text(str(result.code))\n"
    )
    told = tmp_path / "told"
    command = f"{shlex.join([sys.executable, str(script), str(told)])} <&- >&- 2>&-"
    subprocess.run(["sh", "-c", command], timeout=500, check=True)
    assert told.read_text() == "0"


def test_without_path_the_compiler_finds_its_linker(monkeypatch, tmp_path, capsys):
    """`env -i lanai run ...` has none."""
    monkeypatch.delenv("PATH")
    assert cli.main(["list", "systems"]) == 0
    capsys.readouterr()
    made = tmp_path / "made"
    compilers.find(compilers.Language.C).run(
        ["-x", "c", "-o", str(made), "-"], "a test", "int main(void) { return 0; }"
    )
    subprocess.run([made], check=True)


def test_a_reader_that_goes_away_ends_nothing_badly():
    process = subprocess.Popen(
        [*LANAI, "run", "python", "-c", "for i in range(100000): print(i)"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "0\n"
    process.stdout.close()
    assert process.wait(60) == 0
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()


def test_a_file_in_the_caches_place_is_named(tmp_path):
    (tmp_path / "cache").write_text("")
    environment = {**os.environ, "LANAI_CACHE": str(tmp_path / "cache")}
    done = lanai("run", "-n", "2", "--device", "mpi-np", "true", env=environment)
    assert done.returncode == 2
    assert "LANAI_CACHE" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_full_disk_is_told(tmp_path):
    """No file may grow beyond 64 kB, which is how a full disk looks to the cache. The command keeps no
    compiled modules: Python would keep their first 64 kB, which later tests could not load."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))

    environment = {**os.environ, "LANAI_CACHE": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = lanai("run", "-n", "2", "--device", "mpi-np", "true", env=environment, preexec_fn=limit)
    assert done.returncode == 2, done
    assert done.stderr.startswith("lanai: error: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_while_something_is_built_is_one_line(tmp_path, number):
    """A compiler that never ends builds the first library that is needed."""
    compiler = tmp_path / "cc"
    compiler.write_text(f'#!/bin/sh\n[ "$1" = --version ] && exec echo slow\ntouch {tmp_path}/began\nexec sleep 1000\n')
    compiler.chmod(0o755)
    environment = {**os.environ, "LANAI_CACHE": str(tmp_path / "cache"), "CC": str(compiler)}
    command = [*LANAI, "run", "-n", "2", "--device", "mpi-np", "true"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        end = time.monotonic() + 60
        while not (tmp_path / "began").exists() and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(number)
        assert process.communicate(timeout=500)[1].splitlines()[-1] == "lanai: interrupted"
    assert process.returncode == 130
    assert not [*(tmp_path / "cache").rglob(".partial*")]


@pytest.mark.ci
def test_truncated_libraries_are_built_again(tmp_path):
    """Loading one would kill launcher or ranks by SIGBUS."""
    environment = {**os.environ, "LANAI_CACHE": str(tmp_path / "cache")}
    program = [
        "run",
        "-n",
        "2",
        "--device",
        "ideal",
        "python",
        "-c",
        "from mpi4py import MPI; print(MPI.COMM_WORLD.rank)",
    ]
    first = lanai(*program, env=environment)
    libraries = [path for path in (tmp_path / "cache").rglob("*.so*") if path.is_file() and not path.is_symlink()]
    assert {path.parents[2].name for path in libraries} == {"abi", "libmpi", "native"}
    for path in libraries:
        os.truncate(path, path.stat().st_size // 2)
    second = lanai(*program, env=environment)
    assert (second.returncode, sorted(second.stdout.split())) == (0, sorted(first.stdout.split()))
    assert second.stderr.count("is damaged (") == len({path.parent for path in libraries})
    assert "Traceback" not in second.stderr


def test_impossible_routes_are_refused_before_anything_is_built(tmp_path):
    path = tmp_path / "islands.toml"
    path.write_text('[fabric]\ncables = [["nic0", "switch0.0"], ["nic1", "switch1.0"]]')
    done = lanai("run", "-n", "2", "--device", "mpi-np", "--config", str(path), "true")
    assert done.returncode == 2
    assert "no way from nic0 to nic1" in done.stderr


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        ("import mpi4py.nothing", 1, "exited with code 1"),
        ("from mpi4py import MPI; import os; os._exit(0)", 0, "without MPI_Finalize"),
        ("from mpi4py import MPI; import os; os._exit(7)", 7, "exited with code 7"),
        ("from mpi4py import MPI; import os; os.abort()", 134, "killed by SIGABRT"),
    ],
)
def test_ends_of_programs(body, code, words):
    result = Job((sys.executable, "-c", body), 2).run()
    assert result.code == code
    assert words in result.report + " ".join(result.notes)


def test_fork_after_init():
    body = """
import os
from mpi4py import MPI
child = os.fork()
if child == 0:
    os._exit(3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
MPI.COMM_WORLD.Barrier()
"""
    assert Job((sys.executable, "-c", body), 2).run().code == 0


def test_progress_on_a_terminal(tmp_path):
    """Simulated time, and who waits for what, on one line that is gone at the end."""
    ours, theirs = pty.openpty()
    script = tmp_path / "slow.py"
    script.write_text(
        "import time\nfrom mpi4py import MPI\nw = MPI.COMM_WORLD\n"
        "if w.rank: w.Recv(bytearray(1), source=0, tag=3)\nelse: time.sleep(3); w.Send(b'x', dest=1, tag=3)\n"
    )
    process = subprocess.Popen([*LANAI, "run", "-n", "2", "python", str(script)], stderr=theirs, stdout=theirs)
    os.close(theirs)
    text, end = b"", time.monotonic() + 60
    while time.monotonic() < end:
        if not select.select([ours], [], [], 1.0)[0]:
            continue
        try:
            text += os.read(ours, 4096)
        except OSError:  # the other side is closed
            break
    os.close(ours)
    assert process.wait(20) == 0
    assert b"0: runs" in text
    assert b"1: MPI_Recv" in text
    assert b"\r\x1b[K" in text.rpartition(b"MPI_Recv")[2]


def test_a_bad_configuration_is_one_line(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text("rank = 2")
    done = lanai("run", "--config", str(path), "true")
    assert done.returncode == 2
    assert done.stderr.startswith(f"lanai: error: {path}: the configuration has no key 'rank'; did you mean 'ranks'?")


def test_user_errors_can_be_caught():
    with pytest.raises(UserError, match="program 'no-such-program' was not found"):
        Job(("no-such-program",), 1).run()
