"""MPI-NP's rules of order, each with the test that notices when it is gone. `checks` has what protects."""

from functools import partial

from lanai_firmware.programs.mpi_np.memory import cursor, hostdma
from lanai_firmware.programs.mpi_np.protocol import answering, quick_sends, releasing
from lanai_firmware.programs.mpi_np.wire import buffers, credit, in_order, outgoing, quick_receives, recovery

from ..mutants import Mutant
from . import (
    test_matching,
    test_order,
    test_pools,
    test_protocols,
    test_recovery,
    test_requests,
    test_start,
    trespasses_on_others,
)

changed = test_requests.test_what_a_request_becomes_afterwards_does_not_matter
each_fault = partial(test_recovery.test_each_packet_each_fault, "twins")

MUTANTS = {
    Mutant(
        answering.serve_jobs, "host_dma.reached(job.cursor.fetched)", "True"
    ): test_matching.test_a_message_that_is_too_long_is_cut_at_its_sender,
    Mutant(
        answering.begin, "withdraw_entry(channel.endpoint, job.handle)", "None"
    ): trespasses_on_others.pull_what_was_sent,
    Mutant(
        quick_sends.send_short, "u32(channel.first) | tail ^ nic.stage_launch | send.state != 0", "False"
    ): test_pools.test_receive_heap_with_fragments,
    Mutant(quick_sends.send_short, "slot_credit == 0", "False"): partial(
        test_matching.test_an_expected_message_needs_no_credit, {}
    ),
    Mutant(quick_sends.send_short, "tail - nic.stage_head >= nic.short_stages", "False"): partial(
        changed, ask=True, script="withdrawn", config="recovery"
    ),
    Mutant(quick_sends.send_short, "send_dma.free() < 2", "False"): test_matching.test_without_the_question_it_waits,
    Mutant(outgoing.launch_stages, "may_chase() or host_dma.reached(stage.ready)", "True"): partial(
        changed, ask=True, script="crossing", config="recovery"
    ),
    Mutant(
        outgoing.may_chase, "nic.watermark != 0", "True"
    ): test_order.test_a_packet_waits_for_its_body_where_it_may_not_chase,
    Mutant(
        outgoing.may_chase, "host_dma.reached(nic.follow_until)", "True"
    ): test_order.test_no_packet_chases_its_body_behind_one_that_is_followed,
    Mutant(
        outgoing.retire_stages, "send_dma.reached(stage.done)", "True"
    ): test_order.test_a_slot_is_given_back_when_its_body_has_left,
    Mutant(
        buffers.post_buffers, "host_dma.reached(buffer.release)", "True"
    ): test_order.test_a_receive_buffer_is_used_again_when_its_body_is_in_memory,
    Mutant(
        releasing.release_read, "host_dma.reached(message.release)", "True"
    ): test_order.test_a_kept_body_is_released_when_it_has_been_read,
    Mutant(
        quick_sends.send_short, "block_credit < blocks", "False"
    ): test_order.test_a_short_message_waits_for_room_at_the_receiver,
    Mutant(
        quick_receives.receive_short, "host_dma.free() < 2", "False"
    ): test_order.test_expected_messages_wait_for_room_in_the_host_dma,
    Mutant(
        quick_receives.receive_part, "host_dma.free() == 0", "False"
    ): test_order.test_parts_of_a_body_wait_for_room_in_the_host_dma,
    Mutant(
        cursor.peek, "not host_dma.reached(cursor.fetched)", "False"
    ): test_protocols.test_a_page_entry_that_is_on_its_way_is_not_followed_into,
    Mutant(
        cursor.peek, "cursor.more == 0", "False"
    ): test_protocols.test_no_page_entry_is_followed_into_where_there_is_none,
    Mutant(
        cursor.peek, "number > 3", "False"
    ): test_protocols.test_a_packet_is_followed_from_the_last_piece_of_an_entry_into_the_next,
    Mutant(
        in_order.accept_next, "header.sequence != reliability.there", "False"
    ): test_start.test_a_packet_for_another_rank_is_dropped,
    Mutant(
        in_order.accept_next, "header.flags & FLAG_NUMBERED == 0", "False"
    ): test_start.test_a_packet_without_a_number_is_dropped,
    Mutant(
        in_order.accept_next, "reliability.dead != 0", "False"
    ): test_start.test_packets_of_a_peer_that_was_lost_are_dropped,
    Mutant(in_order.accept_next, "early == 0", "True"): each_fault,
    Mutant(recovery.on_seen, "news > under_way", "False"): each_fault,
    Mutant(
        recovery.has_left, "send_dma.reached(entry.done)", "True"
    ): test_order.test_a_packet_is_not_sent_again_while_it_has_not_left,
    Mutant(
        credit.credit_arrived, "(word >> 16) - (seen >> 16) & 65535", "(word >> 16) - (seen >> 16)"
    ): test_order.test_counts_of_credit_wrap_around,
    Mutant(credit.credit_arrived, "word - seen & 65535", "word - seen"): test_order.test_counts_of_credit_wrap_around,
    Mutant(credit.give_back, "given + blocks & 65535", "given + blocks"): test_order.test_counts_of_credit_wrap_around,
    Mutant(recovery.two_free, "send_dma.free() >= 2", "True"): each_fault,
    Mutant(hostdma.finish, "host_dma.reached(count)", "True"): test_pools.test_a_taken_message_survives_being_away,
    Mutant(
        hostdma.make_room, "host_dma.free() == 0", "False"
    ): test_matching.test_any_source_rotates_and_does_not_ask_for_order,
}
