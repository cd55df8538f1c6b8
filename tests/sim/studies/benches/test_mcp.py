"""The switches of the firmware on the gateware: cut-through shortens what is long, recovery costs
what is short."""

from lanai_sim.studies.benches import mcp


def test_switches():
    figures = mcp.measure((4, 4096, 16384), 1)
    whole, cut = (figures[f"mcp.{way}.one_way_us.4096"] for way in ("store_and_forward", "default"))
    assert cut < 0.65 * whole  # NP-51: three stages at once
    assert figures["mcp.default.one_way_us.16384"] < 0.85 * figures["mcp.store_and_forward.one_way_us.16384"]
    assert figures["mcp.default.cycles.4"] < figures["mcp.recovery.cycles.4"] < 4 * figures["mcp.default.cycles.4"]


def test_restoring_a_channel_costs_what_it_moves():
    """docs/design/np-channel-swap.md, on the gateware: a message goes to host memory and another
    comes back."""
    figures = mcp.pools((4, 4096))
    assert 0 < figures["mcp.rooms.swap_us.4"] < figures["mcp.rooms.swap_us.4096"] < 500
