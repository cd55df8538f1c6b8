"""Programs as objects: each is one folder, and nothing outside it needs to know which one runs."""

import itertools
import re
from importlib import import_module
from pathlib import Path

import pytest

from lanai_firmware import nic, programs
from lanai_firmware.lang import Struct
from lanai_firmware.lang.functions import Function
from lanai_firmware.lang.types import layout
from lanai_firmware.programs import firmware, names
from lanai_firmware.vocabulary import Touch
from lanai_hdl.config import lanai41
from lanai_hdl.errors import UserError

from .bip import mutants as bip
from .ccu import mutants as ccu
from .mpi_np import checks
from .mpi_np import mutants as mpi_np
from .mutants import functions_of, module_of
from .put import mutants as put
from .put_barrier import mutants as put_barrier

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


# Each check of a firmware and each of its rules of order has a test that fails without it. Each field that names what
# may be another's has such a check.


LISTS = {"bip": bip, "put": put, "put_barrier": put_barrier, "ccu": ccu, "mpi_np": mpi_np}
ALL = [pytest.param(*item, id=f"{name}: {item[0]}") for name, one in LISTS.items() for item in one.MUTANTS.items()]


@pytest.mark.ci(whole=True)  # each mutant is a check of its own
@pytest.mark.parametrize(("mutant", "test"), ALL)
def test_a_test_notices(mutant, test):
    with mutant.applied():
        try:
            test()
        except Exception:
            return
    pytest.fail(f"{test} passes without it")


def package_of(name):
    return import_module(firmware(name.replace("_", "-")).module.rpartition(".")[0])


def removed(name):
    """The functions of which some test needs a check."""
    mutants = {mutant for key in WITH.get(name, (name,)) for mutant in LISTS[key].MUTANTS}
    return {mutant.place for mutant in [*mutants, *(checks.checks() if name == "mpi_np" else ())]}


WITH = {"put_barrier": ("put_barrier", "put")}  # firmwares that hold others
TABLES = {name.replace("-", "_"): firmware(name).judges for name in names() if firmware(name).judges}
JUDGES = [
    pytest.param(name, judge, id=f"{name}: {getattr(structure, '__name__', structure)}.{field}")
    for name, table in TABLES.items()
    for structure, fields in table.items()
    if isinstance(fields, dict)
    for field, judges in fields.items()
    for judge in judges
]


def test_each_firmware_that_strangers_write_to_says_who_judges_them():
    assert set(TABLES) == set(LISTS)


@pytest.mark.parametrize("name", TABLES)
def test_each_field_of_the_layout_is_in_the_table(name):
    layout = module_of("layout", package_of(name))
    structures = {kind for kind in vars(layout).values() if isinstance(kind, type) and issubclass(kind, Struct)}
    own = {kind for kind in structures if kind.__module__ == layout.__name__}
    assert own <= set(TABLES[name])
    for structure, fields in TABLES[name].items():
        if isinstance(structure, type) and isinstance(fields, dict):
            assert list(fields) == list(structure.__annotations__), structure.__name__


@pytest.mark.parametrize(("name", "judge"), JUDGES)
def test_each_judge_is_there_and_some_test_needs_it(name, judge):
    assert bool(judge.by) != bool(judge.unjudged), "a judge, or the reason why there is none"
    packages = [package_of(key) for key in WITH.get(name, (name,))]
    for place in judge.by:
        module, _, function = place.partition(".")
        assert function in {one.python.__name__ for one in functions_of(module_of(module, *packages, nic))}
        assert place in removed(name), f"no mutant removes a check of {place}"
