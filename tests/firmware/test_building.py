"""The reports of a build: they begin some time after it begins, and not before."""

import io
import os
import re
import tarfile
import threading
import time
import tomllib
from pathlib import Path

import pytest

from lanai_firmware import building, cache, cache_upkeep, package_images
from lanai_firmware.building import Work, step
from lanai_firmware.cache_upkeep import stored
from lanai_firmware.compiler.program import Program
from lanai_hdl.errors import UserError

STEPS = {"reading": 1.0, "compiling": 3.0, "linking": 1.0}


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(building, "PATIENCE", 0.05)
    monkeypatch.setattr(building, "PERIOD", 0.01)
    monkeypatch.delenv(building.VARIABLE)


def said_of(capsys, work, *sleeps):
    """Return the report of a work whose steps take so long; None: the step is not reached."""
    with work:
        for name, seconds in zip(work.steps, sleeps, strict=False):
            if seconds is not None:
                step(name)
                time.sleep(seconds)
    return capsys.readouterr().err


@pytest.mark.usefixtures("impatient")
def test_each_step_is_told_with_the_time_that_is_left(capsys):
    said = said_of(capsys, Work("the model", "this configuration", STEPS), 0.1, 0.1, 0.1).splitlines()
    for number, name in enumerate(STEPS, 1):
        line = rf"lanai: building the model: step {number} of 3, 1 s so far, about [1-9] s more: {name} "
        assert re.fullmatch(line + r"\(once for this configuration\)", said[number - 1])
    assert said[3:] == ["lanai: built the model in 1 s"]


@pytest.mark.usefixtures("impatient")
def test_what_is_quick_or_there_already_is_not_told(capsys):
    assert said_of(capsys, Work("the model", "this configuration", STEPS), 0, 0, 0) == ""
    assert said_of(capsys, Work("the model", "this configuration", STEPS)) == ""


@pytest.mark.usefixtures("impatient")
def test_steps_that_are_left_out_say_nothing_of_the_time(capsys):
    """One second of a step took a tenth here: so do those that are left."""
    work = Work("the model", "", {"a": 50.0, "b": 1.0, "c": 10.0})
    with work:
        step("b")
        time.sleep(0.1)
        step("c")
        assert work.left() == pytest.approx(1.0, rel=0.5)
    assert "a" not in work._spent
    capsys.readouterr()


@pytest.mark.usefixtures("impatient")
def test_a_work_within_another_adds_to_its_line(capsys):
    with Work("the model", "this configuration", STEPS):
        step("compiling")
        with Work("the library", "this Python", {"translating": 1.0, "assembling": 1.0}) as inner:
            inner.step("translating")
            time.sleep(0.1)
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2
    assert said[0].startswith("lanai: building the model: step 2 of 3, ")
    assert said[0].endswith(": compiling: translating (once for this configuration)")


@pytest.mark.usefixtures("impatient")
def test_what_takes_longer_than_usual_promises_nothing(capsys):
    said = said_of(capsys, Work("the NICs", "", {"first": 0.0}, "booting", "booted"), 0.1)
    assert said == "lanai: booting the NICs: 1 s so far\nlanai: booted the NICs in 1 s\n"
    said = said_of(capsys, Work("the NICs", "", {"first": 0.01, "second": 9.0}), 0.1).splitlines()
    assert said[0] == "lanai: building the NICs: step 1 of 2, 1 s so far: first"  # not of the second's time alone


@pytest.mark.usefixtures("impatient")
def test_a_failure_is_not_said_to_be_built(capsys):

    def fail():
        with Work("the model", "", STEPS):
            step("compiling")
            time.sleep(0.1)
            raise ValueError("bad")

    with pytest.raises(ValueError, match="bad"):
        fail()
    assert "built" not in capsys.readouterr().err


@pytest.mark.usefixtures("impatient")
def test_on_a_terminal_it_is_one_line_that_goes(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with Work("the model", "this configuration", STEPS):
        step("compiling")
        time.sleep(0.1)
    said = terminal.getvalue()
    assert said.startswith("\r\x1b[Klanai: building the model")
    assert said.endswith("\r\x1b[Klanai: built the model in 1 s\n")
    assert said.count("\n") == 1


@pytest.mark.usefixtures("impatient")
def test_it_can_be_silenced(monkeypatch, capsys):
    monkeypatch.setenv(building.VARIABLE, "0")
    assert said_of(capsys, Work("the model", "this configuration", STEPS), 0.1, 0.1) == ""


@pytest.mark.usefixtures("impatient")
def test_a_process_that_waits_for_another_says_so(monkeypatch, tmp_path, capsys):
    """The lock of an entry is held, as by another process."""
    monkeypatch.setenv("LANAI_CACHE", str(tmp_path))
    key = "ab" * 32
    path = cache.place("thing", key)
    path.parent.mkdir(parents=True)
    began = threading.Event()

    def make(work):
        began.set()
        time.sleep(0.2)
        (work / "file").write_text("x")

    first = threading.Thread(target=cache.entry, args=("thing", key, make))
    first.start()
    began.wait(10)
    cache.entry("thing", key, None)  # which the other has made by then
    first.join()
    assert "lanai: waiting for another process, which builds the same: 1 s so far\n" in capsys.readouterr().err


@pytest.mark.usefixtures("impatient")
def test_a_rank_has_no_thread_that_tells(capsys, monkeypatch):
    """It would wait by the rank's simulated clocks, for ever."""
    monkeypatch.setenv(building.RANK, "0")
    threads = threading.active_count()
    work = Work("the model", "this configuration", STEPS)
    with work:
        step("reading")
        assert threading.active_count() == threads
        time.sleep(0.1)
    assert capsys.readouterr().err == ""


# The cache's limit, and entries that are handed on.


DAY = 24 * 3600.0


@pytest.fixture
def place(monkeypatch, tmp_path):
    monkeypatch.setenv("LANAI_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(cache_upkeep.VARIABLE, raising=False)


def key(number):
    return f"{number:02x}" * 32


def fill(*ages, size=1000):
    """An entry of about this size for each number of days since its last use."""
    for number, days in enumerate(ages):
        path = cache.file("thing", key(number), "file", lambda path: path.write_bytes(bytes(size)))
        then = time.time() - days * DAY
        os.utime(path.parent, (then, then))


def numbers():
    return sorted(int(entry.key[:2], 16) for entry in stored())


@pytest.mark.usefixtures("place")
def test_those_used_longest_ago_go_first():
    fill(5, 30, 10)
    assert [entry.kind for entry in stored()] == ["thing"] * 3
    pruned = cache_upkeep.prune(sum(entry.size for entry in stored()) - 1)
    assert [entry.key for entry in pruned.gone] == [key(1)]
    assert numbers() == [0, 2]
    assert cache_upkeep.prune(0).gone
    assert numbers() == []


@pytest.mark.usefixtures("place")
def test_what_may_not_be_removed_is_not_said_to_be_gone(monkeypatch):
    fill(5, 30)

    def refuse(path, target):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "rename", refuse)
    pruned = cache_upkeep.prune(0)
    assert (pruned.gone, [entry.key for entry in pruned.kept]) == ([], [key(1), key(0)])


@pytest.mark.usefixtures("place")
def test_a_use_makes_an_entry_young():
    fill(5, 30)
    cache.entry("thing", key(1), None)
    cache_upkeep.prune(1500)
    assert numbers() == [1]


@pytest.mark.usefixtures("place")
def test_the_limit_is_kept_when_something_is_built(monkeypatch):
    monkeypatch.setenv(cache_upkeep.VARIABLE, "2k")
    fill(5, 30, 10)
    assert numbers() == [0, 1, 2]  # it was looked at when the first was built
    (cache.directory() / cache_upkeep.TIDIED).unlink()
    cache.build(key(3), "other", lambda: bytes(900))
    assert numbers() == [3]  # of what is over the limit, the youngest that is not in use goes too
    monkeypatch.setenv(cache_upkeep.VARIABLE, "0")
    fill(5, 30)
    (cache.directory() / cache_upkeep.TIDIED).unlink()
    cache.build(key(4), "other", lambda: bytes(900))
    assert len(numbers()) == 4


@pytest.mark.usefixtures("place")
def test_what_was_used_just_now_stays(monkeypatch):
    monkeypatch.setenv(cache_upkeep.VARIABLE, "1")
    fill(0.2, 0.9, 1.1)
    (cache.directory() / cache_upkeep.TIDIED).unlink()
    cache_upkeep.tidy()
    assert numbers() == [0, 1]


@pytest.mark.usefixtures("place")
def test_what_killed_processes_left_goes():
    fill(1)
    left = [cache.place("thing", key(0)).parent / ".partial-0123", cache.directory() / ".import-0123"]
    for one in left:
        one.mkdir()
    cache_upkeep.prune(10**9)
    assert all(one.exists() for one in left)  # it may be under way
    for one in left:
        os.utime(one, (0, 0))
    cache_upkeep.prune(10**9)
    assert not any(one.exists() for one in left)


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(("text", "bytes_"), [("500M", 500 * 10**6), ("1.5 GB", 1_500_000_000), ("7", 7), ("2k", 2000)])
def test_sizes(text, bytes_):
    assert cache_upkeep.size(text, "--to") == bytes_


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("text", ["", "-1", "much", "5X", "1e9"])
def test_what_is_no_size_is_quoted(text, monkeypatch):
    monkeypatch.setenv(cache_upkeep.VARIABLE, text)
    with pytest.raises(UserError, match=f"LANAI_CACHE_LIMIT='{text}' is not a size; write .*500M"):
        cache_upkeep.limit()


@pytest.mark.usefixtures("place")
def test_a_limit_that_is_no_size_is_refused_before_something_is_built(monkeypatch):
    monkeypatch.setenv(cache_upkeep.VARIABLE, "5parsec")
    with pytest.raises(UserError, match="LANAI_CACHE_LIMIT='5parsec' is not a size"):
        cache.entry("test", key(1), lambda work: pytest.fail("built"))


@pytest.mark.usefixtures("place")
def test_an_archive_fills_another_cache(monkeypatch, tmp_path):
    fill(1, 2)
    cache.entry("linked", key(9), lambda work: (work / "link").symlink_to("/usr/lib"))
    archive = tmp_path / "cache.tar.gz"
    assert cache_upkeep.export(str(archive), stored()) == 2  # a link that leads out is of this machine
    monkeypatch.setenv("LANAI_CACHE", str(tmp_path / "other"))
    assert cache_upkeep.add(str(archive)) == (2, 0)
    assert cache_upkeep.add(str(archive)) == (0, 2)
    assert cache.file("thing", key(0), "file", None).read_bytes() == bytes(1000)
    assert not [*(tmp_path / "other").glob(".import*")]


@pytest.mark.usefixtures("place")
def test_of_an_archive_that_has_changed_all_is_taken_or_nothing(monkeypatch, tmp_path):
    fill(1, 2)
    archive = tmp_path / "cache.tar.gz"
    cache_upkeep.export(str(archive), stored())
    whole = archive.read_bytes()
    monkeypatch.setenv("LANAI_CACHE", str(tmp_path / "other"))
    refused = []
    for at in range(0, len(whole), 7):
        for content in (whole[:at], whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :]):
            archive.write_bytes(content)
            try:
                assert sum(cache_upkeep.add(str(archive))) == 2
            except UserError as error:
                refused.append(str(error))
    assert all(re.fullmatch("cannot import .*; name a file that .*, and that is whole", one) for one in refused)
    assert len(refused) > len(whole) // 7  # not a date, nor another way to write the same zeros
    assert not [*(tmp_path / "other").glob(".import*")]


@pytest.mark.usefixtures("place")
def test_what_is_no_archive_of_a_cache_is_refused(tmp_path):
    fill(1)
    archive = tmp_path / "cache.tar.gz"
    with pytest.raises(UserError, match=r"cannot import '.*none'"):
        cache_upkeep.add(str(tmp_path / "none"))
    archive.write_text("no archive")
    with pytest.raises(UserError, match=r"cannot import .*lanai cache export"):
        cache_upkeep.add(str(archive))
    damaged = tmp_path / "thing" / key(1)[:2] / key(1)
    damaged.mkdir(parents=True)
    (damaged / "file").write_text("changed")
    (damaged / "DIGESTS").write_text(f"{'0' * 64} file\nend\n")
    with tarfile.open(archive, "w:gz") as made:
        made.add(damaged, f"thing/{key(1)[:2]}/{key(1)}")
    with pytest.raises(UserError, match="is not an entry of a cache or is damaged"):
        cache_upkeep.add(str(archive))
    with tarfile.open(archive, "w:gz") as made:
        made.add(damaged, "../../outside")
    with pytest.raises(UserError, match="cannot import"):
        cache_upkeep.add(str(archive))
    assert numbers() == [0]


# The version of llvmlite that compiles firmware and models.


PROJECT = Path(__file__).parents[2] / "pyproject.toml"


@pytest.mark.parametrize(
    ("version", "old"), [("0.46.9", True), ("0.47.0", False), ("0.50.0rc1", False), ("1.0", False)]
)
def test_a_version_that_is_too_old_is_refused_in_one_line(version, old, monkeypatch):
    monkeypatch.setattr(package_images.llvmlite, "__version__", version)
    if old:
        for uses in (package_images.llvm_version, Program([]).lower):
            with pytest.raises(UserError) as raised:
                uses()
            assert str(raised.value) == (
                "llvmlite 0.46.9 is too old to compile with; write: pip install --upgrade 'llvmlite>=0.47'"
            )
    else:
        assert package_images.llvm_version() == version


def test_the_oldest_version_is_that_of_the_package():
    [needed] = [
        one for one in tomllib.loads(PROJECT.read_text())["project"]["dependencies"] if one.startswith("llvmlite")
    ]
    assert re.search(r">=([0-9.]+)", needed)[1] == ".".join(map(str, package_images.OLDEST))
