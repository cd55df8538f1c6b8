"""NPB from a folder of the user's: what is changed in it, how it is built and run, what is read from its output.

The real benchmarks are not here: a small folder stands for them."""

import re
import shutil
import sys

import pytest

from lanai_host.errors import UserError
from lanai_sim.cli import main
from lanai_sim.executors.journal import Journal
from lanai_sim.executors.place import Place
from lanai_sim.studies.papers import claims, studies
from lanai_sim.studies.papers.mbcf import npb_build, times
from lanai_sim.studies.papers.mbcf.npb_build import ANY, PROGRAMS, Benchmark

RECEIVES = """\
      if (north.ne.-1) then
          call MPI_IRECV( buf1(1,jst),
     >                    10*ny*nz,
     >                    dp_type,
     >                    north,
     >                    from_n,
     >                    MPI_COMM_WORLD, mid, IERROR )
      end if
          call MPI_RECV( dum, 5, dp_type, west, from_w, MPI_COMM_WORLD, status, IERROR )
          call MPI_SEND( buf, 10*ny*nz, dp_type, south, from_n, MPI_COMM_WORLD, IERROR )
      call mpi_irecv( buff(1,buff_id), buff_len,
     >     dp_type, nbr(axis,-dir,k), msg_type(axis,dir),
     >     mpi_comm_world, msg_id(axis,dir,1), ierr)
"""
MG_IN_SETPARAMS = """\
  if      (class == 'S') { problem_size = 32;   nit = 4; }
  else if (class == 'W') { problem_size = 128;  nit = 4; }
  else if (class == 'A') { problem_size = 256;  nit = 4; }
"""
OUTPUT = """\
 Time in seconds =                     0.06
 Mop/s total     =                   160.00
 Mop/s/process   =                    20.00
 Verification    =               SUCCESSFUL
total nic_mbcf_written_bytes 300
total nic_mbcf_queued_bytes 100
total nic_mbcf_written 3
total nic_mbcf_queued 7
total ms 12.5
"""


@pytest.fixture
def folder(tmp_path):
    """It looks like NPB3.3-MPI, and `make` in it copies a script that says how it was made."""
    root = tmp_path / "NPB3.3-MPI"
    for name in (*npb_build.NEEDED, "IS/is.c"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    (root / "sys" / "setparams.c").write_text(MG_IN_SETPARAMS)
    (root / "sys" / "Makefile").write_text("all:\n\tcp setparams.sh setparams; chmod +x setparams\n")
    (root / "sys" / "setparams.sh").write_text('#!/bin/sh\necho "x $*: niter=15, itmax_default = 50" > npbparams.h\n')
    make = "all:\n\tcat npbparams.h *.[cf] ../config/make.def > ../bin/{}.$(CLASS).$(NPROCS)\n"
    for name in ("CG", "IS", "LU"):
        (root / name / "Makefile").write_text(make.format(name.lower()))
    (root / "LU" / "exchange_3.f").write_text(RECEIVES)
    (root / "IS" / "is.c").write_text(
        "#define  MAX_ITERATIONS      10\n if (n == MAX_ITERATIONS) end();\n    rank( iteration );\n"
    )
    (root / "LU" / "ssor.f").write_text("      do istep = 1, niter\n      end do\n")
    for name in ("SP", "BT"):
        (root / name / "adi.f").write_text("      call add\n      return\n")
    return root


def named(name):
    return next(one for one in PROGRAMS if one.name == name)


def test_receives_lose_their_sources_and_sends_keep_theirs():
    text, count = npb_build.without_sources(RECEIVES)
    assert count == 2
    assert "north,\n" not in text
    assert "nbr(" not in text
    assert "west, from_w" in text  # a blocking receive
    assert "south, from_n" in text
    assert text.count("mpi_any_source,") == 2


def test_iterations_are_set_once():
    text = "     parameter( na=1400,\n     >   niter=15,\n     >  shift=10. )"
    assert "niter=2," in npb_build.with_iterations(text, "niter", 2)
    with pytest.raises(UserError, match="sets itmax_default 0 times"):
        npb_build.with_iterations(text, "itmax_default", 2)


def test_binaries_are_built_in_a_copy_with_our_compilers(folder, tmp_path):
    before = sorted(folder.rglob("*"))
    (tmp_path / "work").mkdir()
    sources = npb_build.Sources(folder, tmp_path / "work")
    plain = sources.build(named("cg"), 8, "S", 2)
    text = plain.read_text()
    assert "x cg 8 S: niter=2," in text
    assert f"MPIF77 = {sys.executable} -m lanai_sim mpifort --count" in text
    assert f"FMPI_LIB = {tmp_path / 'work' / 'totals.o'}" in text
    changed = (tmp_path / "work" / "npb" / "sys" / "setparams.c").read_text()
    assert changed == MG_IN_SETPARAMS.replace("128;  nit = 4;", "64;  nit = 40;")
    any_source = sources.build(named("lu"), 8, "W", 2, ANY)
    assert any_source.read_text().count("mpi_any_source") == 2
    named_sources = sources.build(named("lu"), 8, "W", 2)  # the change is undone
    assert "mpi_any_source" not in named_sources.read_text()
    assert len({plain, any_source, named_sources}) == 3
    in_c = sources.build(named("is"), 8, "W", 2)
    assert "MAX_ITERATIONS      2\n" in in_c.read_text()
    assert "MAX_ITERATIONS      10\n" in sources.build(named("is"), 8, "W").read_text()
    for name in ("SP/adi.f", "BT/adi.f", "LU/ssor.f"):
        assert (tmp_path / "work" / "npb" / name).read_text().count("\n      call lanai_mark()\n") == 1
    assert "rank( iteration ); { void lanai_mark_(void); lanai_mark_(); }\n" in in_c.read_text()
    assert sorted(folder.rglob("*")) == before


def test_what_make_says_is_told(folder, tmp_path):
    (folder / "CG" / "Makefile").write_text("all:\n\t@echo this fails; false\n")
    (tmp_path / "work").mkdir()
    sources = npb_build.Sources(folder, tmp_path / "work")
    with pytest.raises(UserError, match=r"make NPROCS=8 CLASS=S in CG/ ended with code 2:\nthis fails"):
        sources.build(named("cg"), 8, "S")


def test_a_wrong_folder_and_a_missing_compiler_are_told_in_a_line(folder, tmp_path, monkeypatch, capsys):
    assert main(["paper", "mbcf", "--output", str(tmp_path), "--npb", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert f"--npb {str(tmp_path)!r} has no sys/setparams.c; name the folder NPB3.3-MPI of the benchmarks" in said
    monkeypatch.setenv("FC", "no-such-compiler")
    with pytest.raises(UserError, match="--npb: FC='no-such-compiler' is not a program"):
        npb_build.check(str(folder))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(UserError, match="there is no `make`"):
        npb_build.check(str(folder))


def test_other_papers_do_not_take_it(folder):
    with pytest.raises(UserError, match="--npb is not for the paper 'sci'"):
        studies.find("sci").figures(True, Place(jobs=1), print, {"npb": str(folder)})


def test_an_experiment_is_left_out_without_what_it_needs():
    class Kept(Journal):
        """A journal with all experiments but one."""

        def __init__(self):
            pass

        def find(self, point):
            return None if point["experiment"].startswith("npb_") else type("Row", (), {"figures": {}})

    module = studies.find("mbcf").experiments.__name__
    assert claims.figures(module, Kept(), True, Place(jobs=1), pytest.fail, {}) == {}


def test_verification_and_totals_are_read_from_the_output():
    assert npb_build.is_verified(OUTPUT)
    assert not npb_build.is_verified(OUTPUT.replace("SUCC", "UNSUCC"))
    assert not npb_build.is_verified("")
    assert npb_build.figures(npb_build.totals(OUTPUT)) == {"written_percent": 75.0, "messages": 10.0, "bytes": 400.0}
    assert npb_build.speed(OUTPUT, 50) == {"seconds": 3.0, "mops": 160.0}
    with pytest.raises(UserError, match="does not print 'Time in seconds'"):
        npb_build.speed("total ms 12.5", 1)


def test_each_program_is_verified_before_it_is_measured(monkeypatch, tmp_path):
    runs = []

    class Built:
        def __init__(self, *folders):
            pass

        def build(self, program, ranks, kind, iterations=0, variant=""):
            return tmp_path / f"{program.name}.{kind}.{ranks}.{iterations}{variant}"

    def run(binary, job):
        silent = job.device == "mbcf" and not job.options.requests
        runs.append((binary.name, job.ranks, job.device, job.machine.host.compute, silent))
        return OUTPUT.replace("0.06", "0.08").replace("160", "120") if silent else OUTPUT

    monkeypatch.setattr(times, "Sources", Built)
    monkeypatch.setattr(times, "run", run)
    program = Benchmark("lu", 8, 992, "itmax_default", {"S": 2, "W": 2}, "LU/e*.f", whole=("W", 150))
    monkeypatch.setattr(times, "PROGRAMS", (program,))
    found = times.measured(program, False, "there")
    assert runs == [
        ("lu.S.8.0", 8, "ideal", 0, False),
        ("lu.S.8.2", 8, "mbcf", 992, False),
        ("lu.S.8.2any_source", 8, "mbcf", 992, False),
        ("lu.S.4.2any_source", 4, "mbcf", 992, False),
        ("lu.W.8.2any_source", 8, "mbcf", 992, False),
        ("lu.W.8.2any_source", 8, "mbcf", 992, True),
        ("lu.W.8.2any_source", 8, "ideal", 992, False),
        ("lu.W.4.2any_source", 4, "mbcf", 992, False),
        ("lu.W.4.2any_source", 4, "mbcf", 992, True),
    ]
    assert found["theirs.npb.lu.on_4.any_source.W.written_percent"] == 75
    assert found["theirs.npb.lu.S.written_percent"] == found["theirs.npb.lu.any_source.S.written_percent"] == 75
    seconds = {name: value for name, value in found.items() if name.endswith("seconds")}
    assert seconds == pytest.approx(
        {
            f"theirs.npb.lu.{way}seconds": s
            for way, s in (("", 9), ("nsr.", 12), ("alone.", 9), ("on_4.", 9), ("on_4.nsr.", 12))
        }
    )
    assert (found["theirs.npb.lu.mops"], found["theirs.npb.lu.nsr.mops"]) == (160, 120)
    monkeypatch.setattr(times, "run", lambda *_: OUTPUT.replace("SUCC", "UNSUCC"))
    with pytest.raises(UserError, match="NPB's LU does not verify its result"):
        times.measured(program, False, "there")
    assert times.measured(named("bt"), True, "there") == {}


def test_times_are_of_the_whole_problem_of_class_w():
    """The iterations that are run, times `whole`, are those of the paper: class W's own, in NPB 3.3 too
    but for MG."""
    own = {"mg": 40, "cg": 15, "is": 10, "lu": 300, "sp": 400, "bt": 200}
    assert {one.name for one in PROGRAMS if one.timed} == {*own, "ep"} == set(times.WHY)
    for name, iterations in own.items():
        kind, factor = named(name).whole
        assert kind == "W"
        assert (1 if named(name).mark[0] else named(name).iterations[kind]) * factor == iterations
    assert named("lu").timed == "any_source.W"


def test_tables_4_4_to_4_10_are_answered_by_it():
    found = {f"theirs.npb.{name}.seconds": 10.0 for name in times.WHY}
    found |= {f"theirs.npb.{name}.nsr.seconds": 12.5 for name in times.WHY}
    found["theirs.npb.cg.alone.seconds"] = 8.0
    found |= {f"theirs.npb.{name}.mops": 50.0 for name in times.WHY}
    found |= {f"theirs.npb.{name}.nsr.mops": 40.0 for name in times.WHY}
    found |= {f"theirs.npb.{name}.on_4.seconds": 21.0 for name in times.WHY}
    found |= {f"theirs.npb.{name}.on_4.nsr.seconds": 22.0 for name in times.WHY}
    answers = {one.claim.id.removeprefix("mbcf."): one for one in studies.find("mbcf").answer(found)}
    assert (answers["t4_6.cg.sr"].value, answers["t4_6.cg.nsr"].value) == (10, 12.5)
    assert answers["t4_6.cg.sr"].claim.value == 11.24
    assert answers["t4_6.cg.sr"].why.endswith("Without a network: 8 s.")
    half = {f"theirs.npb.causes.is.half_rate.{way}": 13.0 for way in ("seconds", "nsr.seconds")}
    (one,) = (one for one in studies.find("mbcf").answer(found | half) if one.claim.id == "mbcf.t4_7.is.sr")
    assert "each direction at half the rate: 13 s with requests, 13 without." in one.why
    assert one.cause.endswith("Experiment `npb_is_half_duplex` shows it.")
    better = answers["s4_3.sr_better"]
    assert (better.holds, better.saw) == (True, "CG 0.80, IS 0.80, LU 0.80, SP 0.80 times NSR")
    four = answers["t4_6.cg.fewer"]
    assert (four.holds, four.saw) == (True, "4 processes: SR 21 s (paper 20.94), NSR 22 s (paper 21.44)")
    assert answers["t4_9.sp.fewer"].holds is False
    rows = [one for name, one in answers.items() if re.match(r"t4_([4-9]|10)\.", name)]
    assert len(rows) == 4 * 7
    assert sum(one.answered for one in rows) == 3 * 7
    assert {one.why for one in rows if one.claim.id.endswith("mpich")} == {times.NOT_RUN["mpich"]}
    without = {one.claim.id: one.why for one in studies.find("mbcf").answer({})}
    assert without["mbcf.t4_6.cg.sr"] == without["mbcf.t4_4.ep.nsr"] == times.NO_NPB
    found["theirs.npb.sp.mops"] = 39.0
    (better,) = (one for one in studies.find("mbcf").answer(found) if one.claim.id == "mbcf.s4_3.sr_better")
    assert better.holds is False


def test_table_4_3_is_answered_by_it():
    kinds = (
        "ep.S",
        "cg.S",
        "cg.W",
        "lu.W",
        "lu.any_source.W",
        "sp.W",
        "bt.W",
        "mg.any_source.S",
        "mg.on_4.any_source.S",
    )
    kernels = {f"theirs.kernel.{one}.{what}": 0.0 for one in ("mg", "mg_named") for what in ("written_percent", "ms")}
    found = {f"theirs.npb.{kind}.written_percent": 40.0 + n for n, kind in enumerate(kinds)}
    assert not any(plot.lines for plot in studies.find("mbcf").draw(found).values())
    answers = {one.claim.id.removeprefix("mbcf.t4_3."): one for one in studies.find("mbcf").answer(kernels | found)}
    assert [answers[name].value for name in ("ep", "cg", "lu", "sp", "bt")] == [40, 42, 44, 45, 46]
    assert answers["cg"].why.endswith("NPB's CG: 41.00 % in class S; 42.00 % in class W.")
    assert answers["lu"].why.endswith("NPB's LU: 43.00 % in class W; 44.00 % in class W, receives without sources.")
    assert answers["mg"].saw.endswith(
        "NPB's MG: 47.00 % in class S, receives without sources; "
        "48.00 % in class S, receives without sources, on 4 ranks."
    )


def marks(*written):
    """The output of a run whose iterations take 50 ms and send 400 bytes, of which so many are written."""
    totals = [sum(written[:n]) for n in range(len(written) + 1)]
    return "".join(f"mark {0.05 * n:.9f} {w} {400 * n - w} {n} {n}\n" for n, w in enumerate(totals))


def test_the_last_iteration_counts_and_says_whether_the_one_before_agrees():
    last = {"seconds": pytest.approx(20), "written_percent": 50, "messages": 2, "bytes": 400}
    assert npb_build.marked(marks(0, 196, 200), 400) == (last, True)
    assert npb_build.marked(marks(200, 180, 200), 400) == (last, False)
    slow = marks(200, 200, 200).replace("mark 0.15", "mark 0.16")
    assert npb_build.marked(slow, 400)[1] is False


@pytest.mark.parametrize(("settled", "expected", "agrees"), [(0, [3], 1), (6, [3, 6], 1), (99, [3, 6, 12], 0)])
def test_as_many_iterations_are_run_as_it_takes_for_two_to_agree(monkeypatch, settled, expected, agrees):
    """Runs of fewer than `settled` iterations have uneven ones."""
    runs = []

    class Built:
        def build(self, program, ranks, kind, iterations=0, variant=""):
            return iterations

    def run(iterations, job):
        runs.append(iterations)
        return marks(*(200 + 40 * (n % 2) * (iterations < settled) for n in range(iterations)))

    monkeypatch.setattr(times, "run", run)
    found = times.iterated(Built(), named("sp"), npb_build.ON_MACHINE)
    assert (runs, found["iterations"], found["agree"]) == (expected, expected[-1], agrees)


def test_sp_by_uneven_ranks_is_told():
    begin = f"{times.BEGIN}.sp.jitter"
    found = {f"{begin}.seconds": 150.0, f"{begin}.nsr.seconds": 160.0, f"{begin}.written_percent": 48.0}
    found |= {"theirs.npb.sp.seconds": 165.0, "theirs.npb.sp.nsr.seconds": 160.0}
    (best,) = (one for one in studies.find("mbcf").answer(found) if one.claim.id == "mbcf.s4_3.sp_best")
    assert best.saw == (
        "with requests 1.031 times as long as without; with ranks that compute up to 3 % unevenly 0.938 times, and 48 "
        "% of the bytes are written"
    )


def test_a_change_is_one_thing():
    """An option, the network or the hosts, beside the lack of requests."""
    for change in (one for changes in times.CHANGES.values() for one in changes):
        assert (
            len([*(set(change.options) - {"requests"}), *filter(None, [change.fabric, change.jitter, change.rate])])
            == 1
        )
