"""The content-addressed cache: built once, checked at every use, healed, and clear about what it
cannot do."""

import errno
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from lanai_firmware import cache
from lanai_firmware.cache_upkeep import TIDIED
from lanai_hdl import cache_entries
from lanai_hdl.errors import UserError

KEY = "ab" * 32
USER = 1_999_999_999


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LANAI_CACHE", str(tmp_path))
    return tmp_path


def fill(work):
    (work / "library.so").write_bytes(bytes(range(256)) * 1000)
    (work / "library.so.1").symlink_to("library.so")
    (work / "below").mkdir()
    (work / "below" / "facts.json").write_text("{}")


def test_built_once():
    made = []
    for _ in range(3):
        assert cache.build(KEY, "thing", lambda: made.append(1) or b"content") == b"content"
    assert made == [1]


def test_keys_depend_on_where_parts_end():
    assert cache.key_of(["ab", "c"]) != cache.key_of(["a", "bc"])
    assert cache.key_of(["ab", b"c"]) == cache.key_of([b"ab", "c"])


def truncate(entry):
    path = entry / "library.so"
    path.write_bytes(path.read_bytes()[:100])


def flip(entry):
    path = entry / "library.so"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def relink(entry):
    (entry / "library.so.1").unlink()
    (entry / "library.so.1").symlink_to("nothing")


def empty_list(entry):
    (entry / cache.DIGESTS).write_text("")


def cut_list(entry):
    path = entry / cache.DIGESTS
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-2]))


def binary_list(entry):
    (entry / cache.DIGESTS).write_bytes(b"\xff\x00\n" * 9 + b"end\n")


def list_with_zeros(entry):
    (entry / cache.DIGESTS).write_bytes(b"a b\x00c\nend\n")


def file_instead(entry):
    cache.shutil.rmtree(entry)
    entry.write_text("")


@pytest.mark.parametrize(
    "harm",
    [
        truncate,
        flip,
        relink,
        empty_list,
        cut_list,
        binary_list,
        list_with_zeros,
        file_instead,
        lambda entry: (entry / "library.so").unlink(),
        lambda entry: (entry / "below" / "facts.json").unlink(),
        lambda entry: (entry / cache.DIGESTS).unlink(),
        lambda entry: (entry / "below" / "another.so").write_text(""),
        lambda entry: (entry / "link.so").symlink_to("library.so"),
        lambda entry: os.mkfifo(entry / "pipe"),
    ],
)
def test_a_damaged_entry_is_built_again_and_told_in_one_line(harm, capsys):
    entry = cache.entry("thing", KEY, fill)
    whole = {path.name: path.read_bytes() for path in entry.rglob("*") if path.is_file()}
    harm(entry)
    assert cache.entry("thing", KEY, fill) == entry
    assert {path.name: path.read_bytes() for path in entry.rglob("*") if path.is_file()} == whole
    (told,) = capsys.readouterr().err.splitlines()
    assert told.startswith(f"lanai: note: the cached thing {str(entry)!r} is damaged (")
    cache.entry("thing", KEY, None)  # whole: nothing is made
    assert capsys.readouterr().err == ""


def test_bytecode_that_was_added_later_does_no_harm(capsys):
    entry = cache.entry("thing", KEY, fill)
    (entry / "__pycache__").mkdir()
    (entry / "__pycache__" / "x.pyc").write_text("")
    cache.entry("thing", KEY, None)
    assert capsys.readouterr().err == ""


def test_nothing_but_the_entry_stays(own_cache):
    cache.build(KEY, "thing", lambda: b"x")
    with pytest.raises(ZeroDivisionError):
        cache.build("cd" * 32, "thing", lambda: 1 // 0)
    files = [path for path in own_cache.rglob("*") if path.is_file()]
    assert sorted(path.name for path in files) == [TIDIED, cache.DIGESTS, "content.thing"]


def test_what_a_killed_process_left_is_removed(own_cache):
    left = cache.place("thing", KEY).parent / f".partial-{KEY[:16]}-0123"
    left.mkdir(parents=True)
    (left / "half").write_text("")
    cache.entry("thing", KEY, fill)
    assert not left.exists()


def test_many_at_once_build_it_once():
    made = []

    def make(work):
        made.append(1)
        time.sleep(0.05)
        fill(work)

    threads = [threading.Thread(target=cache.entry, args=("thing", KEY, make)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]


def test_the_lock_of_a_killed_process_does_not_stay(own_cache):
    """A process that is killed while it builds leaves its lock file, but not the lock."""
    text = (
        "import os, sys; from lanai_firmware import cache; cache.entry('thing', sys.argv[1], lambda work: "
        "os.kill(os.getpid(), 9))"
    )
    assert subprocess.run([sys.executable, "-c", text, KEY], timeout=500, check=False).returncode == -9
    assert list(own_cache.rglob(".lock-*"))
    cache.entry("thing", KEY, fill)
    assert not [path for path in own_cache.rglob(".*") if path not in (own_cache, own_cache / TIDIED)]


def test_a_file_system_without_locks_serves(monkeypatch):
    def refuse(handle, how):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(cache.fcntl, "flock", refuse)
    cache.entry("thing", KEY, fill)
    cache.entry("thing", KEY, None)


def test_directory_that_cannot_be_made(own_cache, monkeypatch):
    (own_cache / "file").write_text("")
    monkeypatch.setenv("LANAI_CACHE", str(own_cache / "file" / "below"))
    with pytest.raises(UserError, match="set LANAI_CACHE to a writable one"):
        cache.directory()


def test_a_directory_that_cannot_be_written(monkeypatch):
    """The kernel's own: no user, root included, makes files there."""
    monkeypatch.setenv("LANAI_CACHE", "/sys/kernel")
    with pytest.raises(
        UserError, match=r"cannot write the cache '/sys/kernel/thing/ab'.*set LANAI_CACHE to a writable"
    ):
        cache.entry("thing", KEY, fill)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG])
def test_a_disk_that_is_full_or_read_only(number):
    def refuse(work):
        raise OSError(number, os.strerror(number))

    with pytest.raises(UserError, match=f"cannot write the cache .*: {os.strerror(number)}; set LANAI_CACHE"):
        cache.entry("thing", KEY, refuse)


def test_an_error_of_the_maker_is_its_own():
    def missing(work):
        Path("/no/such/file").read_bytes()

    with pytest.raises(FileNotFoundError):
        cache.entry("thing", KEY, missing)


def test_an_entry_that_cannot_be_read(monkeypatch):
    cache.entry("thing", KEY, fill)

    def refuse(path):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(cache_entries, "_digest", refuse)
    with pytest.raises(UserError, match=r"cannot read the cache .*: Permission denied"):
        cache.entry("thing", KEY, fill)


@pytest.mark.parametrize(
    ("owner", "group", "mode", "danger"),
    [
        (USER, 7, 0o755, ""),
        (0, 0, 0o755, ""),  # of the whole system
        (USER, USER, 0o775, ""),  # the user's own group, without a name here
        (USER, 7, 0o775, "can be written by group 7"),
        (USER, USER, 0o777, "can be written by all users"),
        (USER - 1, USER, 0o755, f"belongs to user {USER - 1}"),
    ],
)
def test_whom_a_folder_lets_write(owner, group, mode, danger):
    assert cache_entries.danger_of(os.stat_result((mode, 0, 0, 1, owner, group, 0, 0, 0, 0)), USER) == danger


def test_a_folder_that_others_may_write_is_refused(own_cache):
    own_cache.chmod(0o777)
    with pytest.raises(UserError, match=r"the cache '.*' can be written by all users, .*chmod -R go-w DIRECTORY"):
        cache.entry("thing", KEY, fill)
    assert not list(own_cache.iterdir())


def test_a_folder_from_which_nothing_may_run_is_refused(own_cache, monkeypatch):
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_flag=os.ST_NOSUID | os.ST_NOEXEC))
    with pytest.raises(UserError, match=r"nothing may be run \(noexec\); set LANAI_CACHE to"):
        cache.directory()


def test_nobody_else_may_write_what_is_made(own_cache, monkeypatch):
    monkeypatch.setenv("LANAI_CACHE", str(own_cache / "new"))
    before = os.umask(0)
    try:
        entry = cache.entry("thing", KEY, fill)
    finally:
        os.umask(before)
    for folder in (entry, *entry.parents[:3]):
        assert folder.stat().st_mode & 0o777 == 0o755


# Entries that a wheel has brought.


@pytest.fixture
def brought(tmp_path, monkeypatch):
    """A wheel's folder with one entry, which was made by other tools."""
    (tmp_path / "wheel").mkdir()
    monkeypatch.setattr(cache, "SHIPPED", tmp_path / "wheel")
    monkeypatch.setenv(cache.INTO, str(tmp_path / "wheel"))
    cache.build(cache.Key(KEY, lambda: ["compiler 1"]), "thing", lambda: b"brought")
    monkeypatch.delenv(cache.INTO)
    return tmp_path / "wheel"


def no_tools():
    raise LookupError("no compiler")


def test_what_a_wheel_has_needs_no_tools(brought, own_cache):
    assert cache.build(cache.Key(KEY, no_tools), "thing", no_tools) == b"brought"
    assert cache.present("thing", cache.Key(KEY, no_tools)) == brought / "thing" / KEY[:2] / KEY
    assert not (own_cache / "thing").exists()


def test_what_a_wheel_has_not_is_built_by_the_tools_that_are_here(brought, own_cache):
    other = "cd" * 32
    for tool in ("compiler 1", "compiler 2"):
        assert cache.build(cache.Key(other, lambda tool=tool: [tool]), "thing", tool.encode) == tool.encode()
    assert len([*own_cache.glob("thing/*/*/")]) == 2
    with pytest.raises(LookupError, match="no compiler"):
        cache.build(cache.Key(other, no_tools), "thing", no_tools)


def test_what_is_damaged_in_a_wheel_is_built_here_and_told_in_one_line(brought, own_cache, capsys):
    [content] = brought.glob("thing/*/*/content.thing")
    content.write_bytes(b"damaged")
    assert cache.build(cache.Key(KEY, lambda: ["compiler 2"]), "thing", lambda: b"built") == b"built"
    [said] = capsys.readouterr().err.splitlines()
    assert "of the wheel is damaged (content.thing has another content than was written); it is built here" in said
    assert said.endswith("write: pip install --force-reinstall openlanai")
    assert content.read_bytes() == b"damaged"
