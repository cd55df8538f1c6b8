"""The answer of each experiment to the thesis's claims: the figure to put beside the number, or what
must show."""

from math import inf

from ..verdicts import ByFigure, ByShape, Figures, Way


def _factor(figures: Figures) -> float:
    slow = figures["ours.stage_us.nic_send"] + figures["ours.stage_us.nic_receive"]
    return _needed(slow, figures["clock.nic_us.133"])


def _needed(slow: float, fast: float) -> float:
    """The clock, over 33 MHz, at which the NICs' part of 4 bytes is 2 us: from 33 and 133 MHz, by a
    part that stays and one that scales."""
    work = (slow - fast) / (1 / 33 - 1 / 133)
    return work / (2 - (slow - work / 33)) / 33


def _nic_time(figures: Figures) -> float:
    return figures["thesis.stage_us.nic_send"] + figures["thesis.stage_us.nic_receive"]


def _without(figures: Figures, name: str) -> str:
    """The same without the firmware's straight paths, and that from a compiler that does less, if it was measured."""
    names = [f"general.thesis.{name}", f"compiler.1.thesis.{name}", f"compiler.0.thesis.{name}"]
    if not figures.keys() >= {*names}:
        return ""
    general, called, written = (figures[one] for one in names)
    return (
        f" By the general path (`quick=0`) {general:.1f} us; that with functions called (`optimize=1`) {called:.1f}, "
        f"not optimized {written:.1f}."
    )


def _latency(figures: Figures) -> str:
    """Return why 4 bytes are faster here."""
    why = f"In the thesis's order.{_without(figures, 'latency_us.4')}"
    try:
        rest = figures["thesis.latency_us.4"] - _nic_time(figures)
    except KeyError:
        return why
    return f"{why} All but the NICs' computation takes {rest:.1f} us here and 17 there."


def _share(figures: Figures) -> str:
    """Return why the NICs have less of the time here."""
    why = "The receive's page is unpinned before the call returns, which takes longer here than both NICs."
    found = figures.get("compiler.1.thesis.nic_share_percent")
    return why if found is None else f"{why} With that code of `optimize=1` {found:.1f}."


def _first(figures: Figures) -> str:
    """Return why the first version is faster here, with what cut-through and send buffers have to do with it, if that
    was measured."""
    why = "The same, with three transfers a page, of which two run beside the data."
    variants = ("rules.first.cut_off", "rules.first.buffer_16384", "compiler.1.first")
    names = [f"{one}.bandwidth_MBps.262144" for one in variants]
    if not figures.keys() >= {*names}:
        return why
    whole, buffered, called = (figures[one] for one in names)
    return (
        f"{why} At 256 KB with whole packets {whole:.1f} MB/s, with send buffers of 16 KB {buffered:.1f}, with "
        f"that code of `optimize=1` {called:.1f}."
    )


def _speed_needed(figures: Figures) -> str:
    """Return why a smaller factor is enough here, with the factor for firmware that takes longer, if it was
    measured."""
    why = "Follows from the NICs' time; what the bus takes does not scale."
    names = [f"{code}.ours.nic_us{clock}" for code in ("general", "compiler.1") for clock in ("", ".133")]
    if not figures.keys() >= {*names}:
        return why
    general, general_fast, called, called_fast = (figures[one] for one in names)
    return (
        f"{why} By the general path {_needed(general, general_fast):.1f} times, with `optimize=1` "
        f"{_needed(called, called_fast):.1f}."
    )


def _overhead(figures: Figures) -> str:
    """Return why a send costs the host less here, and what other rules and prices would do, if that was measured."""
    why = "One call, one burst of writes, one look at the channel."
    variants = ("rules.none", "rules.semaphore", "prices.single_writes", "prices.slow_bus", "prices.calls")
    names = [f"{one}.overhead_us.4" for one in variants]
    if not figures.keys() >= {*names}:
        return why
    blind, semaphore, single, bus, calls = (figures[one] for one in names)
    return why + (
        f" Without the look {blind:.2f} us, with a semaphore (`semaphore`) {semaphore:.2f}, with words written one "
        f"by one {single:.2f}, on a bus that begins accesses four times as slowly {bus:.2f}, with calls ten times as "
        f"dear {calls:.2f}."
    )


def _thin(figures: Figures) -> str:
    """Return why BIP's firmware is slower here than BIP was."""
    names = ("bip.nic_us", "bip.clock_us.133", "bip.fast_bus_us.4", "bip.latency_us.4")
    if not figures.keys() >= {*names}:
        return ""
    nics, fast, bus, whole = (figures[one] for one in names)
    return (
        f"The NICs' code takes {nics:.1f} us of it. With the library's prices {whole:.1f}; that on a bus twice as fast "
        f"{bus:.1f}, with NICs of 133 MHz {fast:.1f}."
    )


def _latency_crossover(figures: Figures) -> float:
    """Return where DMA begins to win by latency; infinity if it never does, in which case there is no
    figure."""
    figures["ways.dma_latency_us.4"]  # it was measured at all
    return figures.get("ways.crossover_bytes.latency.dma", inf)


def _crossovers(figures: Figures) -> str:
    latency = _latency_crossover(figures)
    where = "DMA never wins up to 4096 bytes" if latency == inf else f"DMA wins from {latency:.0f} bytes"
    return f"by latency {where}, by send overhead from {figures['ways.crossover_bytes.send_overhead.dma']:.0f} bytes"


def _staircase(figures: Figures) -> bool:
    small = [figures[f"thesis.send_overhead_us.{size}"] for size in (4, 256, 1024)]
    large = [figures[f"thesis.send_overhead_us.{size}"] for size in (2048, 8192, 16384, 32768)]
    return small == sorted(small) and large == sorted(large) and large[0] >= small[-1]


BY_CLAIM: dict[str, Way] = {
    # Constants.
    "s3_1.channels": ByFigure("design.channels", "The same ceiling; more ranks are refused at start."),
    "s3_1.sram": ByFigure("design.sram_bytes", "The `lanai41` preset."),
    "s3_1.send_buffer": ByFigure("design.send_bytes_per_channel", "With `send_buffer=4608`."),
    "s3_1.recv_buffer": ByFigure(
        "design.receive_bytes_per_channel", "By default no send buffers are kept, so receives have their room."
    ),
    "s3_1.buffer_total": ByFigure("design.buffer_bytes_per_channel", "With send buffers."),
    "s3_1.message_slots": ByFigure("design.message_slots", "The same."),
    "s3_1.send_ring": ByFigure(
        "design.sends_ahead_per_channel",
        "of an endpoint's 32 request slots; the host queues more.",
    ),
    "s3_5.page_entries": ByFigure("design.page_entries", "16384 entries of four pages."),
    "s3_5.max_autonomous_message": ByFigure("design.autonomous_bytes", "Page-table entries for this much are there."),
    "s4_1.pages_per_entry": ByFigure("design.pages_per_entry", "The same."),
    "s4_1.pages_per_entry_first": ByFigure("design.pages_per_entry_first", "The switch `pages_per_entry=1`."),
    "s4_1.dma_per_page_first": ByFigure("version.first.host_dmas_per_page", "Counted by the NIC's HDMA_DONE register."),
    "s4_1.page_size": ByFigure("design.page_bytes", "The same."),
    "s4_2.send_threshold": ByFigure(
        "design.pio_threshold", "Taken over; the crossover of our own send overhead lies lower, see the PIO figures."
    ),
    "s2_3_2.dma_engines": ByFigure("design.dma_engines", "The same three."),
    "s4.np_clock": ByFigure("design.np_mhz", "The `lanai41` preset."),
    "s4.repetitions": ByFigure("design.repetitions", "Simulated time has no noise."),
    "s4_3.bip_threshold": ByFigure("design.bip_short", "The option `short` of `bip`."),
    "s4_3.memory_reference_share": ByFigure("design.memory_share_percent", "Counted in the program that is run."),
    "s2_3_1.myrinet_rate": ByFigure("design.link_gbitps", "The `lanai41` preset."),
    # Fitted.
    "s3_6.send_overhead_crossover": ByFigure(
        "ways.crossover_bytes.send_overhead.dma",
        "The prices of pinning and unpinning a page are fitted on this row, and on no other.",
        "ways.crossover_bytes.send_overhead.dma_kept",
    ),
    # Measured.
    "s4_3.latency_4B": ByFigure(
        "thesis.latency_us.4",
        _latency,
        "ours.latency_us.4",
        experiment="compiler",
    ),
    "s4_3.nic_share": ByFigure(
        "thesis.nic_share_percent",
        _share,
        "ours.nic_share_percent",
        experiment="compiler",
    ),
    "s4_3.nic_time_derived": ByFigure(
        _nic_time,
        lambda f: (
            "Our firmware has a straight path for the common case, of which the compiler makes one function."
            + _without(f, "nic_us")
            + " The thesis does not name its compiler: [table](../design/mpi-np.md#the-same-protocol-in-slower-code)."
        ),
        experiment="compiler",
    ),
    "s4_1.peak_bandwidth": ByFigure(
        "version.second.bandwidth_MBps.peak",
        "Pinning and unpinning set the pace; their price is fitted on figure 3.4 alone (`--host thesis`). With "
        "pages kept pinned the host bus does.",
        "ours.bandwidth_MBps.peak",
    ),
    "s4_1.peak_bandwidth_first": ByFigure(
        "version.first.bandwidth_MBps.peak",
        _first,
        experiment="compiler",
    ),
    "s4_1.batching_gain": ByFigure(
        lambda f: f["version.second.bandwidth_MBps.peak"] / f["version.first.bandwidth_MBps.peak"],
        "Less to gain, since the extra transfers run beside others here.",
    ),
    "s4_3.slowdown_one_dma": ByFigure(
        lambda f: 100 * (f["np.np_slowdown.one_dma"] - 1), "The LBUS is arbitrated as the thesis says."
    ),
    "s4_3.stall_two_dma": ByFigure("np.np_speed.two_dma", "Both edges taken: not one instruction."),
    "s3_6.pio_best_multiple": ByFigure(
        "ways.pio_period_bytes",
        "Combined writes end at cache lines; the saw-tooth shows in the host's overhead, and the request's 16 "
        "bytes shift it.",
    ),
    "s5_1.send_overhead_related": ByFigure(
        "thesis.send_overhead_us.4",
        _overhead,
        "ours.send_overhead_us.4",
    ),
    "s4_4.r4300_nic_time": ByFigure(
        "clock.nic_us.133", "The gateware at 133 MHz, at the same bus and link, with the project's defaults."
    ),
    "s5_1.np_speed_needed": ByFigure(
        _factor,
        _speed_needed,
        experiment="compiler",
    ),
    "s5_1.bip_latency": ByFigure("bip.alone_us.4", _thin, experiment="thin"),
    "s5_1.bip_network_layer": ByFigure("bip.nic_us", "The NICs' part; the thesis guesses."),
    # Shapes.
    "s3_6.latency_crossover_lower": ByShape(
        lambda f: _latency_crossover(f) < f["ways.crossover_bytes.send_overhead.dma"],
        _crossovers,
        "By PIO the body is on the NIC when the request is; by DMA the NIC first fetches it.",
    ),
    "s3_6.recv_always_dma": ByShape(
        lambda f: f["ways.crossover_bytes.receive_overhead.dma"] <= 4,
        "DMA costs less from {f[ways.crossover_bytes.receive_overhead.dma]:.0f} bytes on",
        "Reading a few words from the NIC costs less than pinning a page. What it takes to find out that they are "
        "there is not in ours.",
    ),
    "s4_1.drop_beyond_buffer": ByShape(
        lambda f: f["rules.buffer.on.bandwidth_MBps.16384"] < 0.99 * f["rules.buffer.on.bandwidth_MBps.4096"],
        "{f[rules.buffer.on.bandwidth_MBps.4096]:.1f} MB/s for 4 KB, {f[rules.buffer.on.bandwidth_MBps.16384]:.1f} for "
        "16, {f[rules.buffer.on.bandwidth_MBps.65536]:.1f} for 64 with `send_buffer=16384`, half for sending; "
        "{f[rules.buffer.off.bandwidth_MBps.4096]:.1f}, {f[rules.buffer.off.bandwidth_MBps.16384]:.1f}, "
        "{f[rules.buffer.off.bandwidth_MBps.65536]:.1f} without",
        "Pages are cut where the buffer ends.",
    ),
    "s4_1.partial_batch_waste": ByShape(
        lambda f: f["batch.us_of_page_that_begins_an_entry"] > f["batch.us_of_other_page"],
        "a page that begins an entry costs {f[batch.us_of_page_that_begins_an_entry]:.2f} us, another "
        "{f[batch.us_of_other_page]:.2f} us",
        "The entry is fetched beside the data, so that little of it shows.",
    ),
    "s4_1.pin_limits_bandwidth": ByShape(
        lambda f: (
            f["version.kept.bandwidth_MBps.peak"] > f["version.second.bandwidth_MBps.peak"]
            and f["version.unmarked.bandwidth_MBps.peak"] > f["version.second.bandwidth_MBps.peak"]
        ),
        "{f[version.second.bandwidth_MBps.peak]:.1f} MB/s; without marks "
        "{f[version.unmarked.bandwidth_MBps.peak]:.1f}, with pages kept pinned "
        "{f[version.kept.bandwidth_MBps.peak]:.1f}",
        "Marks run beside the data, so they cost little; pinning does not.",
    ),
    "s4_2.overhead_shape": ByShape(
        _staircase,
        "4 B {f[thesis.send_overhead_us.4]:.1f} us, 1024 B {f[thesis.send_overhead_us.1024]:.1f}, 2 KB "
        "{f[thesis.send_overhead_us.2048]:.1f}, 8 KB "
        "{f[thesis.send_overhead_us.8192]:.1f}, 32 KB {f[thesis.send_overhead_us.32768]:.1f}",
        "Up to the threshold it follows the words that are written, beyond it the pages that are pinned. That the two "
        "meet at 1024 bytes is fitted.",
    ),
    "s4_3.latency_high": ByShape(
        lambda f: f["thesis.latency_us.4"] > f["bip.latency_us.4"],
        "{f[thesis.latency_us.4]:.1f} us, `bip` {f[bip.latency_us.4]:.1f} us; with pages kept pinned "
        "{f[ours.latency_us.4]:.1f} us",
        "Unpinning makes the difference, not the NIC.",
    ),
    "s4_2.overhead_vs_bip": ByShape(
        lambda f: (
            f["bip.send_overhead_us.4"] < f["thesis.send_overhead_us.4"]
            and f["bip.lost_us.send.65536"] > f["thesis.lost_us.send.65536"]
        ),
        "4 B {f[thesis.send_overhead_us.4]:.2f} us, `bip` {f[bip.send_overhead_us.4]:.2f} us; 64 KB take "
        "{f[thesis.lost_us.send.65536]:.0f} us from a program that computes, `bip` "
        "{f[bip.lost_us.send.65536]:.0f} us",
        "A rendezvous of hosts waits for calls. Small sends cost either host one burst; ours looks at the channel too.",
    ),
    "s4_2.overhead_reason": ByShape(
        lambda f: f["rules.none.overhead_us.4"] <= f["bip.send_overhead_us.4"] < f["rules.empty.overhead_us.4"],
        "4 B {f[rules.empty.overhead_us.4]:.2f} us, without the look at the channel "
        "{f[rules.none.overhead_us.4]:.2f}, `bip` {f[bip.send_overhead_us.4]:.2f}",
        "Something else makes the difference.",
    ),
    "s5_1.tradeoff": ByShape(
        lambda f: (
            f["bip.latency_us.4"] < f["thesis.latency_us.4"]
            and f["bip.lost_us.send.65536"] + f["bip.lost_us.receive.65536"]
            > f["thesis.lost_us.send.65536"] + f["thesis.lost_us.receive.65536"]
        ),
        "`bip` is ahead by latency, MPI-NP by what 64 KB take from programs that compute, at each end: "
        "{f[thesis.lost_us.send.65536]:.0f} and {f[thesis.lost_us.receive.65536]:.0f} us, `bip` "
        "{f[bip.lost_us.send.65536]:.0f} and {f[bip.lost_us.receive.65536]:.0f}",
        "Collectives are the library's on both.",
    ),
    "s4_4.cache_unblocks": ByShape(
        lambda f: f["cache.saved_percent.4"] > 10,
        "a 16 KB cache saves {f[cache.saved_percent.4]:.1f} % of the processors' time for 4 bytes, "
        "{f[cache.saved_percent.4096]:.1f} % for a page",
        "It does unblock the processor where DMA is busy, but a small message meets hardly any DMA.",
    ),
    "s4_4.gains_more": ByShape(
        lambda f: (
            f["clock.latency_us.nic.33"] / f["clock.latency_us.nic.133"] > f["bip.clock_us.33"] / f["bip.clock_us.133"]
        ),
        "33 to 133 MHz: {f[clock.latency_us.nic.33]:.1f} to {f[clock.latency_us.nic.133]:.1f} us, `bip` "
        "{f[bip.clock_us.33]:.1f} to {f[bip.clock_us.133]:.1f} us",
        "Defaults. The straight path of MPI-NP's firmware is about as long as a thin firmware's turn.",
    ),
    "s2_4_2.trapeze_bandwidth": ByShape(
        lambda f: (
            f["cut.on.latency_us.4096"] < f["cut.off.latency_us.4096"]
            and f["cut.on.bandwidth_MBps.262144"] > f["cut.off.bandwidth_MBps.262144"]
        ),
        "a page in {f[cut.on.latency_us.4096]:.1f} us passed on as it comes, in "
        "{f[cut.off.latency_us.4096]:.1f} us as a whole packet; 256 KB at "
        "{f[cut.on.bandwidth_MBps.262144]:.1f} and {f[cut.off.bandwidth_MBps.262144]:.1f} MB/s, of a bus of 132",
        "The same technique on our NIC: host DMA, send DMA and receive DMA work on one packet at once; Trapeze "
        "itself is not here.",
    ),
    "s3_1.no_cross_channel_blocking": ByShape(
        lambda f: f["channels.latency_us.beside_a_full_one"] < 1.25 * f["ours.latency_us.4"],
        "4 bytes take {f[channels.latency_us.beside_a_full_one]:.1f} us beside a full channel, "
        "{f[ours.latency_us.4]:.1f} us without",
        "A channel without credit leaves the wire, the stages and the request slots of others alone.",
    ),
    "s3_4.host_table_infeasible": ByShape(
        lambda f: f["table.host.latency_us.0"] > f["table.nic.latency_us.0"],
        "{f[table.nic.latency_us.0]:.1f} us with the table on the NIC, {f[table.host.latency_us.0]:.1f} us "
        "with it on the host",
        "The host has to ask the NIC for each message and to fetch its body.",
    ),
    "s3_4.sequential_search": ByShape(
        lambda f: f["search.latency_us.0"] < f["search.latency_us.8"] < f["search.latency_us.32"],
        "{f[search.latency_us.0]:.1f} us alone, {f[search.latency_us.8]:.1f} behind 8 posted receives, "
        "{f[search.latency_us.32]:.1f} behind 32",
        "One after the other; a bare list search costs seven instructions an envelope (`lanai dev bench core`).",
    ),
    "s3_7.small_path_needs_empty_ring": ByShape(
        lambda f: f["rules.empty.send_overhead_us.2"] > 1.5 * f["rules.empty.send_overhead_us.1"],
        "with `pio_when_empty` 1st {f[rules.empty.send_overhead_us.1]:.2f} us, 2nd "
        "{f[rules.empty.send_overhead_us.2]:.2f}; without it {f[busy.send_overhead_us.1]:.2f} and "
        "{f[busy.send_overhead_us.2]:.2f}. The rule only costs here",
        "The host would have to find out whether the channel is busy.",
    ),
    "s1_2.special_sends_on_nic": ByShape(
        lambda f: f["special.host_us.synchronous"] < f["special.host_us.synchronous_by_hosts"],
        "a page: {f[special.host_us.synchronous]:.2f} us of host work by the NICs, "
        "{f[special.host_us.synchronous_by_hosts]:.2f} us by the hosts",
        "The answer that says so never reaches a host as a message.",
    ),
    "abstract.overlap": ByShape(
        lambda f: f["overlap.hidden_percent.receive.nic"] > 90 and f["overlap.hidden_percent.send.nic"] > 90,
        "of a computation as long as a 64 KB transfer {f[overlap.hidden_percent.send.nic]:.0f} % are hidden "
        "while sending and "
        "{f[overlap.hidden_percent.receive.nic]:.0f} % while receiving",
        "With the host matching a receiver hides next to nothing.",
    ),
}


def ways() -> dict[str, Way]:
    return {f"mpi-np.{name}": way for name, way in BY_CLAIM.items()}


WHY_NOT = {
    "s4.host_clock": "Hosts are modelled by what their work costs (`HostConfig`), not by a clock.",
    "s4_3.np_slower_than_host": "Hosts are modelled by what their work costs (`HostConfig`), not by a clock.",
    "s4.host_memory": "Simulated hosts have as much memory as the programs ask for.",
    "s5_2.collective_calls": "Collectives are not on the NIC yet.",
}
CONTEXT_WHY_NOT = "About other systems or the state of the art in 1999: nothing that this project can measure."
