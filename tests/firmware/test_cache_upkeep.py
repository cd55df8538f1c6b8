"""The cache's limit, and entries that are handed on."""

import os
import tarfile
import time
from pathlib import Path

import pytest

from lanai_firmware import cache, cache_upkeep
from lanai_firmware.cache_upkeep import stored
from lanai_hdl.errors import UserError

DAY = 24 * 3600.0


@pytest.fixture(autouse=True)
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


def test_those_used_longest_ago_go_first():
    fill(5, 30, 10)
    assert [entry.kind for entry in stored()] == ["thing"] * 3
    pruned = cache_upkeep.prune(sum(entry.size for entry in stored()) - 1)
    assert [entry.key for entry in pruned.gone] == [key(1)]
    assert numbers() == [0, 2]
    assert cache_upkeep.prune(0).gone
    assert numbers() == []


def test_what_may_not_be_removed_is_not_said_to_be_gone(monkeypatch):
    fill(5, 30)

    def refuse(path, target):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "rename", refuse)
    pruned = cache_upkeep.prune(0)
    assert (pruned.gone, [entry.key for entry in pruned.kept]) == ([], [key(1), key(0)])


def test_a_use_makes_an_entry_young():
    fill(5, 30)
    cache.entry("thing", key(1), None)
    cache_upkeep.prune(1500)
    assert numbers() == [1]


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


def test_what_was_used_just_now_stays(monkeypatch):
    monkeypatch.setenv(cache_upkeep.VARIABLE, "1")
    fill(0.2, 0.9, 1.1)
    (cache.directory() / cache_upkeep.TIDIED).unlink()
    cache_upkeep.tidy()
    assert numbers() == [0, 1]


def test_what_killed_processes_left_goes():
    fill(1)
    left = cache.place("thing", key(0)).parent / ".partial-0123"
    left.mkdir()
    cache_upkeep.prune(10**9)
    assert left.exists()  # it may be under way
    os.utime(left, (0, 0))
    cache_upkeep.prune(10**9)
    assert not left.exists()


@pytest.mark.parametrize(("text", "bytes_"), [("500M", 500 * 10**6), ("1.5 GB", 1_500_000_000), ("7", 7), ("2k", 2000)])
def test_sizes(text, bytes_):
    assert cache_upkeep.size(text, "--to") == bytes_


@pytest.mark.parametrize("text", ["", "-1", "much", "5X", "1e9"])
def test_what_is_no_size_is_quoted(text, monkeypatch):
    monkeypatch.setenv(cache_upkeep.VARIABLE, text)
    with pytest.raises(UserError, match=f"LANAI_CACHE_LIMIT='{text}' is not a size; write .*500M"):
        cache_upkeep.limit()


def test_a_limit_that_is_no_size_is_refused_before_something_is_built(monkeypatch):
    monkeypatch.setenv(cache_upkeep.VARIABLE, "5parsec")
    with pytest.raises(UserError, match="LANAI_CACHE_LIMIT='5parsec' is not a size"):
        cache.entry("test", key(1), lambda work: pytest.fail("built"))


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
