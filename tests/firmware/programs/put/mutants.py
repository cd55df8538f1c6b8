"""The put firmware's checks and rules of order, each with the test that notices when it is gone."""

from functools import partial

from lanai_firmware.programs.put import answering, common, receiving, reporting, sending
from lanai_firmware.programs.put.layout import Kind

from ..mutants import Mutant
from . import test_order, test_put, test_refusals

refused = {
    what: partial(test_refusals.test_a_request_for_what_there_is_not_is_refused, what) for what in test_refusals.REFUSED
}

CHECKS = {
    Mutant(sending.is_sound, "request.node >= nic.config.nodes", "False"): refused["the node behind the last"],
    Mutant(sending.is_sound, "request.length & ~ASKED != 0", "False"): refused["bytes that are said to be spoilt"],
    Mutant(sending.is_sound, "kind < ANSWER", "True"): refused["an answer"],
    Mutant(sending.is_sound, "size <= BODY", "True"): refused["more bytes than a packet has"],
    Mutant(sending.is_sound, "size <= INLINE", "True"): refused["more inline bytes than there are"],
    Mutant(sending.is_sound, "size & 3 == 0", "True"): refused["inline bytes that are not words"],
    Mutant(sending.has_request, "nic.offset == 0", "True"): test_refusals.test_a_request_is_read_once,
    Mutant(
        answering.get, "size > BODY", "False"
    ): test_refusals.test_a_question_for_more_than_a_packet_holds_is_refused_by_the_nic_that_answers,
    Mutant(
        answering.keep, "nic.kept - nic.answered == ASKS", "False"
    ): test_refusals.test_more_questions_than_there_is_room_for_are_faults,
    Mutant(
        receiving.take, "verdict == VALID", "True"
    ): test_refusals.test_a_damaged_packet_is_a_fault_and_so_is_the_gap_behind_it,
    Mutant(
        receiving.take, "size == whole", "True"
    ): test_refusals.test_a_packet_of_another_size_than_it_says_is_a_fault,
    Mutant(
        receiving.take, "kind <= ANSWER", "True"
    ): test_refusals.test_a_packet_of_a_kind_that_there_is_not_is_a_fault,
    Mutant(
        receiving.take, "nic.asked == nic.counters[ANSWERED]", "False"
    ): test_refusals.test_an_answer_that_nobody_waits_for_is_a_fault,
    Mutant(
        receiving.expected, "sequence >= SEQUENCES", "False"
    ): test_refusals.test_a_packet_of_a_node_that_there_cannot_be_is_a_fault,
    Mutant(
        answering.keep, "packet[2] >> 16 >= nic.config.nodes", "False"
    ): test_refusals.test_a_question_of_a_node_that_there_is_not_is_a_fault,
    Mutant(
        answering.keep, "packet[2] >> 16", "packet[2] >> 16 & 255"
    ): test_refusals.test_a_question_with_the_number_of_an_answer_is_a_fault,
    Mutant(
        receiving.expected, "(nic.got_from[sequence] ^ number) & 65535 == 0", "True"
    ): test_refusals.test_a_packet_that_is_not_the_next_one_is_a_fault,
    Mutant(
        receiving.receive, "nic.border.heap == 0", "False"
    ): test_refusals.test_a_nic_reaches_no_memory_before_the_rank_has_begun,
    **{
        Mutant(function, "gone()", "False"): test_refusals.test_a_nic_does_not_reach_the_memory_of_a_rank_that_has_ended
        for function in (receiving.store, answering.answer, reporting.report)
    },
    Mutant(common.gone, "nic.unreachable != 0", "False"): test_put.test_a_heap_that_cannot_be_written_is_tried_once,
}
ORDER = {
    Mutant(
        sending.refuse, "unanswered != 0", "False"
    ): test_refusals.test_a_refused_question_counts_as_answered_behind_those_before_it,
    Mutant(
        sending.refuse, "nic.launched != nic.begun", "False"
    ): test_refusals.test_a_refused_request_is_done_when_those_before_it_have_left,
    Mutant(
        sending.begin, "unanswered >= OUTSTANDING", "unanswered > OUTSTANDING"
    ): test_order.test_no_more_questions_are_open_than_other_nics_have_room_for,
    Mutant(sending.begin, "unanswered != 0", "False"): test_order.test_nothing_passes_a_fence,
    Mutant(
        sending.launch, "host_dma.reached(packet.fetched)", "True"
    ): test_order.test_a_packet_leaves_when_its_bytes_are_there,
    Mutant(
        receiving.receive, "host_dma.reached(nic.transfers)", "True"
    ): test_order.test_a_flag_waits_until_all_before_it_is_in_memory,
    Mutant(
        receiving.store, "nic.counters[FAULTS] != 0", "False"
    ): test_put.test_a_put_whose_bytes_could_not_be_read_is_a_fault_at_the_receiver_and_no_flag_follows,
    Mutant(
        receiving.post_buffers, "host_dma.reached(buffer.stored)", "True"
    ): test_order.test_a_packet_that_has_arrived_is_not_overwritten_before_its_bytes_are_in_memory,
    Mutant(
        receiving.receive, "host_dma.free() == 0", "False"
    ): test_order.test_no_more_copies_are_queued_than_the_host_dma_takes,
    Mutant(answering.answer_fence, "nic.got_from[node] - ask.number - 1 & BEHIND != 0", "False"): partial(
        test_put.test_requests_behind_a_fence_wait_until_all_before_is_there, 1
    ),
    Mutant(
        answering.send, "nic.transfers", "host_dma.done()"
    ): test_order.test_a_fence_is_answered_when_all_before_it_is_in_memory,
    Mutant(answering.change, "host_dma.reached(nic.fetched_word)", "True"): partial(
        test_order.test_a_word_is_answered_when_it_has_been_read_and_changed, Kind.SWAP
    ),
    Mutant(answering.change, "nic.word_failed != 0", "False"): partial(
        test_put.test_an_answer_whose_memory_could_not_be_reached_is_a_fault_at_both, Kind.ADD
    ),
    Mutant(
        common.room_to_begin, "nic.begun - send_dma.done() != PLACES", "True"
    ): test_order.test_a_packet_on_its_way_out_is_not_overwritten,
    Mutant(
        common.room_to_begin, "host_dma.free() != 0", "True"
    ): test_order.test_no_more_copies_are_queued_than_the_host_dma_takes,
    Mutant(
        reporting.report, "host_dma.reached(nic.transfers)", "True"
    ): test_order.test_memory_is_released_when_nothing_is_on_its_way_to_it,
    Mutant(
        reporting.report, "host_dma.reached(nic.shown_after)", "True"
    ): test_order.test_the_host_finds_the_bytes_when_it_finds_the_count,
    Mutant(
        reporting.report, "host_dma.free() == 0", "False"
    ): test_order.test_no_more_copies_are_queued_than_the_host_dma_takes,
}
MUTANTS = CHECKS | ORDER
