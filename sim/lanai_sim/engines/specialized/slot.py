"""The statements that a slot evaluates, read from Verilator's C++."""

import re
from dataclasses import dataclass

# How Verilator begins a function.
PROLOG = re.compile(
    r"    VL_DEBUG_IF\([^\n]*\n"
    r"    \w+__Syms\* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;\n"
    r"    auto& vlSelfRef = std::ref\(\*vlSelf\)\.get\(\);\n"
)
BODY = re.compile(r"    // Body\n")
# Other ways to the members, or out of order.
OTHER = re.compile(r"\b(vlSelf|vlSymsp|goto|return)\b")
# Statements that some triggers ask for: a bit for each.
CHOICE = re.compile(r"    if \(\((\d+)ULL & vlSelfRef\.__VnbaTriggered\[0U\]\)\) \{\n(.*?)^    \}\n", re.M | re.S)
CALL = re.compile(r"\s*(\w+)\(vlSelf\);\n")
# What Verilator evaluates before that, if inputs or other wires ask for it.
MORE = re.compile(r"___eval_(ico|act|inact|obs|react)\(|___eval_phase__(?!act|nba|stl)")
OWN = "clk"  # the model's clock
# Where a clock's rise becomes a trigger.
RISE = r"vlSelfRef\.{0}\)\s*& \(~ \(IData\)\(vlSelfRef\.__Vtrigprevexpr___TOP__{0}__0\)\)\)(?:\s*<< (\d+)U)?"


@dataclass(frozen=True)
class Part:
    """Statements with variables of their own, which know the model as `vlSelfRef` alone. They are evaluated
    when one of the clocks rises whose bits are set in `triggers`. `call`: the same, as `eval_nba` has it."""

    text: str
    triggers: int
    call: str = ""


@dataclass(frozen=True)
class Slot:
    """The parts that a model of class `root` evaluates after clocks have risen, in order. There are none
    if the source is not as Verilator usually writes it. `clocks`: the bits of all clocks that may rise."""

    root: str
    parts: tuple[Part, ...] = ()
    clocks: tuple[int, ...] = ()


def slot_of(source: str) -> Slot:
    """Read the slot of Verilator's C++, which has all functions of a slot."""
    head = re.search(r"^void (\w+)___eval_nba\(\w+\* vlSelf\) \{\n", source, re.M)
    if head is None:
        raise ValueError("the source has no function `eval_nba`")
    at = _after(source, head.end(), PROLOG, BODY)
    if not trigger(source, OWN) or at is None or MORE.search(source):
        return Slot(head[1])
    parts, clocks = [], set[int]()
    while choice := CHOICE.match(source, at):
        at, triggers, text = choice.end(), int(choice[1]), _called(source, choice[2])
        if text is None or OTHER.search(text):
            return Slot(head[1])
        parts.append(Part(text, triggers, choice[2]))
        clocks |= {1 << bit for bit in range(triggers.bit_length()) if triggers >> bit & 1}
    return Slot(head[1], tuple(parts), tuple(sorted(clocks))) if source.startswith("}\n", at) else Slot(head[1])


def trigger(source: str, clock: str) -> int:
    """The bit of `__VnbaTriggered` that the clock's rise sets; 0 if there is none."""
    rise = re.search(RISE.format(clock), source)
    return 1 << int(rise[1] or 0) if rise else 0


def _after(source: str, at: int, *what: re.Pattern[str]) -> int | None:
    for pattern in what:
        found = pattern.match(source, at)
        if found is None:
            return None
        at = found.end()
    return at


def _called(source: str, statements: str) -> str | None:
    """`statements`; if all they do is to call a function, its statements."""
    call = CALL.fullmatch(statements)
    if call is None:
        return statements
    head = re.search(rf"^void {call[1]}\(\w+\* vlSelf\) \{{\n", source, re.M)
    body = head and _after(source, head.end(), PROLOG)
    return source[body : source.index("\n}\n", body) + 1] if body else None
