"""The instruction set: the disassembler against LLVM's spelling, its table, the page on the language, registers."""

import doctest
import random
import re
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path

import pytest
from implementations import covered, implementations

from lanai_firmware.compiler import build, load_module
from lanai_firmware.disasm import disassemble, listing
from lanai_firmware.isa_table import lines
from lanai_firmware.iss.memory import PlainRegisters as IssRegisters
from lanai_firmware.iss.memory import RegisterPort
from lanai_firmware.lang import Machine
from lanai_firmware.lang.machine import PlainRegisters as LangRegisters
from lanai_firmware.lang.machine import RegisterBus
from lanai_firmware.native import NativeProgram
from lanai_firmware.nic.model import HostMemory, Nic
from lanai_hdl.config import lanai41
from lanai_hdl.isa import FORMATS, Condition, TrapCause, decode
from lanai_hdl.machine import Event, local_address, offset
from lanai_sim.corebench.firmware_ways import FedNic, Idle, OfProcessor

TEXTS = [
    (0x00000001, "nop"),
    (0xC60C4800, "add %r3, %r9, %r12"),
    (0xC60C4803, "add.ne %r3, %r9, %r12"),
    (0xC60D4E06, "xor.lt %r3, %r9, %r12"),
    (0xC60E4B00, "subb.f %r3, %r9, %r12"),
    (0xC60C4FC2, "sha.ult %r3, %r9, %r12"),
    (0xC60D4F03, "sel.eq %r3, %r9, %r12"),
    (0x260C1234, "sub %r3, 0x1234, %r12"),
    (0x460C1234, "and %r3, 0xffff1234, %r12"),
    (0x460D1234, "and %r3, 0x1234ffff, %r12"),
    (0x760CFFFB, "sh %r3, -5, %r12"),
    (0x760DFFFB, "sha %r3, -5, %r12"),
    (0x860EFFF8, "ld -8[%r3], %r12"),
    (0x860F0008, "ld 8[*%r3], %r12"),
    (0x860D0008, "ld 8[%r3*], %r12"),
    (0x9613FFFC, "st %r12, [--%sp]"),
    (0xA60E4802, "ld [%r3 add %r9], %r12"),
    (0xA60E4801, "uld.h [%r3 add %r9], %r12"),
    (0xA60E4804, "ld.b [%r3 add %r9], %r12"),
    (0xA60E4F82, "ld [%r3 sh %r9], %r12"),
    (0xB60E4E04, "st.b %r12, [%r3 xor %r9]"),
    (0xF60F0802, "ld.h 2[%r3], %r12"),
    (0xF60F4BFF, "ld.b -1[%r3], %r12"),
    (0xF60F5C01, "uld.b [++%r3], %r12"),
    (0xF60F5401, "uld.b [%r3++], %r12"),
    (0xF60F6BFD, "st.b %r12, -3[%r3]"),
    (0xF6042344, "ld [0x12344], %r12"),
    (0xF6052344, "st %r12, [0x12344]"),
    (0xF1861170, "mov 0x11170, %r3"),
    (0xE6300003, "seq %r12"),
    (0xE4300002, "sult %r12"),
    (0xE0001000, "bt 0x1000"),
    (0xE2001000, "bugt 0x1000"),
    (0xC1006500, "bt %r12"),
    (0xD60C0001, "popc %r3, %r12"),
    (0x9293FFFC, "st %fp, [--%sp]"),
    (0x8116FFFC, "ld -4[%fp], %pc"),
    (0xC60C4F20, ".word 0xc60c4f20"),
]


@pytest.mark.parametrize(("word", "text"), TEXTS)
def test_spelling(word, text):
    assert disassemble(word) == text


def test_different_instructions_read_differently():
    """Text says everything: no two defined words share one. Random pairs that differ in one bit are
    the hard ones.

    Constants 0 and all ones read the same in either half of an RI instruction.
    """
    rng = random.Random(5)
    for _ in range(20_000):
        word = rng.getrandbits(32)
        other = word ^ 1 << rng.randrange(32)
        a, b = decode(word), decode(other)
        if a and b and not (a.format.name == "RI" and a["imm"] in (0, 0xFFFF)):
            assert disassemble(word) != disassemble(other), (hex(word), hex(other))


def test_listing_names_labels():
    code = bytes.fromhex("e0001000 00000001")
    assert list(listing(code, 0x1000, {"main": 0x1000, "f": 0x1004})) == [
        "main:",
        "001000: e0001000  bt main",
        "f:",
        "001004: 00000001  nop",
    ]


# The page of the reference has all of the declaration.


def test_everything_is_there():
    page = "\n".join(lines())
    for item in FORMATS:
        assert f"### {item.name}\n" in page
        for part in item.fields:
            assert f"| `{part.name}` |" in page
    for cause in TrapCause:
        assert cause.name in page
    for condition in Condition:
        assert f"`{condition.suffix}`" in page


# docs/firmware-language.md: every sample runs, in three ways, and prints what the page says.


PAGE = Path(__file__).parents[2] / "docs" / "firmware-language.md"
SAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\nmain\(\) = (\d+)\n```", PAGE.read_text(), re.DOTALL)


def test_every_program_has_its_result():
    assert len(SAMPLES) == PAGE.read_text().count("```python\n") >= 4


@pytest.mark.parametrize("index", range(len(SAMPLES)))
def test_sample(tmp_path, lanai, index):
    text, result = SAMPLES[index]
    path = tmp_path / f"sample_{index}.py"
    path.write_text(text)
    module = load_module(path)
    with Machine():
        assert module.main() == int(result)
    assert NativeProgram(path).run(Machine()) == int(result)
    assert lanai(build(path)).run() == int(result)


def test_python_session():
    (session,) = re.findall(r"```pycon\n(.*?)```", PAGE.read_text(), re.DOTALL)
    test = doctest.DocTestParser().get_doctest(session, {}, "session", str(PAGE), 0)
    assert doctest.DocTestRunner().run(test).failed == 0


# The contract of every model of the on-chip registers, whether it is addressed as the processor does (`lang`) or by
# offset (`iss`).


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
