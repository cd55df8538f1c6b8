"""The SRAM's block RAMs get sites near one another, and nothing else of a netlist changes."""

import json
import re

import pytest

from lanai_hdl.boards import find
from lanai_sim.fpga import bitstream
from lanai_sim.fpga.ecp5 import BLOCK_RAM, MIDDLE, SITES, place

DEVICE = "LFE5U-85F"
SRAM = [f"top.nic.sram.bank_{bank}.0.{bit}" for bank in range(2) for bit in range(32)]
OTHERS = ["top.nic.remote.lookup.pages.0.1", "top.nic.sram.bank_0_LUT4_Z"]


def cell(kind):
    return {"type": kind, "parameters": {}, "attributes": {"src": "a file"}, "connections": {"Z": [2]}}


def design(names=SRAM):
    cells = {name: cell(BLOCK_RAM) for name in names} | {OTHERS[0]: cell(BLOCK_RAM), OTHERS[1]: cell("LUT4")}
    return {"modules": {"top": {"cells": cells, "netnames": {}}}}


def site(bel):
    match = re.fullmatch(r"X(\d+)/Y(\d+)/EBR([0-3])", bel)
    assert match is not None, bel
    return int(match[1]), int(match[2])


def test_every_block_ram_of_the_sram_has_a_site_of_its_own():
    netlist = design()
    chosen = place(netlist, DEVICE)
    assert chosen.keys() == set(SRAM)
    assert len(set(chosen.values())) == len(SRAM)
    assert {site(bel) for bel in chosen.values()} <= set(SITES[DEVICE])


def test_nothing_but_their_sites_changes():
    netlist, before = design(), design()
    chosen = place(netlist, DEVICE)
    for name, bel in chosen.items():
        before["modules"]["top"]["cells"][name]["attributes"]["BEL"] = bel
    assert netlist == before


def test_no_free_site_is_nearer_than_a_taken_one():
    def distance(column, row):
        return abs(column + 0.5 - MIDDLE[0]) + abs(row - MIDDLE[1])

    taken = {site(bel) for bel in place(design(), DEVICE).values()}
    assert max(distance(*one) for one in taken) <= min(distance(*one) for one in set(SITES[DEVICE]) - taken)


def test_signs_stand_nearest_to_the_middle():
    chosen = place(design(), DEVICE)
    signs = {site(chosen[name]) for name in SRAM if int(name.rpartition(".")[2]) % 8 == 7}
    (middle, _) = MIDDLE
    nearest = sorted(SITES[DEVICE], key=lambda one: abs(one[0] + 0.5 - middle) + abs(one[1] - MIDDLE[1]))
    assert signs == set(nearest[: len(signs)])


def test_the_order_of_cells_does_not_matter():
    assert place(design(SRAM), DEVICE) == place(design(SRAM[::-1]), DEVICE)


def test_an_ecp5_85_has_208_block_rams():
    assert len(set(SITES[DEVICE])) == bitstream.CAPACITY[DEVICE].brams


@pytest.mark.parametrize(
    ("device", "names"),
    [("LFE5U-45F", SRAM), (DEVICE, [f"top.nic.sram.bank_{bank}.0.{bit}" for bank in range(7) for bit in range(32)])],
)
def test_an_unknown_device_or_too_large_an_sram_is_left_to_the_placer(device, names):
    netlist = design(names)
    assert place(netlist, device) == {}
    assert netlist == design(names)


@pytest.mark.ci
@pytest.mark.parametrize("blocks", [(), ("remote",)])
def test_a_build_places_them(blocks, monkeypatch, tmp_path):
    board = find("ulx3s-85f").with_blocks(blocks)
    file = tmp_path / "top.json"

    def synthesize(command, output, what):
        file.write_text(json.dumps(design()))

    monkeypatch.setattr(bitstream, "_run", synthesize)
    bitstream.synthesize(board, tmp_path)
    cells = json.loads(file.read_text())["modules"]["top"]["cells"]
    placed = {name for name, one in cells.items() if "BEL" in one["attributes"]}
    assert placed == set(SRAM)
