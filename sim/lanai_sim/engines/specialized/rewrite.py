"""Copies of the code of Verilator's evaluations, each for registers with known values.

In a copy, members with known values are local variables that begin as constants, so that the compiler
follows them whatever is stored in between. What has changed is stored at the end. Members that the
evaluation assigns before anything reads them are local variables too. They are stored at the end if
something else may read them, and not at all otherwise.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from .case import Case, Moment
from .comparison import SUPPORT, Compared, comparison
from .reads import MENTION, Evaluations
from .slot import slot_of

LEAST = 100_000  # characters; a shorter evaluation has too little to leave out
MEMBER = re.compile(r"^\s+(CData|SData|IData|QData)/\*\d+:0\*/ (\w+);", re.M)
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
    everywhere, written = Counter(re.findall(r"\w+", source)), [SUPPORT]
    for moment in Moment:
        texts = evaluations.texts(moment)
        names: list[str] = []
        for case in cases if sum(map(len, texts)) >= least else ():
            known = _known(evaluations, everywhere, header, case) if case.moment == moment else []
            if any(one.read for one in known):
                names.append(f"{function(slot.root, moment)}_{len(names)}")
                written.append(_copy(names[-1], slot.root, texts, known))
        either = " || ".join(f"{name}(vlSelf)" for name in names) or "false"
        written.append(f"bool {function(slot.root, moment)}({slot.root}* vlSelf) {{ return {either}; }}\n")
    return "\n".join(written)


def _known(evaluations: Evaluations, everywhere: Counter[str], header: str, case: Case) -> list[Known]:
    order = {name: rank for rank, name in enumerate(case.values)}
    reads, mentioned = evaluations.reads(case.moment), evaluations.mentions(case.moment)
    outputs, parts = AWAKE.findall(header), evaluations.words
    known = []
    for name, kind in members(header).items():
        if name in mentioned:
            value, read = case.values.get(plain(name)), reads[name]
            kept = name in evaluations.needed or name in outputs or everywhere[name] > parts[name]
            if value is not None or not read:
                known.append(Known(name, kind, value, read, kept))
    return sorted(known, key=lambda one: order.get(plain(one.name), len(order)))


def _copy(name: str, root: str, texts: Sequence[str], known: Sequence[Known]) -> str:
    names = {one.name for one in known}
    local = [
        MENTION.sub(lambda mention: f"known_{mention[1]}" if mention[1] in names else mention[0], text)
        for text in texts
    ]
    begins = [f"    {one.kind} known_{one.name}" + (f" = {one.value}ULL;" if one.read else ";") for one in known]
    ends = [_store(one) for one in known if one.kept]
    inside = "\n".join([*begins, *(f"    {{\n{text}    }}" for text in local), *ends])
    compared = [Compared(one.name, one.kind, one.value or 0) for one in known if one.read]
    return f"""{comparison(f"{name}_now", root, compared)}

static __attribute__((noinline)) void {name}_copy({root}* __restrict vlSelf) {{
    auto& vlSelfRef = *vlSelf;
{inside}
}}

static inline bool {name}({root}* vlSelf) {{
    if (!{name}_now(*vlSelf)) return false;
    {name}_copy(vlSelf);
    return true;
}}
"""


def _store(one: Known) -> str:
    store = f"vlSelfRef.{one.name} = known_{one.name};"
    if not one.read:  # the member may have any value
        return f"    {store}"
    same = f"known_{one.name} == {one.value}ULL"
    return f"    if (!(__builtin_constant_p({same}) && {same})) {store}"
