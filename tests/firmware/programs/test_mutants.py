"""Each check of a firmware and each of its rules of order has a test that fails without it. Each field that
names what may be another's has such a check."""

from importlib import import_module

import pytest

from lanai_firmware import nic
from lanai_firmware.lang import Struct
from lanai_firmware.programs import firmware, names

from .bip import mutants as bip
from .ccu import mutants as ccu
from .mpi_np import checks
from .mpi_np import mutants as mpi_np
from .mutants import functions_of, module_of
from .put import mutants as put
from .put_barrier import mutants as put_barrier

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
