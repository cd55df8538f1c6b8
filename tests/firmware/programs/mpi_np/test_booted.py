"""A NIC in plain Python that gets what a boot left is as one that boots."""

import pytest

from lanai_firmware.lang import firmware
from lanai_firmware.programs.mpi_np import booted, model
from lanai_firmware.programs.mpi_np.boot import boot
from lanai_firmware.programs.mpi_np.memory import pools

from .rig import SMALL, Rig


@pytest.fixture(autouse=True)
def none(monkeypatch):
    monkeypatch.setattr(booted, "_booted", {})


@pytest.fixture
def boots(monkeypatch):
    """The NICs that the firmware has booted."""
    done = []
    take = booted._taken
    monkeypatch.setattr(booted, "_taken", lambda nic: done.append(nic) or take(nic))
    return done


def state(rig):
    """All that the firmware of both NICs can see."""
    return [booted._digest(nic) for nic in rig.fabric.nics]


def test_it_is_as_one_that_boots(boots, monkeypatch):
    first, second = Rig(SMALL), Rig(SMALL)
    assert len(boots) == 2  # of two NICs with different places
    monkeypatch.setattr(model, "boot_once", lambda nic, boot: boot())
    assert state(first) == state(second) == state(Rig(SMALL))


def test_what_is_done_with_one_is_not_done_to_the_next():
    expected = state(Rig(SMALL))
    for nic in Rig(SMALL).fabric.nics:
        nic.machine.sram[:] = bytes(len(nic.machine.sram))
        nic.buffers.clear()
        nic.latch["SCRATCH0"] = 7
        nic.machine.placed.clear()
    assert state(Rig(SMALL)) == expected


def test_another_plan_boots(boots):
    Rig(SMALL)
    Rig(SMALL.but(eager_limit=0))
    assert len(boots) == 4


def test_another_firmware_boots(boots, monkeypatch):
    Rig(SMALL)
    code = pools.evict_empty.python.__code__
    monkeypatch.setattr(pools.clear_pool.python, "__code__", code.replace(co_name="other"))
    with pytest.raises(TypeError):  # the other takes one argument
        Rig(SMALL)
    assert len(boots) == 2


def test_code_is_that_of_all_functions_that_it_may_call():
    names = {code.co_name for code in booted._code(boot)}
    assert {"boot", "boot_channel", "clear_pool", "post_buffers", "post", "return_buffer"} <= names
    assert "restore" not in names

    @firmware
    def alone() -> bool:
        return True

    assert booted._code(alone) == (alone.python.__code__,)


def test_a_refusal_is_not_kept(boots):
    @firmware
    def refuses() -> bool:
        return False

    [nic] = model.fabric(1).nics
    with nic.machine:
        assert not booted.boot_once(nic, refuses)
    assert (boots, booted._booted) == ([], {})


def test_so_many_are_kept(monkeypatch):
    monkeypatch.setattr(booted, "KEPT", 2)
    Rig(SMALL)
    Rig(SMALL.but(eager_limit=0))
    assert len(booted._booted) == 2
