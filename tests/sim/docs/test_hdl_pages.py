"""The pages that Sphinx makes of the hardware's sources have all that is public, and waves of what the gateware did."""

import importlib.util
import re

import pytest

import lanai_hdl.bfm
from lanai_hdl.wrap.files import BLOCKS

from . import pages

REFERENCE = pages.ROOT / "docs" / "reference"


@pytest.fixture(scope="module")
def maker():
    spec = importlib.util.spec_from_file_location("hdl_pages", pages.ROOT / "docs" / "hdl_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def page(maker):
    return maker.filled((REFERENCE / "blocks.md").read_text())


def section(page, title, level):
    found = re.search(rf"^{'#' * level} {title}$(.*?)(?=^#{{1,{level}}} |\Z)", page, re.M | re.S)
    assert found, f"{title} is not on the page"
    return found[1]


@pytest.mark.parametrize("block", BLOCKS)
def test_each_block_has_its_ports_and_its_contract(page, block):
    text = section(page, block, 2)
    assert BLOCKS[block][0] in text
    assert re.search(r"^\| `\w+` \| (in|out) \| \d+", text, re.M)
    assert len(text.partition("| bits |")[2].partition("\n\n")[2].split()) > 8, "no contract"


def test_a_port_has_its_width_and_its_direction(page):
    assert "| `pio__addr` | in | 21 |" in section(page, "nic", 2)
    assert "| `i` | in | 10: data 0-7, control 8-9 |" in section(page, "phy", 2)
    assert "| `addr` | out | 21 |" in section(page, "PioPort", 3)


def test_interfaces_with_waves_are_interfaces_of_the_blocks(page, maker):
    assert maker.WAVES
    for name in maker.WAVES:
        assert section(page, name, 3).count("</svg>") == 1
    assert page.count("</svg>") == len(maker.WAVES)


def test_waves_are_what_the_gateware_did(maker):
    waves = {wave.name: list(wave.values) for wave in maker.memory()}
    beats = [slot for slot, valid in enumerate(waves["valid"]) if valid]
    assert [waves["addr"][slot] for slot in beats] == [0x1000, 0x1004, 0x1008]
    assert [waves["rdata"][slot + 1] for slot in beats] == [0xB1, 0xB2, 0xB3]
    link = {wave.name: list(wave.values) for wave in maker.link()}
    kinds = [kind for kind in link["kind"] if kind >= 0]
    assert len(kinds) == 5
    assert sum(link["stop"]) == 3


def test_a_picture_has_a_box_for_each_value_that_counts(maker):
    text = maker.svg("a <title>", [maker.Wave("bit", [0, 1, 1]), maker.Wave("word", [5, 5, -1], maker.hexadecimal)])
    assert text.count('<rect class="wave"') == 1
    assert 'd="M104 24H138L138 8H172L172 8H206"' in text
    assert "a &lt;title&gt;" in text
    assert "\n" not in text


@pytest.mark.parametrize(("name", "heading"), [("machine", "## Host DMA"), ("isa", "### RRM")])
def test_the_declarations_stand_on_their_pages(maker, name, heading):
    assert f"\n{heading}\n" in maker.filled((REFERENCE / f"{name}.md").read_text())


def test_each_public_name_of_the_bus_models_has_its_entry():
    entries = re.findall(
        r"^\.\. auto(?:class|function):: (?:[\w.]+\.)?(\w+)", (REFERENCE / "bus-models.md").read_text(), re.M
    )
    assert set(lanai_hdl.bfm.__all__) <= set(entries)
    assert {"CocotbPins", "run_cocotb", "prove"} <= set(entries)
