"""The contract of every model of the on-chip registers, whether it is addressed as the processor does
(`lang`) or by offset (`iss`)."""

from abc import ABC, abstractmethod
from contextlib import suppress

import pytest
from implementations import covered, implementations

from lanai_firmware.iss.memory import PlainRegisters as IssRegisters
from lanai_firmware.iss.memory import RegisterPort
from lanai_firmware.lang.machine import PlainRegisters as LangRegisters
from lanai_firmware.lang.machine import RegisterBus
from lanai_firmware.nic.model import HostMemory, Nic
from lanai_hdl.config import lanai41
from lanai_hdl.machine import Event, local_address, offset
from lanai_sim.corebench.firmware_ways import FedNic, Idle, OfProcessor

SCRATCH = ("SCRATCH0", "SCRATCH1", "SCRATCH2")
DESCRIPTOR = ("HDMA_HOST", "HDMA_LOCAL", "HDMA_LENGTH", "SEND_ROUTE", "SEND_POINTER", "SEND_LENGTH", "RECV_POINTER")


class RegisterContract(ABC):
    implementation: type

    @abstractmethod
    def make(self): ...

    @pytest.fixture
    def registers(self):
        made = self.make()
        assert type(made) is self.implementation
        return made

    def read(self, registers, name):
        return registers.read(local_address(name))

    def write(self, registers, name, value):
        return registers.write(local_address(name), value)

    @pytest.mark.parametrize("name", [*SCRATCH, *DESCRIPTOR, "ISR", "WAIT"])
    def test_a_register_reads_zero_at_first(self, registers, name):
        assert self.read(registers, name) == 0

    def test_storage_keeps_its_own_word(self, registers):
        values = {name: 0xFFFFFFFF - 3 * n for n, name in enumerate([*SCRATCH, *DESCRIPTOR])}
        for _ in range(2):
            for name, value in values.items():
                self.write(registers, name, value)
            assert {name: self.read(registers, name) for name in values} == values
            values = {name: value >> 4 for name, value in values.items()}

    def test_a_mask_in_wait_changes_no_other_register(self, registers):
        self.write(registers, "SCRATCH0", 5)
        self.write(registers, "WAIT", Event.DOORBELL)
        assert [self.read(registers, name) for name in ("SCRATCH0", "ISR")] == [5, 0]


class TestLang(RegisterContract):
    implementation = make = LangRegisters


class TestModel(RegisterContract):
    """The NIC that acts: the registers that only store are words as everywhere."""

    implementation = Nic

    def make(self):
        return Nic(HostMemory(), lambda: None)


class TestFed(TestModel):
    """No packet comes: firmware that waits ends."""

    implementation = FedNic

    def make(self):
        return FedNic((), lanai41())

    def write(self, registers, name, value):
        with suppress(Idle):
            super().write(registers, name, value)


class ByOffset(RegisterContract):
    def read(self, registers, name):
        return registers.read(offset(name))

    def write(self, registers, name, value):
        return registers.write(offset(name), int(value))


class TestIss(ByOffset):
    implementation = make = IssRegisters

    @pytest.mark.parametrize(
        ("happened", "mask", "stalls"),
        [(0, 0, False), (0, Event.TIMER, True), (Event.TIMER, Event.TIMER, False), (Event.DOORBELL, Event.TIMER, True)],
    )
    def test_a_store_to_wait_stalls_until_one_of_its_events(self, registers, happened, mask, stalls):
        self.write(registers, "ISR", happened)
        assert self.write(registers, "WAIT", mask) is stalls


class TestFedOfProcessor(ByOffset):
    """The golden model of the processor stalls where its NIC has nothing left to do."""

    implementation = OfProcessor

    def make(self):
        return OfProcessor(FedNic((), lanai41()))

    def test_a_store_to_wait_stalls_while_nothing_happens(self, registers):
        assert self.write(registers, "WAIT", 0) is False
        assert self.write(registers, "WAIT", Event.DOORBELL) is True


def test_every_model_of_the_registers_keeps_the_contract():
    found = implementations(RegisterBus) | implementations(RegisterPort)
    assert covered(RegisterContract) == found
