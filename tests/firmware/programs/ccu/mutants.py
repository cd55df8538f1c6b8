"""The daemon's checks and rules of order, each with the test that notices when it is gone."""

from functools import partial

from lanai_firmware.programs.ccu import acks, datagrams, dispatch, pool, receiving, reporting, sending, transmit
from lanai_firmware.programs.ccu.layout import CONTENT, NUMBERS, Count

from ..mutants import Mutant
from . import test_daemon, test_datagrams, test_order, test_protection

unsound = {
    what: partial(test_protection.test_a_packet_that_is_not_sound_is_dropped, what) for what in test_protection.UNSOUND
}
too_long = partial(test_protection.test_a_packet_says_of_itself_no_more_than_an_entry_holds, int(CONTENT) + 1)
outside = partial(test_protection.test_a_packet_outside_the_window_is_not_taken, int(NUMBERS))

CHECKS = {
    Mutant(
        dispatch.look_at, "stage != CLOSED", "True"
    ): test_protection.test_a_rank_that_has_ended_does_not_begin_again,
    Mutant(
        dispatch.read_next, "stage != BEGUN", "False"
    ): test_protection.test_memory_is_not_reached_before_the_rank_has_begun_nor_after_it_has_ended,
    Mutant(
        dispatch.read_next, "stage == CLOSED", "False"
    ): test_daemon.test_packets_for_a_rank_that_has_ended_are_dropped,
    Mutant(
        reporting.report, "stage != BEGUN", "False"
    ): test_protection.test_memory_is_not_reached_before_the_rank_has_begun_nor_after_it_has_ended,
    Mutant(sending.content_length, "length > CONTENT", "False"): too_long,
    Mutant(
        sending.take_next, "slot.nodes[0] & daemon.config.nodes[group]", "slot.nodes[0] & 65535"
    ): test_protection.test_nothing_is_sent_to_nodes_that_there_are_not,
    Mutant(
        sending.take_next, "is_empty(address_of(daemon.free_send))", "False"
    ): test_order.test_packets_wait_while_no_entry_is_free,
    Mutant(receiving.receive, "verdict != VALID", "False"): test_protection.test_a_damaged_packet_is_dropped,
    Mutant(receiving.receive, "size < LEAST", "False"): unsound["to no node"],
    Mutant(receiving.receive, "node >= NODES", "False"): unsound["from a node that there is not"],
    Mutant(receiving.receive, "node == daemon.config.node", "False"): unsound["from the node itself"],
    Mutant(receiving.receive, "size == ACK_BYTES", "True"): unsound["an acknowledgement of another size"],
    Mutant(receiving.receive, "kind == DATA", "True"): unsound["no kind"],
    Mutant(receiving.take_data, "count <= TARGETS", "True"): unsound["more targets than there are nodes"],
    Mutant(receiving.take_data, "length > CONTENT", "False"): unsound["more bytes than an entry has"],
    Mutant(receiving.take_data, "size != 4 + 4 * count + entry.size + 3 & ~3", "False"): unsound[
        "fewer bytes than it says"
    ],
    Mutant(
        receiving.take_data, "target >> 24 == daemon.config.node", "True"
    ): test_protection.test_a_packet_for_other_nodes_is_not_delivered,
    Mutant(receiving.admit, "ahead >= NUMBERS", "False"): outside,
    Mutant(
        receiving.admit, "peer.held[(peer.expected + ahead) % NUMBERS] != NO_ENTRY", "False"
    ): test_protection.test_a_number_that_is_held_is_not_taken_again,
    Mutant(
        receiving.admit, "is_empty(address_of(daemon.free_receive))", "False"
    ): test_order.test_an_entry_is_kept_for_acknowledgements,
    Mutant(
        dispatch.deliver, "daemon.config.clients", "8"
    ): test_protection.test_a_packet_for_ranks_that_there_are_not_is_for_the_others,
    Mutant(acks.acknowledged, "index == NO_ENTRY", "False"): test_protection.test_a_packet_is_acknowledged_once,
    Mutant(
        acks.take_ack, "words[1] - peer.acked & 65535 > peer.next - peer.acked", "False"
    ): test_protection.test_an_acknowledgement_of_what_was_not_sent_is_not_taken,
}
ORDER = {
    Mutant(
        sending.is_shut,
        "peer.next - peer.acked >= daemon.config.window",
        "peer.next - peer.acked > daemon.config.window",
    ): test_daemon.test_no_more_packets_are_under_way_than_the_window,
    Mutant(
        dispatch.read_next, "waiting >= RING", "waiting > RING"
    ): test_daemon.test_a_rank_that_does_not_read_holds_its_packets_and_no_acknowledgement,
    Mutant(dispatch.read_next, "host_dma.free() == 0", "False"): test_order.test_copies_wait_for_room,
    Mutant(reporting.report, "host_dma.free() == 0", "False"): test_order.test_copies_wait_for_room,
    Mutant(
        dispatch.finish_reads, "host_dma.reached(read.after)", "True"
    ): test_order.test_an_entry_is_free_when_its_copy_is_done,
    Mutant(
        reporting.report, "host_dma.reached(daemon.transfers)", "True"
    ): test_order.test_memory_is_released_when_nothing_is_on_its_way_to_it,
    Mutant(
        reporting.report, "host_dma.reached(client_state.shown_after)", "True"
    ): test_order.test_a_report_is_not_written_over_before_it_has_been_copied,
    Mutant(pool.settle, "entry.outstanding != 0", "False"): test_order.test_an_entry_is_free_when_it_is_acknowledged,
    Mutant(pool.settle, "entry.readers != 0", "False"): test_order.test_an_entry_is_free_when_its_copy_is_done,
    Mutant(pool.settle, "entry.queued != 0", "False"): test_order.test_an_entry_is_free_when_it_has_left,
    Mutant(pool.settle, "entry.free != 0", "False"): test_order.test_a_packet_for_no_rank_is_free_at_once,
    Mutant(
        transmit.transmit, "send_dma.done() != daemon.launched", "False"
    ): test_order.test_one_packet_leaves_at_a_time,
    Mutant(
        datagrams.goes_on, "is_waited_for(nodes, group)", "False"
    ): test_datagrams.test_the_next_datagram_to_a_node_waits_for_the_acknowledgement,
    Mutant(
        receiving.advance, "is_whole(peer)", "True"
    ): test_datagrams.test_nothing_is_delivered_before_the_last_fragment_has_come_and_all_are_sent_again,
    Mutant(
        receiving.advance, "peer.unacked >= daemon.config.ack_every", "peer.unacked > daemon.config.ack_every"
    ): partial(test_daemon.test_three_reasons_to_acknowledge, "none", Count.ACKS_NTH),
}
MUTANTS = CHECKS | ORDER
