"""The registers, event and counter of the matching block."""

from lanai_hdl.csr.declare import Access, Behavior, Counter, EventBit, Register, RegisterBlock

MATCHING = RegisterBlock(
    "Matching",
    registers=(
        Register("MATCH_MASK", 0x300, Access.BOTH, Behavior.STORAGE, "Bits of a tag that are compared."),
        Register("MATCH_TAG", 0x304, Access.BOTH, Behavior.STORAGE, "The tag that is looked for."),
        Register("MATCH_PROBE", 0x308, Access.BOTH, Behavior.COMMAND, "A write compares a tag with MATCH_TAG."),
        Register("MATCH_LAST", 0x30C, Access.RO, Behavior.VIEW, "The tag that matched last."),
    ),
    events=(EventBit("MATCHED", 12, "a tag written to MATCH_PROBE matched"),),
    counters=(Counter("MATCHES", 0x310, "tag that matched"),),
)
