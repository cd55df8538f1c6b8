"""The BIP firmware's checks and rules of order, each with the test that notices when it is gone."""

from functools import partial

from lanai_firmware.nic import window
from lanai_firmware.programs.bip import common, receiving, reporting, sending

from ..mutants import Mutant
from . import test_bip, test_refusals

refused = {
    what: partial(test_refusals.test_a_request_for_what_there_is_not_is_refused, what)
    for what in test_refusals.REQUESTS
}
longs = {
    what: partial(test_refusals.test_a_long_send_that_there_cannot_be_is_refused, what) for what in test_refusals.LONGS
}
landings = {
    what: partial(test_refusals.test_a_landing_that_there_cannot_be_is_a_fault, what) for what in test_refusals.LANDINGS
}

CHECKS = {
    Mutant(sending.send_short, "node >= nic.config.nodes", "False"): refused["the node behind the last"],
    Mutant(sending.send_short, "what >> 16", "what >> 16 & 255"): refused["a node whose number ends like that of one"],
    Mutant(sending.send_short, "size == 0", "False"): refused["no bytes"],
    Mutant(sending.send_short, "size & 3 != 0", "False"): refused["bytes that are not words"],
    Mutant(sending.send_short, "size > SHORT", "False"): refused["more bytes than a request has"],
    Mutant(sending.begin_long, "nic.node >= nic.config.nodes", "False"): longs["the node behind the last"],
    Mutant(sending.begin_long, "length == 0", "False"): longs["no bytes"],
    Mutant(sending.begin_long, "length > SPACE - nic.at", "False"): longs["more bytes than it has pages"],
    Mutant(sending.begin_long, "length > SPACE - nic.at", "length > SPACE"): longs[
        "more bytes than its pages hold from there on"
    ],
    Mutant(sending.begin_long, "nic.at >= PAGE", "False"): longs["a first byte that is not in the first page"],
    Mutant(sending.begin_long, "nic.packet & 3 == 0", "True"): longs["packets that are not words"],
    Mutant(sending.begin_long, "nic.packet <= PART", "True"): longs["packets that are too long"],
    Mutant(sending.fetch_run, "is_own(page)", "True"): partial(
        test_refusals.test_a_page_that_is_not_the_ranks_own_is_not_read, test_refusals.FOREIGN
    ),
    Mutant(receiving.store_run, "is_own(page)", "True"): partial(
        test_refusals.test_a_page_that_is_not_the_ranks_own_is_not_written, test_refusals.FOREIGN
    ),
    Mutant(
        reporting.begin, "is_base(base)", "True"
    ): test_refusals.test_memory_that_is_not_the_ranks_own_is_not_its_base,
    Mutant(
        common.is_base, "RINGS_AT + (nic.config.nodes << CHANNEL_SHIFT)", "4"
    ): test_refusals.test_no_ring_reaches_behind_the_window,
    Mutant(
        window.holds, "length - 1 <= ~address & block - 1", "True"
    ): test_refusals.test_no_ring_reaches_behind_the_window,
    Mutant(window.holds, "outside == 0", "True"): test_refusals.test_memory_that_is_not_the_ranks_own_is_not_its_base,
    Mutant(receiving.open_landing, "length > SPACE - first", "False"): landings["more bytes than it has pages"],
    Mutant(receiving.open_landing, "length > SPACE - first", "length > SPACE"): landings[
        "more bytes than its pages hold from there on"
    ],
    Mutant(receiving.open_landing, "first >= PAGE", "False"): landings["a first byte that is not in the first page"],
    Mutant(receiving.store_part, "length > arrival.left", "False"): landings["fewer bytes than come"],
    Mutant(
        receiving.open_landing, "landing.number != number", "False"
    ): test_refusals.test_a_part_that_nobody_waits_for_is_a_fault,
    Mutant(
        receiving.receive, "verdict == VALID", "True"
    ): test_refusals.test_a_damaged_packet_is_a_fault_and_so_is_the_gap_behind_it,
    Mutant(receiving.receive, "size & 3 == 0", "True"): test_refusals.test_a_packet_that_is_not_whole_words_is_a_fault,
    Mutant(
        receiving.take, "size != length", "False"
    ): test_refusals.test_a_packet_of_another_size_than_it_says_is_a_fault,
    Mutant(
        receiving.take, "size != HEAD + (length + 3 & ~3)", "False"
    ): test_refusals.test_a_packet_of_another_size_than_it_says_is_a_fault,
    Mutant(receiving.take, "length == 0", "False"): test_refusals.test_a_packet_without_bytes_is_a_fault,
    Mutant(receiving.take, "size > SHORT", "False"): test_refusals.test_a_packet_that_is_too_long_is_a_fault,
    Mutant(receiving.take, "mark & MARKED == 0", "False"): test_refusals.test_a_packet_without_a_mark_is_a_fault,
    Mutant(
        receiving.take, "node >= nic.config.nodes", "False"
    ): test_refusals.test_a_packet_of_a_node_that_there_is_not_is_a_fault,
    Mutant(
        receiving.take, "(nic.got[node] ^ number) & NUMBER == 0", "True"
    ): test_refusals.test_a_packet_that_is_not_the_next_one_is_a_fault,
    Mutant(receiving.receive, "nic.base == 0", "False"): test_bip.test_packets_wait_for_a_rank_that_has_not_begun,
    **{
        Mutant(
            receiving.take, "gone()", "False", number
        ): test_bip.test_a_rank_that_has_ended_gets_nothing_and_its_memory_is_released
        for number in range(2)
    },
    Mutant(
        reporting.begin, "nic.base == 0", "True"
    ): test_bip.test_a_rank_that_has_ended_gets_nothing_and_its_memory_is_released,
    Mutant(
        reporting.note_failures, "failed == nic.shown_after", "False"
    ): test_bip.test_memory_that_cannot_be_written_is_tried_once,
    Mutant(reporting.note_failures, "failed - packet.before - 1 < packet.fetched - packet.before", "False"): partial(
        test_refusals.test_a_page_that_is_not_the_ranks_own_is_not_read, test_refusals.NOWHERE
    ),
}
ORDER = {
    Mutant(
        sending.launch, "host_dma.reached(packet.fetched)", "True"
    ): test_bip.test_a_part_leaves_when_its_bytes_are_there,
    Mutant(
        sending.fetch, "send_dma.reached(packet.gone)", "True"
    ): test_bip.test_a_part_on_its_way_out_is_not_overwritten,
    Mutant(
        sending.fetch, "nic.begun - nic.launched == BUFFERS", "False"
    ): test_bip.test_no_more_parts_are_fetched_than_there_are_buffers,
    Mutant(
        receiving.post_buffers, "host_dma.reached(buffer.stored)", "True"
    ): test_bip.test_a_packet_that_has_arrived_is_not_overwritten_before_its_bytes_are_in_memory,
    Mutant(
        reporting.report, "send_dma.reached(nic.ends[nic.told % RING])", "True"
    ): test_bip.test_a_request_is_told_to_have_left_when_it_has,
    Mutant(sending.begin_long, "nic.begun != nic.launched", "False"): test_bip.test_a_long_send_is_begun_once,
    Mutant(
        reporting.report, "host_dma.reached(nic.transfers)", "True"
    ): test_bip.test_memory_is_released_when_nothing_is_on_its_way_to_it,
    Mutant(
        receiving.receive, "host_dma.free() < COPIES", "False"
    ): test_bip.test_no_more_copies_are_queued_than_the_host_dma_takes,
    Mutant(
        sending.fetch, "host_dma.free() < PIECES", "False"
    ): test_bip.test_no_more_copies_are_queued_than_the_host_dma_takes,
    Mutant(
        reporting.report, "host_dma.free() == 0", "False"
    ): test_bip.test_no_more_copies_are_queued_than_the_host_dma_takes,
    Mutant(
        sending.send_short, "send_dma.free() < PIECES", "False"
    ): test_bip.test_no_more_descriptors_are_queued_than_the_send_dma_takes,
    Mutant(
        sending.launch, "send_dma.free() == 0", "False"
    ): test_bip.test_no_more_descriptors_are_queued_than_the_send_dma_takes,
    Mutant(
        reporting.report, "host_dma.reached(nic.shown_after)", "True"
    ): test_bip.test_the_host_sees_each_word_when_the_last_copy_has_arrived,
}
MUTANTS = CHECKS | ORDER
