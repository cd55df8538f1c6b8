"""Copies of the code of Verilator's evaluations, each for registers with known values.

In a copy, members with known values are local variables that begin as constants, so that the compiler
follows them whatever is stored in between. What has changed is stored at the end. Members that the
evaluation assigns before anything reads them are local variables too. They are stored at the end if
something else may read them, and not at all otherwise.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from . import core, counters, waiting
from .case import Case, Moment
from .comparison import SUPPORT, Compared, comparison
from .reads import MENTION, Evaluations
from .slot import slot_of

OUTPUT = re.compile(r"^\s+VL_OUT\w*\((\w+),", re.M)
LEAST = 100_000  # characters; a shorter evaluation has too little to leave out
MEMBER = re.compile(r"^\s+(CData|SData|IData|QData)/\*\d+:0\*/ (\w+);", re.M)
DECLARED = re.compile(
    r"^\s+(?:VL_(?:IN|OUT)\w*\((\w+),|(?:[CSIQ]Data/\*\d+:0\*/|VlWide<\d+>/\*\d+:0\*/) (\w+);)", re.M
)  # a member that is not an array
ARRAY = re.compile(r"^\s+VlUnpacked<.*> (\w+);", re.M)
AWAKE = re.compile(r"^\s+VL_OUT8\((awake_\w+),0,0\);", re.M)  # outputs: a block that rests is awake


@dataclass(frozen=True)
class Known:
    """A member that becomes a local variable. `value` is the one that it has, if that is known. `read`: the
    evaluation needs the value that it had before. `kept`: something needs the one that it has after."""

    name: str
    kind: str  # its C++ type
    value: int | None
    read: bool
    kept: bool


def plain(member: str) -> str:
    """The name in the gateware, below the NIC, of a member of Verilator's class.

    Names of blocks and wires of the NIC that Amaranth numbers, as there are several, lose their
    numbers, which are others in a NIC with other blocks. So several members may have one name.
    """
    dotted = member.replace("__DOT__", ".")
    name = re.sub(r"__0([0-9A-F]{2})", lambda code: chr(int(code[1], 16)), dotted)
    return re.sub(r"^(?:lanai_nic\.)?(?:nic\.)*([^.$]*)(\$\d+)?", lambda parts: parts[1] or parts[2] or "", name)


def members(header: str) -> dict[str, str]:
    """The C++ types of the scalar members of Verilator's root class, by name. Of the model's outputs
    those that say which blocks are awake."""
    inside = {name: kind for kind, name in MEMBER.findall(header)}
    return inside | dict.fromkeys(AWAKE.findall(header), "CData")


def function(root: str, moment: Moment) -> str:
    """The name of the function that `specialized` adds to the code of a root class for a moment. It does
    all of the evaluation if the registers have the values of one of the moment's cases. Otherwise it does
    nothing and returns false."""
    return f"{root}___specialized_{moment}"


def general(source: str, together: Collection[str] = ()) -> str:
    """C++ to add to Verilator's `source`: functions `<root>___general_<moment>` of the moments of an evaluation in
    which no block rests, for registers with any values. They return false, and do nothing, for a source that is not as
    usual."""
    slot = slot_of(source)
    evaluations = Evaluations.of(source, slot, together)
    written = []
    for moment in (Moment.OWN, Moment.STATE, Moment.INPUTS):
        calls = "".join(evaluations.calls(moment))
        written.append(f"""bool {slot.root}___general_{moment}({slot.root}* vlSelf) {{
    auto& vlSelfRef = *vlSelf;
{calls}    return {"true" if calls else "false"};
}}
""")
    return "".join(written)


def specialized(
    source: str, header: str, cases: Sequence[Case], together: Collection[str] = (), least: int = LEAST
) -> str:
    """C++ to add to `source`, Verilator's, which has all that a slot evaluates.

    `header` declares the root class. Registers of `cases` that the class does not have are left out.
    `together`: clocks that rise only when the model's own does. An evaluation that has less text than
    `least`, or that cannot be written again safely, has no copies.
    """
    slot = slot_of(source)
    evaluations = Evaluations.of(source, slot, together)
    everywhere, written, outside = Counter(re.findall(r"\w+", source)), [SUPPORT], core.none(slot.root)
    for moment in Moment:
        texts = evaluations.texts(moment)
        names: list[str] = []
        for case in cases if sum(map(len, texts)) >= least else ():
            known = _known(evaluations, everywhere, header, case) if case.moment == moment else []
            if any(one.read for one in known):
                names.append(f"{function(slot.root, moment)}_{len(names)}")
                local = _local(texts, known)
                hooked = _hooked(local, header) if moment == Moment.ALONE and len(names) == 1 else []
                written.append(_copy(names[-1], slot.root, hooked or local, known))
                if hooked:
                    outside = _outside(names[-1], slot.root, header, texts, evaluations.reads(moment))
        either = " || ".join(f"{name}(vlSelf)" for name in names) or "false"
        written.append(f"bool {function(slot.root, moment)}({slot.root}* vlSelf) {{ return {either}; }}\n")
    return "\n".join([*written, outside, *([_waiting(evaluations, header)] if together else [])])


def _hooked(local: Sequence[str], header: str) -> list[str]:
    """The texts of a copy from which the processor can be taken; empty if that cannot be."""
    return core.hooked(local, core.places(_names(header)), members(header) | dict.fromkeys(_wide(header), "EData"))


def _names(header: str) -> dict[str, str]:
    """The names in the gateware of all members."""
    found = [one or other for one, other in DECLARED.findall(header)] + ARRAY.findall(header)
    return {member: plain(member) for member in found}


def _wide(header: str) -> list[str]:
    return re.findall(r"^\s+VlWide<\d+>/\*\d+:0\*/ (\w+);", header, re.M)


def _outside(copy: str, root: str, header: str, texts: Sequence[str], reads: Mapping[str, bool]) -> str:
    """C++ with which the processor leaves this copy of a slot, which is hooked."""
    names = _names(header)
    own = {name for name, known in names.items() if core.OWN.fullmatch(known)}
    own |= core.shared_with(texts, core.places(names)) | set(ARRAY.findall(header))
    others = [name for name in names if reads.get(name) and name not in own]
    read = core.reads(texts, names, {*others, *ARRAY.findall(header)})
    return core.written(copy, root, names, others, read)


def _waiting(evaluations: Evaluations, header: str) -> str:
    """C++ with which a NIC that waits leaves the model."""
    names = _names(header)
    found = counters.found((part.part.text for part in evaluations.parts), members(header))
    needed = evaluations.needed - set(ARRAY.findall(header))
    if not needed <= names.keys():
        return waiting.none(evaluations.slot.root)
    return waiting.written(evaluations.slot.root, names, needed, OUTPUT.findall(header), found)


def _known(evaluations: Evaluations, everywhere: Counter[str], header: str, case: Case) -> list[Known]:
    order = {name: rank for rank, name in enumerate(case.values)}
    reads, mentioned = evaluations.reads(case.moment), evaluations.mentions(case.moment)
    outputs, parts, needed = AWAKE.findall(header), evaluations.words, evaluations.needed_after(case.moment)
    known = []
    for name, kind in members(header).items():
        if name in mentioned:
            value, read = case.values.get(plain(name)), reads[name]
            kept = name in needed or name in outputs or everywhere[name] > parts[name]
            if value is not None or not read:
                known.append(Known(name, kind, value, read, kept))
    return sorted(known, key=lambda one: order.get(plain(one.name), len(order)))


def _local(texts: Sequence[str], known: Sequence[Known]) -> list[str]:
    names = {one.name for one in known}
    return [
        MENTION.sub(lambda mention: f"known_{mention[1]}" if mention[1] in names else mention[0], text)
        for text in texts
    ]


def _copy(name: str, root: str, local: Sequence[str], known: Sequence[Known]) -> str:
    begins = [f"    {one.kind} known_{one.name}" + (f" = {one.value}ULL;" if one.read else ";") for one in known]
    ends = [_store(one) for one in known if one.kept]
    inside = "\n".join([*begins, *(f"    {{\n{text}    }}" for text in local), *ends])
    compared = [Compared(one.name, one.kind, one.value or 0) for one in known if one.read]
    return f"""{comparison(f"{name}_now", root, compared)}

static __attribute__((noinline)) void {name}_copy({root}* __restrict vlSelf, uint64_t* core, bool given) {{
    auto& vlSelfRef = *vlSelf;
{inside}
}}

static inline bool {name}({root}* vlSelf) {{
    if (!{name}_now(*vlSelf)) return false;
    uint64_t core[{core.indices()["WORDS"]}];
    {name}_copy(vlSelf, core, false);
    return true;
}}
"""


def _store(one: Known) -> str:
    store = f"vlSelfRef.{one.name} = known_{one.name};"
    if not one.read:  # the member may have any value
        return f"    {store}"
    same = f"known_{one.name} == {one.value}ULL"
    return f"    if (!(__builtin_constant_p({same}) && {same})) {store}"
