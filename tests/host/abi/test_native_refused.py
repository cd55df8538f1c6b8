"""Puts and flushes that native code leaves to Python, which answers with the errors that it has."""

import pytest

from .native_jobs import head, run

pytest.importorskip("mpi4py")
WRONG = """
free = MPI.Win.Allocate(8, 1, comm=w)
here = MPI.memory.fromaddress
wrong = [
    ("rank", lambda: win.Put(data[:8], w.size)),
    ("below", lambda: win.Put(data[:8], -5)),
    ("negative", lambda: win.Put(data[:8], 1, -1)),
    ("outside", lambda: win.Put(data[:8], 1, 497)),
    ("far outside", lambda: win.Put(data[:8], 1, 2**62)),
    ("farther", lambda: win.Put(data[:8], 1, 2**63 - 1)),
    ("longer", lambda: win.Put([data, 8, MPI.BYTE], 1, (0, 4, MPI.BYTE))),
    ("count", lambda: win.Put([data, 8, MPI.BYTE], 1, (0, -1, MPI.BYTE))),
    ("type", lambda: win.Put([data, 1, MPI.DATATYPE_NULL], 1)),
    ("mixed", lambda: win.Put([data, 8, MPI.BYTE], 1, (0, 2, MPI.INT))),
    ("memory", lambda: win.Put([here(16, 8), 8, MPI.BYTE], 1)),
    ("window", lambda: MPI.WIN_NULL.Put(data[:8], 1)),
    ("own", lambda: (win.Put(data[:8], 0), win.Flush(0))),
    ("no process", lambda: (win.Put(data[:8], MPI.PROC_NULL), win.Flush(MPI.PROC_NULL))),
    ("nothing", lambda: win.Put(data[:0], 1)),
    ("wrong flush", lambda: win.Flush(w.size)),
    ("other", lambda: free.Put(data[:8], 1)),
    ("other flush", lambda: free.Flush(1)),
]
ordinary = lambda: (win.Put(data[:8], 1), win.Flush(1))
def attempt(name, function):
    try:
        note(name, function() is None)
    except MPI.Exception as error:
        note(name, error.Get_error_class(), error.Get_error_string())
if w.rank == 0:
    win.Lock_all(MPI.MODE_NOCHECK)
    for name, function in wrong:
        for _ in range(3):
            ordinary()
        attempt(name, function)
        attempt("flush after it", lambda: win.Flush(1))
        for _ in range(3):
            ordinary()
    win.Unlock_all()
    attempt("no epoch", ordinary)
    win.Lock(1)
    ordinary()
    ordinary()
    win.Unlock(1)
    attempt("unlocked", ordinary)
    free.Lock(1)
    for _ in range(3):
        free.Put(data[:8], 1)
        free.Flush(1)
    free.Unlock(1)
    stale = MPI.Win.f2py(free.py2f())
free.Free()
if w.rank == 0:
    attempt("freed", lambda: stale.Put(data[:8], 1))
    attempt("freed flush", lambda: stale.Flush(1))
end()
"""


def test_errors_are_those_of_python(tmp_path, capfd):
    found = []
    for options in ({}, {"trace": str(tmp_path / "trace")}):
        clocks = run(head() + WRONG, 2, **options).clocks
        text = capfd.readouterr()
        assert ("native [0, 0]" in text.err) == bool(options)
        found.append((clocks, sorted(text.out.splitlines())))
    assert found[0] == found[1]
    assert sum("'MPI_" in line for line in found[0][1]) == 18


THREADS = """
import threading
win.Lock_all()
if w.rank == 0:
    puts(20, 1)
    alone = calls()
    thread = threading.Thread(target=lambda: [(win.Put(data[:8], 1, 50), win.Flush(1)) for _ in range(20)])
    thread.start()
    for step in range(20):
        win.Put(data[:8], 1, 100)
        win.Flush(1)
    thread.join()
    note(alone > 0, calls() == alone)
win.Unlock_all()
w.Barrier()
note(memory[100:108].tobytes() == memory[200:208].tobytes() == bytes(range(8)))
end()
"""
OTHER_THREAD = """
import threading
def attempt():
    try:
        win.Flush(1)
    except MPI.Exception as error:
        said.append(error.Get_error_string())
said = []
if w.rank == 0:
    win.Lock(1)
    puts(20, 1)
    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    puts(20, 1)
    win.Unlock(1)
    note(*said)
end()
"""
FORK = """
import os
if w.rank == 0:
    win.Lock(1)
    puts(20, 1)
    if not (child := os.fork()):
        try:
            win.Put(data[:8], 1)
        except MPI.Exception as error:
            os._exit(7 if "is a fork of rank 0" in error.Get_error_string() else 1)
        os._exit(2)
    note(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    puts(20, 1)
    win.Unlock(1)
end()
"""


def lines(program, capfd, threads=False):
    run(head(threads) + program, 2)
    return capfd.readouterr().out


def test_several_threads_take_turns(capfd):
    out = lines(THREADS, capfd, threads=True)
    assert "(0, True, True, " in out
    assert "(1, True, " in out


def test_another_thread_of_a_program_that_asked_for_one_is_refused(capfd):
    assert "(0, 'MPI_Win_flush: called from another thread than the one" in lines(OTHER_THREAD, capfd)


def test_a_forked_process_is_refused(capfd):
    assert "(0, 7, " in lines(FORK, capfd)
