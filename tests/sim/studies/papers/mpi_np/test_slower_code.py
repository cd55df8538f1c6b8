"""The table of slower code in the design record of MPI-NP: the figures of the record."""

import pytest

from lanai_sim.studies.papers import records
from lanai_sim.studies.papers.mpi_np import answers
from lanai_sim.studies.papers.mpi_np.study import STUDY

PAGE = STUDY.record.parents[1] / "design" / "mpi-np.md"


def rows(text):
    table = text.partition("| as it is |")[2].partition("\n\n")[0]
    lines = [line.split("|")[1:-1] for line in table.splitlines()[2:]]
    return {line[0].strip(): [float(cell) if cell.strip() else None for cell in line[1:-1]] for line in lines}


def needed(figures, code):
    return answers._needed(figures[f"{code}.nic_us"], figures[f"{code}.nic_us.133"])


def test_the_table_is_what_the_record_gives():
    figures = dict(records.read(STUDY.record, "mpi-np").figures)
    codes = ("general", "compiler.1", "compiler.0")
    bandwidth = "bandwidth_MBps.262144"
    wanted = {
        "the NICs' part of 4 bytes, us": [
            figures["thesis.stage_us.nic_send"] + figures["thesis.stage_us.nic_receive"],
            *(figures[f"{code}.thesis.nic_us"] for code in codes),
        ],
        "4 bytes one way, us": [figures["thesis.latency_us.4"], *(figures[f"{c}.thesis.latency_us.4"] for c in codes)],
        "256 KB, MB/s": [
            figures[f"version.second.{bandwidth}"], None, *(figures[f"{c}.second.{bandwidth}"] for c in codes[1:])
        ],
        "256 KB by the first version, MB/s": [
            figures[f"version.first.{bandwidth}"], None, *(figures[f"{c}.first.{bandwidth}"] for c in codes[1:])
        ],
        "speed needed to match BIP, times": [
            answers._factor(figures), *(needed(figures, f"{code}.ours") for code in codes)
        ],
    }  # fmt: skip
    found = rows(PAGE.read_text())
    assert list(found) == list(wanted)
    for name, cells in wanted.items():
        assert found[name] == [None if cell is None else pytest.approx(cell, abs=0.051) for cell in cells], name
