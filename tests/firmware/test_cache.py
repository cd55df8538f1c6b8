"""The content-addressed cache."""

import pytest

from lanai_firmware import cache
from lanai_firmware.errors import UserError


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LANAI_CACHE", str(tmp_path))
    return tmp_path


def test_built_once():
    made = []
    for _ in range(3):
        assert cache.build("ab" * 8, "thing", lambda: made.append(1) or b"content") == b"content"
    assert made == [1]


def test_keys_depend_on_where_parts_end():
    assert cache.key_of(["ab", "c"]) != cache.key_of(["a", "bc"])
    assert cache.key_of(["ab", b"c"]) == cache.key_of([b"ab", "c"])


def test_damage_is_told(own_cache):
    cache.write("ab" * 8, "thing", b"content")
    path = cache.path_of("ab" * 8, "thing")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(cache.CorruptEntry, match=r"cached thing .* \(6 bytes\)"):
        cache.read("ab" * 8, "thing")


def test_no_partial_files_stay(own_cache):
    cache.write("cd" * 8, "thing", b"x")
    assert [p.name for p in own_cache.rglob("*") if p.is_file()] == ["cd" * 8 + ".thing"]


def test_directory_that_cannot_be_made(own_cache, monkeypatch):
    (own_cache / "file").write_text("")
    monkeypatch.setenv("LANAI_CACHE", str(own_cache / "file" / "below"))
    with pytest.raises(UserError, match="set LANAI_CACHE to a writable one"):
        cache.directory()
