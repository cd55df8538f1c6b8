"""`--buffers page`: no buffer crosses more page boundaries than it must. The digest of where
buffers lay."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lanai_hdl.errors import UserError
from lanai_host import compilers, stacks
from lanai_sim.job import data, settings
from lanai_sim.job.data import Buffers, JobData, digest, environment
from lanai_sim.job.processes import starter

WHERE = """\
import ctypes, json, numpy
from mpi4py import MPI
kept, found = [], []
def add(kind, size, address):
    found.append([kind, size, address % 4096])
for size in [*range(1, 200, 7), 255, 256, 257, 511, 1000, 2048, 4095, 4096, 5000, 70000, 1 << 20]:
    kept += [bytearray(size), numpy.zeros(size, "B"), numpy.empty(size, "B"), ctypes.create_string_buffer(size)]
    add("bytearray", size, ctypes.addressof(ctypes.c_char.from_buffer(kept[-4])))
    add("zeros", size, kept[-3].ctypes.data)
    add("empty", size, kept[-2].ctypes.data)
    assert not kept[-3].any()
grown = bytearray(10)
for _ in range(200):
    grown += b"x" * 100
assert grown == bytearray(10) + b"x" * 20000
add("grown", len(grown), ctypes.addressof(ctypes.c_char.from_buffer(grown)))
world = MPI.COMM_WORLD
world.Sendrecv_replace(bytearray(SIZE), 1 - world.rank)
if world.rank == 0:
    print(json.dumps(found))
"""


def lanai(*options, size=5000):
    program = WHERE.replace("SIZE", str(size))
    command = [
        sys.executable,
        "-m",
        "lanai_sim",
        "run",
        "-n",
        "2",
        "--device",
        "mpi-np",
        "-v",
        *options,
        "python",
        "-c",
        program,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    lay = re.search(r"^lanai: the ranks' buffers lay as ([0-9a-f]{8}) \(--buffers (\w+)\)$", done.stderr, re.M)
    assert lay, done.stderr
    return json.loads(done.stdout), lay[1], lay[2]


def needlessly_crossed(found):
    """Buffers that lie in one page more than they need."""
    return [one for one in found if -(-(one[2] + one[1]) // 4096) > -(-one[1] // 4096)]


@pytest.mark.ci
def test_buffers_cross_no_more_pages_than_they_must():
    found, first, which = lanai("--buffers", "page")
    assert which == "page"
    assert {kind for kind, _, _ in found} == {"bytearray", "zeros", "empty", "grown"}
    assert needlessly_crossed(found) == []
    anywhere, other, which = lanai("--buffers", "any")
    assert which == "any"
    assert needlessly_crossed(anywhere)
    assert other != first
    assert lanai()[1:] == (first, "page")  # the default
    assert lanai(size=5001)[1] != first


def test_pages_count_where_nics_are():
    assert JobData(("program",), 2, "mpi-np").chosen_buffers is Buffers.PAGE
    assert JobData(("program",), 2, "ideal").chosen_buffers is Buffers.ANY
    assert JobData(("program",), 2, "mpi-np", buffers=Buffers.ANY).chosen_buffers is Buffers.ANY


def test_the_digest_is_of_all_ranks():
    assert digest([1234, 5678]) != digest([5678, 1234]) != ""
    assert digest([1234, None]) == ""  # one has not finalized
    assert digest([0, 0]) != ""


def test_a_library_that_the_user_preloads_stays():
    assert environment(Buffers.ANY, {"LD_PRELOAD": "mine.so"}) == {}
    assert environment(Buffers.PAGE, {"LD_PRELOAD": "mine.so"})["LD_PRELOAD"].endswith("page_malloc.so mine.so")


def test_a_file_may_say_so():
    assert settings.job_from({"buffers": "page"}, JobData).buffers is Buffers.PAGE
    with pytest.raises(UserError, match=r"buffers = 'pages' must be one of 'any', 'page'"):
        settings.job_from({"buffers": "pages"}, JobData)


ON = (
    "import os, sys; os.sched_setaffinity(0, map(int, sys.argv[1].split(','))); os.execv(sys.executable, "
    "[sys.executable, *sys.argv[2:]])"
)


@pytest.mark.ci
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor")
@pytest.mark.parametrize("fork", [[], ["--no-fork"]], ids=["forked", "executed"])
def test_buffers_lie_alike_on_one_processor_and_on_several(fork):
    """A rank's heap is the same however often it looks for an answer, and whether it sleeps or not."""
    program = Path(__file__).parents[3] / "examples" / "mpi" / "sort.py"
    processors = sorted(os.sched_getaffinity(0))
    lay = set()
    for chosen in (processors[:1], processors):
        options = ["-m", "lanai_sim", "run", "-v", "-n", "4", "--device", "mpi-np", *fork, sys.executable, str(program)]
        command = [sys.executable, "-c", ON, ",".join(map(str, chosen)), *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=500)
        assert done.returncode == 0, done.stderr
        lay |= set(re.findall(r"(took .*) of simulated|buffers lay as (\w+)", done.stderr))
    assert len(lay) == 2, lay  # one time, one digest


HEAP = """\
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>
enum { PAGE = 4096, KEPT = 64 };
static void check(int good) { if (!good) abort(); }
static size_t pages(const void *block, size_t size) {
    return ((uintptr_t)block + size - 1) / PAGE - (uintptr_t)block / PAGE + 1;
}
static void *turn(void *seed) {
    unsigned number = (unsigned)(uintptr_t)seed;
    unsigned char *kept[KEPT] = {0}, mark[KEPT] = {0};
    size_t sizes[KEPT] = {0};
    for (int round = 0; round < 20000; round++) {
        number = number * 1103515245 + 12345;
        int at = number >> 16 & (KEPT - 1);
        size_t size = 1 + (number >> 8) % (round % 50 ? 3000 : 30000);
        for (size_t byte = 0; byte < sizes[at]; byte += 97) check(kept[at][byte] == mark[at]);
        if (round % 3 == 0 || !kept[at]) {
            free(kept[at]);
            kept[at] = round % 2 ? calloc(1, size) : malloc(size);
            if (round % 2) for (size_t byte = 0; byte < size; byte++) check(!kept[at][byte]);
        } else {
            kept[at] = realloc(kept[at], size);
            for (size_t byte = 0; byte < (size < sizes[at] ? size : sizes[at]); byte += 97)
                check(kept[at][byte] == mark[at]);
        }
        check(kept[at] && pages(kept[at], size) == (size + PAGE - 1) / PAGE);
        check(malloc_usable_size(kept[at]) >= size);
        memset(kept[at], mark[at] = (unsigned char)round, sizes[at] = size);
    }
    for (int at = 0; at < KEPT; at++) free(kept[at]);
    return NULL;
}
int main(void) {
    pthread_t threads[3];
    void *aligned = NULL;
    turn((void *)1);
    for (uintptr_t number = 0; number < 3; number++) pthread_create(threads + number, NULL, turn, (void *)(number + 2));
    for (int number = 0; number < 20; number++) {
        pid_t child = fork();
        if (!child) _exit(!malloc(100));
        int status;
        check(waitpid(child, &status, 0) == child && !status);
    }
    for (int number = 0; number < 3; number++) pthread_join(threads[number], NULL);
    check(!posix_memalign(&aligned, 16384, 100) && !((uintptr_t)aligned % 16384));
    free(aligned);
    check(!calloc((size_t)-1, 2));
    free(malloc(0));
}
"""


def test_the_heap_holds_what_is_written_to_it_also_with_threads_and_children(tmp_path):
    program = tmp_path / "program"
    assert compiled(HEAP, program, "-pthread")
    assert paged(program).returncode == 0


def test_the_address_sanitizer_sees_the_heap(tmp_path):
    program = tmp_path / "program"
    wrong = (
        "#include <stdlib.h>\nint main(int count, char **words) { char *made = malloc(10); return made[9 + count]; }"
    )
    if not compiled(wrong, program, "-fsanitize=address"):
        pytest.skip("this compiler has no address sanitizer")
    assert "heap-buffer-overflow" in paged(program).stderr


def compiled(text, program, *flags):
    command = [
        *compilers.find(compilers.Language.C).command,
        "-x",
        "c",
        "-fno-builtin",
        *flags,
        "-",
        "-o",
        str(program),
    ]
    return subprocess.run(command, input=text, text=True, capture_output=True, check=False).returncode == 0


def paged(program):
    made = {**os.environ, **environment(Buffers.PAGE, {})}
    return subprocess.run([str(program)], env=made, timeout=500, capture_output=True, text=True, check=False)


PARTS = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
static void check(int good) { if (!good) abort(); }
static uintptr_t page(void *block) { return (uintptr_t)block / 4096; }
static void *first(size_t size) { return malloc(size); }
static void *second(size_t size) { return malloc(size); }
int main(void) {
    int (*part)(int) = (int (*)(int))dlsym(RTLD_DEFAULT, "lanai_heap_part");
    void *(*anew)(void) = (void *(*)(void))dlsym(RTLD_DEFAULT, "lanai_heap_begin");
    void *old = malloc(60), *mine, *more, *theirs, *aligned;
    uintptr_t begin = page(anew());
    free(old);
    mine = first(60);
    check(!part(1));
    theirs = first(60);
    check(part(0) == 1);
    more = first(60);
    check(page(old) < begin && page(mine) >= begin); /* not what was freed before */
    check(page(theirs) != page(mine) && page(more) == page(mine));
    check(page(second(60)) != page(mine)); /* another function asks */
    free(theirs);
    check(first(60) != theirs);
    free(mine);
    check(first(60) == mine);
    check(!posix_memalign(&aligned, 64, 1000) && page(aligned) >= begin);
    memset(mine = malloc(2 << 20), 7, 2 << 20); /* gives its memory back, and lies in pages of its own */
    free(mine);
    more = calloc(2 << 20, 1);
    for (int at = 0; at < 2 << 20; at++) check(!((char *)more)[at]);
    return 0;
}
"""


def test_program_and_library_share_no_pages(tmp_path):
    program = tmp_path / "program"
    assert compiled(PARTS, program)
    done = paged(program)
    assert done.returncode == 0, done.stderr


KEPT = """\
from mpi4py import MPI
world = MPI.COMM_WORLD
right, left = (world.rank + 1) % world.size, (world.rank - 1) % world.size
buffers = [(bytearray(size), bytearray(size), bytearray(size)) for size in (4, 4096, 20000, 70000)]
for mine, first, second in buffers:
    for _ in range(2):
        world.Sendrecv(mine, right, 0, first, left, 0)
        MPI.Request.Waitall([world.Isend(mine, right, 1), world.Irecv(second, left, 1)])
        world.Barrier()
        world.Bcast(mine)
"""
SMALL = """\
import random
import numpy as np
from mpi4py import MPI
world = MPI.COMM_WORLD
rank, size = world.rank, world.size
numbers = random.Random(1)
kept = []
for turn in range(6):
    kept.append([[i, float(i), (i, turn), {i: i}] for i in range(numbers.randrange(300))])
    kept.append(world.allgather((rank, "x" * numbers.randrange(400))))
    kept.append(world.alltoall([[turn] * numbers.randrange(30) for to in range(size)]))
    some = [numbers.random() for _ in range(numbers.randrange(60))]
    kept.append(world.bcast(some if rank == 0 else None))
    mine, sums = np.full(numbers.randrange(1, 90), rank, "f4"), np.empty((size, 1 + turn))
    world.Allgather(np.full(1 + turn, rank, float), sums)
    world.Allreduce(mine, np.zeros_like(mine))
    del kept[: turn % 3]
"""
LONG = {"LONG": "x" * 2000}


@pytest.mark.ci
@pytest.mark.parametrize("program", [KEPT, SMALL], ids=["kept", "small"])
@pytest.mark.parametrize("device", stacks.names())
def test_the_time_is_that_of_the_program_alone(device, program, tmp_path):
    """Traces, processes of their own, another directory and more in the environment change nothing."""
    file, deep = tmp_path / "program.py", tmp_path / "another-directory" / "below"
    file.write_text(program)
    deep.mkdir(parents=True)
    runs = {"plain": (tmp_path, [], {}), "alone": (deep, ["--no-fork"], LONG)}
    if device != "ccu":  # its packets cannot be shown
        runs["traced"] = (tmp_path, ["--trace", str(tmp_path / "trace")], {})
    told = {}
    for name, (directory, options, variables) in runs.items():
        figures = tmp_path / f"{name}.json"
        command = [sys.executable, "-m", "lanai_sim", "run", "-n", "3", "--device", device, "--json", str(figures)]
        done = subprocess.run(
            [*command, *options, sys.executable, str(file)],
            cwd=directory,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        told[name] = json.loads(figures.read_text())["figures"]
        told[name].pop("run.nic_cycles_evaluated", None)  # a choice of the engine
    assert all(one == told["plain"] for one in told.values())


STACK = '#include <stdio.h>\nint main(void) { char local[7]; printf("%p\\n", (void *)local); return 0; }'


def test_the_stack_begins_at_the_same_place_in_a_page(tmp_path):
    first, second = tmp_path / "program", tmp_path / "a-program-with-a-longer-name"
    assert all(compiled(STACK, program) for program in (first, second))
    begin = "import os, sys; os.spawnv(os.P_WAIT, sys.argv[1], [sys.argv[1], '9', str(os.getpid()), *sys.argv[2:]])"
    places = set()
    for program, arguments, variables in ((first, (), {}), (first, ("1",), {"A": "1"}), (second, ("22", "3"), LONG)):
        command = [sys.executable, "-c", begin, str(starter()), str(program), *arguments]
        done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=True)
        places.add(int(done.stdout, 16) % 4096)
    assert len(places) == 1


LITTLE = 2 << 30  # bytes of addresses, as `ulimit -v` leaves them: less than the heap's region


def test_a_program_with_few_addresses_has_the_heap_of_the_c_library():
    """It looked for numpy's old blocks until it had no memory."""
    program = "from mpi4py import MPI; print(MPI.COMM_WORLD.allreduce(1))"
    command = [sys.executable, "-m", "lanai_sim", "run", "-q", "-n", "2", "--device", "mpi-np", "--max-wall", "120"]
    done = subprocess.run(
        ["sh", "-c", f'ulimit -v {LITTLE >> 10} && exec "$@"', "sh", *command, "python", "-c", program],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n2\n", "")


@pytest.mark.parametrize("path", ["/a cache/page_malloc.so", "/a:cache/page_malloc.so"])
def test_a_place_that_ranks_cannot_load_from_is_refused(path, monkeypatch):
    monkeypatch.setattr(data, "page_malloc", lambda: Path(path))
    with pytest.raises(UserError, match=r"--buffers page needs /a.cache/page_malloc.so in LD_PRELOAD.*--buffers any"):
        environment(Buffers.PAGE, {})
    assert environment(Buffers.ANY, {}) == {}
