"""Units of parameters, and the meanings of those whose class says nothing beside their declaration.

Names are as `listing` has them; a name without a dot in front of it counts in every table.
"""

from collections.abc import Mapping

PS, US, BYTES, SLOTS, CLOCKS, PAGES = "ps", "us", "bytes", "slots", "bus clocks", "pages"

UNITS: Mapping[str, str] = {
    **{f"nic.{name}": "kHz" for name in ("slot_khz", "host_bus_khz")},
    "nic.link_kbytes": "kB/s",
    **{f"nic.{name}": BYTES for name in ("sram_size", "max_burst", "pio_line")},
    **{f"nic.{name}": SLOTS for name in ("link_latency", "blocked_slots", "remote.stream_slots")},
    "nic.rx_fifo": "flits",
    "nic.host_bus_bits": "bits",
    **{
        f"nic.{name}": CLOCKS
        for name in ("read_setup", "write_setup", "pio_read_setup", "pio_write_setup", "latency_timer", "pio_turn")
    },
    **{f"nic.remote.{name}": BYTES for name in ("payload", "stream_bytes")},
    **{f"ideal.{name}": PS for name in ("latency", "byte_time")},
    **{f"firmware.{name}": BYTES for name in ("inline_bytes", "eager_limit", "unpaid_limit")},
    "firmware.retry_cycles": "cycles",
    **{f"ccu.{name}": BYTES for name in ("packet", "datagram", "system_buffer")},
    **{f"ccu.{name}": US for name in ("ack_timer", "timeout", "work", "present", "away")},
    **{f"mbcf.{name}": BYTES for name in ("ask_from", "alltoall", "direct", "first", "inline", "record")},
    **{f"mbcf.{name}": PAGES for name in ("fifo_pages", "request_pages")},
    "mbcf.timeout": US,
    **{f"sci.{name}": BYTES for name in ("eager", "chunk", "min_block", "longest_get")},
    **{f"t3d.{name}": BYTES for name in ("short", "private", "alignment")},
    "t3d.reply_pages": PAGES,
    "host.pio_threshold": BYTES,
    "host.pinned_cache_pages": PAGES,
    "host.pages_per_entry": PAGES,
}

WITHOUT_UNIT = ("cpu_scale", "ask_first", "host_matching", "pio_when_empty", "semaphore", "queue")
NO_UNIT = frozenset(f"host.{name}" for name in WITHOUT_UNIT)  # others: ps

MEANINGS: Mapping[str, str] = {
    "nic.sram_size": "the NIC's memory",
    "nic.link_kbytes": "one direction of a link",
    "nic.rx_fifo": "the link receiver's FIFO",
    "nic.hdma_queue": "starts that the host DMA engine holds",
    "nic.send_queue": "starts that the send DMA engine holds",
    "nic.recv_queue": "packets that the receive DMA engine holds",
    "nic.completions": "ends that each engine holds until firmware has read them",
    "nic.host_bus_khz": "the host bus",
    "nic.host_bus_bits": "width of the host bus",
    "nic.pio_read_setup": "until a PIO read's data, beyond the NIC's own time",
    "nic.pio_write_setup": "before a PIO write's first word of each line",
    "nic.write_setup": "before a write burst's first word: arbitration, address",
    "host.unpin_page": "one page unlocked",
    "nic.blocked_action": "the fate of a packet that has waited too long",
    "firmware.any_receives": "receives from any source that an endpoint may have posted",
    "firmware.buffers": "buffers for packets that come in",
    "firmware.stages": "buffers for packets that go out",
    "firmware.eager_limit": "longest message that is sent without being asked for",
    "firmware.unpaid_limit": "longest message that is sent without credit",
    "firmware.ack_slots": "slots of acknowledgements that the NIC writes for the host",
}
