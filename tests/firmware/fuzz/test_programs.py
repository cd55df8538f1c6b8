"""Random programs end as they say, and between them they touch everything there is."""

import re
from collections import Counter
from types import SimpleNamespace

import pytest
from pairs import first_of, some_of

from lanai_firmware.compiler import CompileError, build, load_module, lower, operators
from lanai_firmware.compiler.program import Program
from lanai_firmware.fuzz import Layout, generate
from lanai_firmware.fuzz.edges import generate_edges, generate_register_access, main_of
from lanai_firmware.fuzz.endings import ENDINGS
from lanai_firmware.iss import Memory, PlainRegisters, Processor, Stop
from lanai_firmware.iss.retire import Tracer
from lanai_firmware.lang import Machine, functions, i32, integers, rules, u32
from lanai_firmware.native import NativeProgram
from lanai_hdl import machine
from lanai_hdl.errors import UserError
from lanai_hdl.isa import FORMATS, Access, AluOp, Condition, Function, Reg, decode
from lanai_hdl.isa.traps import CAUSES

LAYOUT = Layout(registers=[machine.offset("SCRATCH0"), machine.offset("SCRATCH1")], passes=2)
SEEDS = range(70)


def load(program):
    processor = Processor(Memory(len(program.image)))
    processor.write(0, program.image)
    return processor


@pytest.fixture(scope="module")
def seen():
    """Return the counts of what the programs of SEEDS executed."""
    counts = Counter()
    for seed in SEEDS:
        processor = load(generate(seed, LAYOUT))
        tracer = Tracer(processor)
        while True:
            slots, flags = processor.slots, processor.flags
            record = tracer.step()
            if record is None:
                counts[processor.trap.cause] += 1
                break
            i = decode(record.word)
            name = i.format.name
            counts[name] += 1
            if "cond" in i.values:
                holds = Condition(i["cond"]).holds(*flags)
                counts[name, "cond", i["cond"], bool(holds)] += 1
            for field in ("op", "function", "access", "pre", "update", "store", "flags"):
                if field in i.values:
                    counts[name, field, i[field]] += 1
            if name == "RRM":
                counts["RRM", i["op"], i["pre"], i["update"]] += 1
            if slots:
                counts["slot", name] += 1
            if record.rd == Reg.PC:
                counts[name, "transfer"] += 1
            if record.address >= machine.REGISTERS_LOCAL:
                counts["on chip", record.store] += 1
    return counts


@pytest.mark.ci
def test_every_program_ends_with_its_trap(seen):
    for seed in SEEDS:
        program = generate(seed, LAYOUT)
        processor = load(program)
        assert processor.run(100_000) is Stop.TRAP
        assert processor.trap.cause is program.cause, seed
    assert set(ENDINGS) <= set(seen)


def test_formats_fields_and_slots(seen):
    for item in FORMATS:
        assert seen[item.name], item.name
        assert seen["slot", item.name] or item.name == "BRR", f"{item.name} in a slot"
    for op in AluOp:
        assert seen["RI", "op", op]
        assert seen["RR", "op", op]
        for mode in range(4):
            assert seen["RRM", op, mode >> 1, mode & 1], (op, mode)
    for function in Function:
        assert seen["SPECIAL", "function", function]
    for access in Access:
        assert seen["RRM", "access", access]
    for name in ("RI", "RR", "RM", "RRM", "SPECIAL", "BR", "SCC", "BRR", "SLS", "SLI", "SPLS"):
        assert seen[name, "transfer"], f"{name} to pc"
    assert seen["on chip", True]
    assert seen["on chip", False]


def test_conditions_both_ways(seen):
    for code in Condition:
        for name in ("RR", "SCC", "BR"):
            for holds in (True, False):
                if code > Condition.F or holds == (code == Condition.T):
                    assert seen[name, "cond", code, holds], (name, code.name, holds)


def test_same_seed_same_program():
    assert generate(7, LAYOUT) == generate(7, LAYOUT)
    assert generate(7, LAYOUT).image != generate(8, LAYOUT).image


def test_layouts_that_cannot_be():
    for size in (0x2000, 0x100000, 0x8002):
        with pytest.raises(UserError, match=f"SRAM of {size} bytes"):
            Layout(size=size)


# At the edges of the language all ways of running firmware agree, and this test fails when they do not.


EDGE_SEEDS, CASES = range(4), 40
FOUND_BY = range(8)  # the seeds among whose programs every fault shows


def refusal_of_python(module, name, arguments):
    """Return why CPython refuses the function, or None. Calls it on a fresh state."""
    with Machine():
        module.start(arguments[0] ^ arguments[1])
        module.state.word = 0
        try:
            getattr(module, name)(arguments[0], i32(arguments[1]))
        except rules.FirmwareError as error:
            return str(error)
    return None


def refusal_of_compiler(module, name):
    try:
        lower(getattr(module, name))
    except CompileError as error:
        return re.sub(r"^.*?:\d+:\d+: ", "", str(error))
    return None


def refused_by_one(folder, seed):
    """Return texts of the programs that CPython and the compiler do not refuse alike, and the programs
    that neither refuses."""
    head, cases = generate_edges(seed, CASES)
    path = folder / f"edges_{seed}.py"
    path.write_text(head + "".join(text for text, _ in cases.values()))
    module = load_module(path)
    wrong, accepted = [], {}
    for name, (text, arguments) in cases.items():
        python, compiler = refusal_of_python(module, name, arguments), refusal_of_compiler(module, name)
        if python != compiler:
            wrong.append(f"{text} {arguments}: CPython: {python}; compiler: {compiler}")
        elif python is None:
            accepted[name] = (text, arguments)
    return wrong, head, accepted


def different_results(folder, seed, head, cases):
    """The programs that give different words in different ways, with those words."""
    path = folder / f"edges_{seed}_run.py"
    named = [(name, arguments) for name, (_, arguments) in cases.items()]
    path.write_text(head + "".join(text for text, _ in cases.values()) + main_of(named))
    module = load_module(path)
    image = build(module.main)
    symbol = image.symbols[f"{module.__name__}.results"]
    images = {way: run(module, image) for way, run in WAYS.items()}
    wrong = []
    for index, (text, arguments) in enumerate(cases.values()):
        place = symbol.address + 4 * index
        words = {way: sram[place : place + 4].hex() for way, sram in images.items()}
        if len(set(words.values())) > 1:
            wrong.append(f"{text} {arguments}: {words}")
    return wrong


def on_python(module, image):
    with (machine := Machine(symbols=image.globals())):
        module.main()
    return bytes(machine.sram)


def on_native(module, image):
    machine = Machine()
    NativeProgram(module.main, image.globals(), speed=1).run(machine)
    return bytes(machine.sram)


def golden(image):
    memory = Memory(image.sram_size)
    memory.write(0, image.sram())
    processor = Processor(memory, PlainRegisters())
    processor.add_breakpoint(image.halt)
    return processor, processor.run(1_000_000)


def on_lanai(module, image):
    processor, stop = golden(image)
    assert stop is Stop.BREAKPOINT, processor.trap
    return processor.memory.read(0, image.sram_size)


WAYS = {"python": on_python, "native": on_native, "lanai": on_lanai}


@pytest.mark.parametrize(
    "seed", [*some_of(1, EDGE_SEEDS), *(pytest.param(s, marks=pytest.mark.slow) for s in range(100, 200))]
)
def test_the_ways_agree(tmp_path, seed):
    wrong, head, accepted = refused_by_one(tmp_path, seed)
    assert wrong == []
    assert CASES // 3 < len(accepted) < CASES
    assert different_results(tmp_path, seed, head, accepted) == []


def test_every_shape_occurs_run_and_refused():
    texts = [text for seed in FOUND_BY for text, _ in generate_edges(seed, CASES)[1].values()]
    for shape in (
        r"range\(a.*, -\d", r"range\(b.*, -\d", r"a // -\d", r"a % -\d", r"b // \d{10}",
        r"copy\(address_of\(state.words\)", r"copy\(cast", r"-\d+ >> ", r"imum\(a, -", r"fill\(.*, -",
    ):  # fmt: skip
        assert any(re.search(shape, text) for text in texts), shape


def stopped_or_result(run):
    try:
        return run()
    except UserError as error:
        return str(error)


def register_access(folder, seed):
    """Return the end of an access to a register through a pointer, for each way: a word, or why the
    processor stops."""
    path = folder / f"register_{seed}.py"
    path.write_text(generate_register_access(seed))
    module = load_module(path)
    image = build(module.main)
    with Machine():
        python = stopped_or_result(lambda: int(module.main()))
    native = stopped_or_result(lambda: int(NativeProgram(module.main, speed=1).run(Machine())))
    processor, stop = golden(image)
    result = int.from_bytes(processor.memory.read(image.address("__result"), 4), "big")
    return python, native, result if stop is Stop.BREAKPOINT else CAUSES[processor.trap.cause]


def same_end(python, native, lanai):
    return python == native and (python == lanai or (isinstance(lanai, str) and lanai in str(python)))


@pytest.mark.parametrize("seed", range(12))
def test_registers_through_pointers_agree(tmp_path, seed):
    ends = register_access(tmp_path, seed)
    assert same_end(*ends), ends


def without_rules(what, left, right):
    """Return the type that the kinds give when literals are ignored."""
    return (left if isinstance(left, type) else right).wide


def range_by_every_bound(start, stop, step, unsigned, signed):
    """A range whose step counts as a bound."""
    return signed if signed in (start, stop) or step < 0 else unsigned


def forward_copy(folder):
    """A copy that does not look whether its blocks overlap."""
    path = folder / "forward.py"
    path.write_text("""
from lanai_firmware.lang import Ptr, firmware, u8, u32
@firmware
def copy_bytes(target: Ptr[u8], source: Ptr[u8], size: u32) -> None:
    for i in range(size):
        target[i] = source[i]
""")
    return load_module(path).copy_bytes


def break_python_literals(monkeypatch, folder):
    monkeypatch.setattr(integers, "rules", SimpleNamespace(**{**vars(rules), "result_kind": without_rules}))


def break_compiled_literals(monkeypatch, folder):
    monkeypatch.setattr(operators, "rules", SimpleNamespace(**{**vars(rules), "result_kind": without_rules}))


def break_python_ranges(monkeypatch, folder):
    monkeypatch.setattr(functions, "rules", SimpleNamespace(**{**vars(rules), "range_kind": range_by_every_bound}))


def break_copies(monkeypatch, folder):
    forward, helper = forward_copy(folder), Program.helper

    def chosen(self, name):
        return self.declare(forward, None) if name == "copy_bytes" else helper(self, name)

    monkeypatch.setattr(Program, "helper", chosen)


DIVISIONS = [r"u32\(a // -\d", r"u32\(a % -\d", r"u32\(b // \d{10}", r"u32\(-?\d+ >> [ab]"]
FAULTS = {
    "literals in CPython": (break_python_literals, DIVISIONS),
    "literals in the compiler": (break_compiled_literals, DIVISIONS),
    "ranges in CPython": (break_python_ranges, [r"range\(.*a.*, -\d"]),
}


@pytest.mark.parametrize("fault", first_of(*FAULTS))
def test_literals_and_ranges_that_differ_are_found(tmp_path, monkeypatch, fault):
    """A fault that once was there, put back: generated programs of each shape that it concerns show
    it."""
    put_back, shapes = FAULTS[fault]
    put_back(monkeypatch, tmp_path)
    found = [text for seed in FOUND_BY for text in refused_by_one(tmp_path, seed)[0]]
    for shape in shapes:
        assert any(re.search(shape, text) for text in found), shape


@pytest.mark.ci
def test_a_copy_that_overwrites_its_source_is_found(tmp_path, monkeypatch):
    break_copies(monkeypatch, tmp_path)
    found = []
    for seed in EDGE_SEEDS:
        _, head, accepted = refused_by_one(tmp_path, seed)
        found += different_results(
            tmp_path, seed, head, {n: case for n, case in accepted.items() if "copy(" in case[0]}
        )
    assert found


def test_a_register_that_answers_bytes_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(Machine, "check_register", lambda *_: None)
    assert not all(same_end(*register_access(tmp_path, seed)) for seed in range(12))


def test_u32_is_the_kind_of_a_range_that_goes_down():
    assert type(next(functions.typed_range(u32(5), 0, -1))) is u32
    assert type(next(functions.typed_range(5, 0, -1))) is i32
