"""Files that users ask for: whole, or as they were."""

import errno
import os

import pytest

from lanai_firmware import output_file
from lanai_hdl.errors import UserError


def fill(path, content):
    """Write in two parts to a disk that is full after the first."""
    with output_file.replaced(path, "the page") as place:
        place.write_text(content)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_file_is_replaced_and_keeps_its_mode(tmp_path):
    path = tmp_path / "page.html"
    output_file.write(path, "one", "the page")
    path.chmod(0o640)
    output_file.write(path, b"two", "the page")
    assert path.read_text() == "two"
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["page.html"]


def test_a_file_that_cannot_be_written_is_told_before(tmp_path):
    path = tmp_path / "page.html"
    output_file.check(path, "the page")
    path.write_text("old")
    output_file.check(path, "the page")
    output_file.check("/dev/stdout", "the page")
    wrong = {
        tmp_path / "none" / "p": "No such file or directory",
        path / "p": "Not a directory",
        tmp_path: "Is a direct",
    }
    for place, why in wrong.items():
        with pytest.raises(UserError, match=f"^cannot write the page '{place}': {why}.*; name a writable file"):
            output_file.check(place, "the page")
    assert path.read_text() == "old"


@pytest.mark.parametrize("before", [None, "the old page"])
def test_a_full_disk_leaves_what_was_there(tmp_path, before):
    path = tmp_path / "page.html"
    if before is not None:
        path.write_text(before)
    with pytest.raises(UserError, match=r"^cannot write the page '.*page.html': No space left on device; make room"):
        fill(path, "half")
    assert (path.read_text() if path.exists() else None) == before
    assert len(os.listdir(tmp_path)) == (before is not None)


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    link = tmp_path / "link.json"
    link.symlink_to("there/file.json")
    output_file.write(link, "{}", "the figures")
    assert link.is_symlink()
    assert (tmp_path / "there" / "file.json").read_text() == "{}"


def test_what_is_not_a_file_is_written_directly(tmp_path):
    with pytest.raises(UserError, match=r"cannot write the page '/dev/full': No space left on device; make room"):
        output_file.write("/dev/full", "text", "the page")
    read, write = os.pipe()
    output_file.write(f"/dev/fd/{write}", "text", "the page")
    assert os.read(read, 100) == b"text"
    os.close(read)
    os.close(write)
    with pytest.raises(UserError, match="Is a directory; name a writable file"):
        output_file.write(tmp_path, "text", "the page")
    with pytest.raises(UserError, match="No such file or directory; name a writable file"):
        output_file.write(tmp_path / "none" / "page", "text", "the page")
    assert os.listdir(tmp_path) == []


def test_the_name_given_ends_as_the_file_does(tmp_path):
    """Writers choose the format by the end of the name."""
    with output_file.replaced(tmp_path / "run.0.vcd.gz", "the waveform") as place:
        assert place.name.endswith(".vcd.gz")
        place.write_text("")
