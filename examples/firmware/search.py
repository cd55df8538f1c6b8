"""Search a list of envelopes on (context, tag) with wildcards, as matching does for every message
that arrives.

    lanai fw run examples/firmware/search.py --on python|native|iss|rtl

Each envelope keeps `key`, its context and the low half of its tag in one word, so that one load and
one compare under a mask turn down nearly every envelope; a masked tag bit is a wildcard. The list
is a ring through an anchor that is made to match before the search, so that the loop needs no test
for the end.
"""

from lanai_firmware.lang import Array, Const, Global, Ptr, Struct, address_of, firmware, null, u32

ENVELOPES: Const[u32] = u32(64)
EXACT: Const[u32] = u32(0xFFFFFFFF)  # no wildcard
ANY_TAG: Const[u32] = u32(0)  # every tag will do


class Envelope(Struct):
    next: Ptr["Envelope"]
    key: u32
    tag: u32
    source: u32


class Ring(Struct):
    anchor: Envelope
    last: Ptr[Envelope]


ring: Global[Ring]
envelopes: Global[Array[Envelope, 64]]


@firmware
def key_of(context: u32, tag: u32) -> u32:
    return context << 16 | tag & 0xFFFF


@firmware
def append(envelope: Ptr[Envelope], source: u32, context: u32, tag: u32) -> None:
    envelope.key = key_of(context, tag)
    envelope.tag = tag
    envelope.source = source
    envelope.next = address_of(ring.anchor)
    ring.last.next = envelope
    ring.last = envelope


@firmware(inline=False)
def search(context: u32, tag: u32, mask: u32) -> Ptr[Envelope]:
    """The oldest envelope of `context` whose tag equals `tag` where `mask` has ones; null if there
    is none."""
    anchor = address_of(ring.anchor)
    key = key_of(context, tag)
    care = mask & 0xFFFF | 0xFFFF0000
    anchor.key = key
    anchor.tag = tag
    node = anchor
    while True:
        node = node.next
        if (node.key ^ key) & care == 0 and (node.tag ^ tag) & mask == 0:
            return node if node != anchor else null(Envelope)


@firmware
def main() -> u32:
    """Searches that find and that miss; the sources found, folded into one number."""
    ring.anchor.next = address_of(ring.anchor)
    ring.last = address_of(ring.anchor)
    for i in range(ENVELOPES):
        append(address_of(envelopes[i]), i, i & 3, i * 65537)
    total = u32(0)
    for i in range(u32(8)):
        exact = search(i & 3, i * 7 * 65537, EXACT)
        total = total * 31 + (exact.source if exact else u32(99))
        wild = search(i, 0, ANY_TAG)
        total = total * 31 + (wild.source if wild else u32(99))
    return total
