"""`lanai verilog`: parameters from the command line and from files, what it says, what it refuses. What it writes:
tests/hdl/wrap/test_files.py."""

import re

import pytest

from lanai_sim.cli import main
from lanai_sim.commands import verilog


def test_it_says_what_it_has_written(tmp_path, capsys):
    out = tmp_path / "new" / "folder"
    assert main(["verilog", "link", "--wrap", "axi-stream", "-o", str(out)]) == 0
    lines = (out / "lanai_link.v").read_text().count("\n")
    others = sum(path.is_file() for path in out.rglob("*")) - 1
    told = capsys.readouterr().out
    assert f"wrote {out}: lanai_link.v, {lines:,} lines, and {others} files more" in told
    for path in re.findall(re.escape(str(out)) + r"/([\w./]+)", told):
        assert (out / path).exists()


def test_what_is_given_later_counts(tmp_path):
    document = tmp_path / "parameters.toml"
    document.write_text("slot_khz = 50_000\n[nic]\nsram_size = 65536\nlink_latency = 9\n[switch]\nports = 3\n")
    words = ["sram_size=8192", str(document), "link_latency=0xA"]
    nic = {"slot_khz": 50_000, "sram_size": 65536, "link_latency": "0xA"}
    assert verilog._values(words, "nic") == nic
    assert verilog._values(words, "switch") == {**nic, "ports": 3}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nicc"], "block 'nicc' is not known; did you mean 'nic'?"),
        (["nic", "--wrap", "axi-light"], "wrapper 'axi-light' is not known; did you mean 'axi-lite'?"),
        (["nic", "--with", "romote"], "optional block 'romote' is not known; did you mean 'remote'?"),
        (["link", "--with", "remote"], "--with 'remote' is for 'nic'; 'link' has no optional blocks"),
        (["nic", "--config", "srm_size=4"], "parameter 'srm_size' is not known; did you mean 'sram_size'?"),
        (["nic", "--config", "no.toml"], "cannot read --config 'no.toml': No such file or directory; name a TOML file"),
        (["link", "-o", "file/folder"], "cannot make the folder 'file/folder': Not a directory"),
    ],
)
def test_what_it_refuses(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    assert main(["verilog", *words, *([] if "-o" in words else ["-o", "out"])]) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_file_that_is_no_toml_is_quoted(tmp_path, capsys):
    (tmp_path / "bad.toml").write_text("sram_size : 4")
    assert main(["verilog", "nic", "--config", str(tmp_path / "bad.toml"), "-o", str(tmp_path / "out")]) == 2
    assert re.search(r"cannot read --config '.*bad.toml': Expected .*; name a TOML file", capsys.readouterr().err)
