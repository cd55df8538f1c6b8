"""The processor outside its model: C++ that takes its registers out of a copy of a slot's code, and puts them back.

`cxx/core.h` does what the processor does while nothing else of the NIC works. Here is what it needs of the model:
the words of `WORDS`, which the copy gives after each slot or takes in the middle of one; whether anything but the
processor has changed since some slot before; and what reads of registers return meanwhile.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from lanai_hdl.config import NicConfig
from lanai_hdl.csr.declare import Access
from lanai_hdl.lbus.masters import CPU
from lanai_hdl.machine import REGISTERS, REGISTERS_LOCAL, REGISTERS_SIZE

from . import span

# Registers, by the name in C++: a pattern of the name in the gateware, and the number of words of 32 bits of a wide
# one. Amaranth numbers signals without a name, each module for itself, so a change of the core may need other numbers
# here. With names the same gateware takes other LUTs of an FPGA, and has another clock.
WORDS: Mapping[str, tuple[str, int]] = {
    "READY": (r"processor\.\$signal", 3),
    "ISSUED": (r"processor\.\$signal\$58", 7),
    "AGAIN": (r"processor\.\$signal\$46", 0),
    "MOVED": (r"processor\.\$signal\$75", 0),
    "LOADED": (r"processor\.\$signal\$73", 0),
    "RESULTS": (r"processor\.\$signal\$77", 0),
    "ARRIVED": (r"processor\.\$signal\$76", 0),
    "ARRIVED_TO_PC": (r"processor\.loaded\$\d+", 0),
    "LOADED_RD": (r"processor\.\$signal\$53", 0),
    "LOADED_TO_PC": (r"processor\.\$signal\$103", 0),
    "FETCHED": (r"processor\.fetch\.\$26", 0),
    "FETCHED_FAULT": (r"processor\.fetch\.\$28", 0),
    "FETCH_PC": (r"processor\.(fetch\.)?pc", 0),
    "FETCH_LEFT": (r"processor\.fetch\.\$signal\$11", 0),
    "FETCH_TURNS": (r"processor\.fetch\.turns", 0),
    "FETCH_TARGET": (r"processor\.fetch\.target", 0),
    "SLOTS_LEFT": (r"processor\.execute\.left", 0),
    "FLAGS_RESULT": (r"processor\.execute\.flags\.result", 0),
    "CARRY": (r"processor\.execute\.(carry_in|flags\.carry)", 0),
    "OVERFLOW": (r"processor\.execute\.flags\.overflow", 0),
    "SHIFTED": (r"processor\.execute\.(address\.)?shifted", 0),
    "IS_HELD": (r"processor\.tracker\.is_held", 0),
    "ACCESS_LOADED": (r"processor\.(access\.)?loaded", 0),
    "ON_BUS": (r"processor\.access\.\$signal\$21", 0),
    "HALF_OR_MORE": (r"processor\.access\.\$signal\$22", 0),
    "WHOLE": (r"processor\.access\.\$signal\$23", 0),
    "FROM_WINDOW": (r"processor\.access\.\$signal\$26", 0),
    "FIRST": (r"processor\.access\.\$signal\$18", 0),
    "SECOND": (r"processor\.access\.\$signal\$19", 0),
    "SIGN": (r"processor\.access\.sign", 0),
    "FILL_SECOND": (r"processor\.access\.\$signal\$24", 0),
    "FILL_UPPER": (r"processor\.access\.fill_upper", 0),
    "RDATA": (r"lbus__rdata", 0),
    "NOTED": (r"counters\.\$signal", 0),
    "DUE": (r"counters\.due", 0),
    "USED": (r"(counters\.)?slots_cpu_used", 0),
    "NOW": (r"\$signal", 0),
}
# Members that say what the processor does in a slot. They are no state, but the slot after would do it once more.
GO, WRITE, ENABLE = r"processor\.\$signal\$16", r"processor\.write", r"port__enable"
ARRAYS = (r"sram\.sram\.mem", *(rf"processor\.registers\.bank_{bank}" for bank in "abd"))
# What changes while nothing but the processor works. Data on its way to the SRAM's other masters is among it, which
# they take in slots of their own only.
OWN = re.compile(
    r"processor\..*|port__(enable|write|addr|wdata|be)|lbus__rdata|cpu__request|count_slots_cpu_used|\$signal|"
    r"counters\.(\$signal|due|slots_cpu_used(\$next)?)|slots_cpu_used|send_dma\.(i__payload(\$\d+)?|flits\.\$like)"
)
CYCLES = next(register for register in REGISTERS if register.name == "CYCLES")
FIELDS = "core_fields.h"  # beside the C++ of the model
KINDS = ("CData", "SData", "IData", "QData")  # what an expression names beside members
SHARED = "__Vdfg"  # how names of expressions begin that Verilator computes once for several
NAME = re.compile(r"(?<!\w)(?:vlSelfRef\.)?([A-Za-z_]\w*)")  # in an expression
CHUNK = re.compile(r"^(?=    [^\s}])", re.M)  # where a statement of a function begins


def indices() -> dict[str, int]:
    """Return the place of each register in the array of words."""
    found, at = {}, 0
    for name, (_, count) in WORDS.items():
        found[name] = at
        at += count or 1
    return found | {"WORDS": at}


def header(nic: NicConfig, root: str) -> str:
    """C++ that declares the functions of `written` and the words, and includes the file of fields that is written
    beside the model."""
    places = [f"constexpr unsigned CORE_{name} = {at};" for name, at in indices().items()]
    bit = [counter.name for counter in nic.machine.counters].index(CPU.used.name)
    return "\n".join(
        [
            "#define LANAI_CORE",
            *places,
            f'#include "{FIELDS}"',
            f"constexpr uint32_t REGISTERS_LOCAL = {REGISTERS_LOCAL}, REGISTERS_SIZE = {REGISTERS_SIZE};",
            f"constexpr uint32_t REGISTER_CYCLES = {CYCLES.offset};",
            f"constexpr uint32_t CORE_LIMIT = {min(nic.sram_size, REGISTERS_LOCAL)};",
            f"constexpr uint64_t CORE_CPU_USED = 1ull << {bit};",
            f"bool {root}___core_slot({root}*, uint64_t*, bool);",
            f"bool {root}___core_issues(const {root}*);",
            f"void {root}___core_leave({root}*);",
            *span.declared("core", root),
            f"void {root}___core_arrays({root}*, uint32_t**);",
            f"bool {root}___core_read(const {root}*, uint32_t, uint32_t*);",
            *(f"#define core_{name} {root}___core_{name}" for name in FUNCTIONS),
        ]
    )


FUNCTIONS = ("slot", "issues", "leave", "arrays", "read")


@dataclass(frozen=True)
class Place:
    """A register in the model: a member of Verilator's class, or a word of one, and its place in the array."""

    member: str
    word: int | None
    index: int

    @property
    def assigned(self) -> re.Pattern[str]:
        """A pattern of its assignment, whose first group is the register as the copy spells it."""
        word = "" if self.word is None else rf"\[{self.word}U\]"
        return re.compile(rf"((?:vlSelfRef\.|known_){self.member}{word})\s*=[^=]")


def places(names: Mapping[str, str]) -> list[Place]:
    """Return where the registers are, of a model whose members have these names in the gateware. Empty if it has
    not all of them."""
    found = []
    for (pattern, count), index in zip(WORDS.values(), indices().values(), strict=False):
        member = only(names, pattern)
        if member is None:
            return []
        found += [Place(member, at if count else None, index + at) for at in range(count or 1)]
    return found


def only(names: Mapping[str, str], pattern: str) -> str | None:
    """Return the one member whose name in the gateware is so; None if there is none, or several."""
    members = [member for member, name in names.items() if re.fullmatch(pattern, name)]
    return members[0] if len(members) == 1 else None


def hooked(texts: Sequence[str], registers: Sequence[Place], kinds: Mapping[str, str]) -> list[str]:
    """The texts of a copy, with each register given to `core`, or taken from it if `given`, after the statement that
    assigns it. Empty unless each has one such statement."""
    chunks = [CHUNK.split(text) for text in texts]
    for register in registers:
        found = [
            (part, at, assigned[1])
            for part in chunks
            for at, chunk in enumerate(part)
            if (assigned := register.assigned.search(chunk))
        ]
        if len(found) != 1:
            return []
        part, at, name = found[0]
        word = f"core[{register.index}]"
        part[at] += f"    {name} = given ? ({kinds[register.member]}){word} : {name}; {word} = {name};\n"
    return ["".join(part) for part in chunks]


def shared_with(texts: Sequence[str], registers: Sequence[Place]) -> frozenset[str]:
    """Members of expressions that Verilator shares, of which nothing but these registers needs the value of the slot
    before."""
    chunks = [chunk for text in texts for chunk in CHUNK.split(text)]
    found = set[str]()
    for name in set(re.findall(rf"vlSelfRef\.({SHARED}\w+)", "".join(texts))):
        for chunk in chunks:
            if re.search(rf"vlSelfRef\.{name}\s*=[^=]", chunk):
                found.add(name)
                break
            if name in chunk and not any(register.assigned.search(chunk) for register in registers):
                break
    return frozenset(found)


NONE = """
bool {root}___core_slot({root}*, uint64_t*, bool) {{ return false; }}
bool {root}___core_issues(const {root}*) {{ return false; }}
void {root}___core_leave({root}*) {{}}
void {root}___core_arrays({root}*, uint32_t**) {{}}
bool {root}___core_read(const {root}*, uint32_t, uint32_t*) {{ return false; }}
"""
ALL = """
bool {root}___core_slot({root}* vlSelf, uint64_t* core, bool given) {{
    if (!{copy}_now(*vlSelf)) return false;
    {copy}_copy(vlSelf, core, given);
    return true;
}}
bool {root}___core_issues(const {root}* root) {{ return root->{go} && {copy}_now(*root); }}
void {root}___core_leave({root}* root) {{
    root->{write} &= ~1ULL;
    root->{enable} = 0;
}}
void {root}___core_arrays({root}* root, uint32_t** arrays) {{
{arrays}
}}
bool {root}___core_read(const {root}* root, uint32_t offset, uint32_t* value) {{
    auto& vlSelfRef = *root;
    switch (offset) {{
{reads}
        default: return false;
    }}
    return true;
}}
"""


def none(root: str) -> str:
    """C++ for a model whose processor stays in it."""
    return span.none("core", root) + NONE.format(root=root)


def reads(texts: Sequence[str], names: Mapping[str, str], others: Collection[str]) -> dict[int, str]:
    """Return what the processor's reads give, by the register's offset: expressions of `others`, which stay the same
    while nothing but the processor works. Registers whose values follow from anything else are left out."""
    chunks, found = [chunk for text in texts for chunk in CHUNK.split(text)], {}
    for register in REGISTERS:
        member = only(names, rf"registers\.{register.name.lower()}_read")
        if member is None or not register.access & Access.PR:
            continue
        assigned = [chunk for chunk in chunks if re.search(rf"\bvlSelfRef\.{member}\s*=[^=]", chunk)]
        value = re.fullmatch(rf"    vlSelfRef\.{member}\s*=([^=;]*);\s*", assigned[0]) if len(assigned) == 1 else None
        if value and set(NAME.findall(value[1])) <= {*others, *KINDS}:
            found[register.offset] = value[1].strip()
    return found


def written(copy: str, root: str, names: Mapping[str, str], others: Sequence[str], read: Mapping[int, str]) -> str:
    """C++ for a model of class `root`, whose copy of this name is hooked. `names`: its members' names in the
    gateware. `others`: members that stay the same while nothing but the processor works. `read`: what reads of
    registers return."""
    go, write, enable, *arrays = (only(names, pattern) for pattern in (GO, WRITE, ENABLE, *ARRAYS))
    if None in (go, write, enable, *arrays):
        return none(root)
    return span.written("core", root, others) + ALL.format(
        copy=copy, root=root, go=go, write=write, enable=enable,
        arrays="\n".join(f"    arrays[{at}] = &root->{array}[0];" for at, array in enumerate(arrays)),
        reads="\n".join(f"        case {offset}: *value = uint32_t({value}); break;" for offset, value in read.items()),
    )  # fmt: skip
