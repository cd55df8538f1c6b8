"""Programs as objects: each is one folder, and nothing outside it needs to know which one runs."""

import itertools
import re
from pathlib import Path

import pytest

from lanai_firmware import programs
from lanai_firmware.lang.functions import Function
from lanai_firmware.lang.types import layout
from lanai_firmware.vocabulary import Touch
from lanai_hdl.config import lanai41
from lanai_hdl.errors import UserError

ROOT = Path(__file__).parents[3]
HEADER = ("type", "channel", "tag", "length", "sequence", "handle")
NIC = lanai41()


@pytest.mark.parametrize("name", programs.names())
def test_a_program_describes_itself(name):
    firmware = programs.firmware(name)
    assert firmware.name == name
    assert isinstance(firmware.main, Function)
    image = firmware.image(NIC)
    assert image.entry == f"{firmware.module}.main"
    assert firmware.words(NIC)[image.base // 4] == int.from_bytes(image.loaded[:4], "big")
    for make in firmware.presets.values():
        assert isinstance(make(), type(firmware.default_config()))


@pytest.mark.parametrize("name", [name for name in programs.names() if programs.firmware(name).memory])
def test_the_globals_that_a_driver_writes_are_in_the_image(name):
    firmware = programs.firmware(name)
    assert any(symbol.startswith(firmware.symbol("")) for symbol in firmware.image(NIC).globals())


@pytest.mark.parametrize("name", [name for name in programs.names() if programs.firmware(name).vocabulary])
def test_a_vocabulary_names_what_is_there(name):
    firmware = programs.firmware(name)
    vocabulary = firmware.vocabulary
    assert set(HEADER) <= set(layout(vocabulary.header).fields)
    assert layout(vocabulary.header).size <= 28  # what a trace keeps of each packet
    assert set(vocabulary.roles) <= set(map(int, vocabulary.types))
    functions = [symbol.name for symbol in firmware.image(NIC).code]
    assert any(function.startswith(f"{vocabulary.scheduler}.") for function in functions)


@pytest.mark.parametrize("name", [name for name in programs.names() if programs.firmware(name).presets])
def test_a_vocabulary_names_tables_of_the_layout(name):
    firmware = programs.firmware(name)
    vocabulary = firmware.vocabulary
    image = firmware.image(NIC)
    plan = firmware.lay_out(firmware.default_config(), 2, 4, image.free, image.stack_bottom).described()
    tables = sorted(vocabulary.tables(plan), key=lambda table: table.begin)
    assert {table.kind for table in tables} == set(Touch) - {Touch.TURN}
    assert tables[0].begin >= image.free
    assert tables[-1].end <= image.stack_bottom
    assert all(one.end <= two.begin for one, two in itertools.pairwise(tables))
    assert all(0 <= table.first < table.last <= table.stride for table in tables)


def test_an_image_leaves_out_what_its_configuration_does_not_use():
    """NP-04: no code for send buffers, unless channels have some."""
    firmware = programs.firmware("mpi-np")
    config = firmware.default_config()
    images = [firmware.image(NIC), firmware.image(NIC, config), firmware.image(NIC, config.but(send_buffer=16384))]
    where = "lanai_firmware.programs.mpi_np.memory.send_buffers."
    assert [any(symbol.name.startswith(where) for symbol in image.code) for image in images] == [False, False, True]
    assert images[0].loaded == images[1].loaded


def test_a_name_that_is_none_is_refused():
    with pytest.raises(UserError, match=r"firmware 'mpi' is not known; choose one of .*mpi-np, .*selftest"):
        programs.firmware("mpi")


def test_a_program_without_choices_says_so():
    with pytest.raises(UserError, match="the firmware 'selftest' has no configuration to choose"):
        programs.firmware("selftest").default_config()


def test_programs_leave_the_engines_to_the_driver_layer():
    folders = ("firmware/lanai_firmware/programs", "examples/extending/stacks/echo", "tests/sim/engines")
    for path in [path for folder in folders for path in (ROOT / folder).rglob("*.py")]:
        assert not re.search(r"\b(HDMA|SEND|RECV)_\w+\.(load|store)\(", path.read_text()), path


def test_what_serves_any_firmware_names_none():
    """Only a program's own folder, its stack, and what studies it know MPI-NP's memory and
    packets."""
    own = ("firmware/lanai_firmware/programs/mpi_np", "host/lanai_host/stacks/mpi_np", "sim/lanai_sim/studies")
    for room in ("firmware", "host", "sim"):
        for path in (ROOT / room).rglob("*.py"):
            if not path.relative_to(ROOT).as_posix().startswith(own):
                found = re.search(r"^\s*(from|import) \S*\bmpi_np\b.*", path.read_text(), re.MULTILINE)
                assert not found, f"{path}: {found}"
