"""The register, event and counters of the block."""

from lanai_hdl.csr.declare import Access, Behavior, Counter, EventBit, Register, RegisterBlock

TALLY = RegisterBlock(
    "Tally",
    registers=(Register("TALLY_LONGEST", 0x3E0, Access.RO, Behavior.VIEW, "Bytes of the longest piece sent so far."),),
    events=(EventBit("TALLY_RECORD", 12, "a piece was longer than all before it"),),
    counters=(
        Counter("TALLY_SHORT", 0x3E4, "piece of a packet sent, of at most `limit` bytes"),
        Counter("TALLY_LONG", 0x3E8, "piece of a packet sent, of more bytes"),
    ),
)
