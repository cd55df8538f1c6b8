"""Follow route words through a fabric as its switches would."""

from functools import cache


@cache
def cable_ends(cables):
    """(unit, port) -> the unit and port at the other end."""
    ends = {}
    for cable in cables:
        ends[cable.unit, cable.port] = (cable.other_unit, cable.other_port)
        ends[cable.other_unit, cable.other_port] = (cable.unit, cable.port)
    return ends


def walk(net, source, dest):
    """Follow the route word hop by hop: the NIC it ends at, what is left of the word, and the
    switches passed."""
    ends = cable_ends(net.cables)
    word = net.route(source, dest)
    unit, _ = ends[source, 0]
    passed = []
    while unit >= net.nics:
        passed.append(unit)
        assert word >> 31
        count, port = word >> 28 & 7, word >> 24 & 15
        word = word - (1 << 28) if count else word << 8 & 0xFFFFFFFF
        unit, _ = ends[unit, port]
    return unit, word, passed
