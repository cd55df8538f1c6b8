"""The adapter with one line changed at a time: a check that protects memory, or a rule of order, is left
out. Each mutant names the cheapest test that must fail for it."""

from dataclasses import dataclass
from pathlib import Path

import lanai_hdl

SOURCE = Path(lanai_hdl.__file__).resolve().parent
MESSAGES = "test_messages.py"


@dataclass(frozen=True)
class Mutant:
    """`old`, which stands in `file` once, named as from the adapter's folder, becomes `new`; then `test` fails."""

    what: str
    file: str
    old: str
    new: str
    test: str

    def __str__(self):
        return self.what

    @property
    def path(self):
        return (SOURCE / "remote" / self.file).resolve()

    def applied(self):
        """The file's text with the change."""
        text = self.path.read_text()
        if text.count(self.old) != 1:
            raise ValueError(f"{self.what}: {self.old!r} is {text.count(self.old)} times in {self.file}, not once")
        return text.replace(self.old, self.new)


PROTECTION = [
    Mutant(
        "an access may end behind its exposure",
        "access_check.py",
        "high.eq(last > self.range[32:64])",
        "high.eq(port.offset > self.range[32:64])",
        "test_lookup.py::test_answers_are_those_of_the_reference",
    ),
    Mutant(
        "an access may begin before its exposure",
        "access_check.py",
        "low.eq(port.offset < self.range[0:32])",
        "low.eq(0)",
        "test_lookup.py::test_answers_are_those_of_the_reference",
    ),
    Mutant(
        "an access may cross the end of its page",
        "access_check.py",
        "Mux(outside | crosses, Status.RANGE, Status.OK)",
        "Mux(outside, Status.RANGE, Status.OK)",
        "test_lookup.py::test_answers_are_those_of_the_reference",
    ),
    Mutant(
        "any key will do",
        "access_check.py",
        "Mux(port.key != self._key, Status.KEY, ",
        "Mux(0, Status.KEY, ",
        "test_lookup.py::test_answers_are_those_of_the_reference",
    ),
    Mutant(
        "no right is asked for",
        "access_check.py",
        "Mux(~right, Status.RIGHT, refused)",
        "refused",
        "test_lookup.py::test_answers_are_those_of_the_reference",
    ),
    Mutant(
        "a process beyond the last one has the exposures of another",
        "access_check.py",
        "~rights.valid | (port.owner >= self.config.processes)",
        "~rights.valid",
        "test_lookup.py::test_answers_are_those_of_the_reference",
    ),
    Mutant(
        "a process without a bus window has one",
        "access_check.py",
        "within = self.window.valid & (",
        "within = (",
        "test_lookup.py::test_a_process_without_a_window_gets_no_address",
    ),
    Mutant(
        "any directory is read",
        "walker.py",
        "self.outside.eq(~Array(port.inside for port in ports)[first])",
        "self.outside.eq(0)",
        "test_walker.py::test_a_directory_outside_the_window_is_not_read",
    ),
    Mutant(
        "lines stay when the tables are written",
        "walker.py",
        "self.owners.bit_select(owner, 1).eq(1)",
        "self.owners.bit_select(owner, 1).eq(0)",
        "test_walker.py::test_no_stale_line_answers_after_a_write_of_the_tables[0.6]",
    ),
    Mutant(
        "the walker forgets what was written in the same slot alone",
        "lookup.py",
        "walker.forget.eq(before.changes)",
        "walker.forget.eq(self.exposure_write | self.page_write)",
        "test_walker.py",
    ),
    Mutant(
        "a page of one process answers another",
        "walker.py",
        "(read.data.tag == tag)",
        "(read.data.tag[:2] == tag[:2])",
        "test_walker.py::test_lines_with_the_same_number_take_turns",
    ),
    Mutant(
        "a write goes on while the host still answers the last one",
        "bounded_burst.py",
        "(self.read | self.write) & granted & (unanswered == 0)",
        "(self.read | self.write) & granted",
        "test_bounded_burst.py::test_no_byte_outside_the_run_is_driven",
    ),
    Mutant(
        "a run that was refused is written",
        "bounded_burst.py",
        "granted.eq(self.allowed & at_rest)",
        "granted.eq(at_rest)",
        "test_bounded_burst.py::test_writes_are_the_bytes_of_their_runs",
    ),
    Mutant(
        "a READ needs no key and no right",
        "packet_builder.py",
        "lookup.need.eq(Need.READ)",
        "lookup.need.eq(Need.OWN)",
        "test_bounded_reads.py::test_what_a_packet_may_not_read_is_refused_and_not_read",
    ),
    Mutant(
        "a WRITE needs no right to write",
        "access_work.py",
        "work.need.eq(Need.WRITE)",
        "work.need.eq(Need.READ)",
        "test_bad_packets.py::test_what_is_not_allowed_is_refused_with_its_reason_and_again_if_it_comes_again",
    ),
    Mutant(
        "a process sends memory of another",
        "packet_builder.py",
        "lookup.owner.eq(entry.buffer >> 3)",
        "lookup.owner.eq(0)",
        "test_turns.py::test_each_process_uses_its_own_memory",
    ),
    Mutant(
        "what a process reads goes to another",
        "access_work.py",
        "work.owner.eq(entry.buffer >> COMMAND_BITS)",
        "work.owner.eq(0)",
        "test_turns.py::test_each_process_uses_its_own_memory",
    ),
    Mutant(
        "the end of a command is told to another process",
        "access_work.py",
        "work.owner.eq(oldest.buffer >> COMMAND_BITS)",
        "work.owner.eq(0)",
        "test_turns.py::test_each_process_uses_its_own_memory",
    ),
    Mutant(
        "a packet reads a word more than is allowed",
        "bounded_reads.py",
        "cutter.length.eq(Cat(Const(0, 2), whole.words))",
        "cutter.length.eq(Cat(Const(1, 2), whole.words))",
        "test_bounded_reads.py::test_bursts_are_the_words_of_their_runs",
    ),
    Mutant(
        "maps of the aperture survive reset",
        "aperture.py",
        'half.valid.eq(host.word[layout(MapWord)["valid"].offset] & ready)',
        'half.valid.eq(host.word[layout(MapWord)["valid"].offset])',
        "test_aperture_requests.py::test_reset_makes_all_maps_invalid",
    ),
    Mutant(
        "a command for a NIC that cannot be is cut",
        "command_cutter.py",
        " & (head.peer < self.config.peers)",
        "",
        "test_bad_packets.py::test_what_the_host_does_wrong_is_counted",
    ),
    Mutant(
        "stores go to a NIC that cannot be",
        "aperture.py",
        "~target.valid | (target.peer >= self.config.peers)",
        "~target.valid",
        "test_aperture_requests.py::test_a_closed_buffer_becomes_a_write_to_where_its_page_lies",
    ),
    Mutant(
        "a packet of a NIC that cannot be is served",
        "packet_header.py",
        " & (self.first.source < config.peers)",
        "",
        "test_bad_packets.py::test_what_cannot_be_served_is_dropped_and_counted",
    ),
    Mutant(
        "a packet may have more words than it says",
        "packet_header.py",
        "with_data = sized & (words == REQUEST_WORDS + data_words)",
        "with_data = sized & (words >= REQUEST_WORDS + data_words)",
        "test_bad_packets.py::test_what_cannot_be_served_is_dropped_and_counted",
    ),
    Mutant(
        "a packet that is too long is served",
        "packet_buffers.py",
        "& ~part.truncated & ~long &",
        "& ~part.truncated &",
        "test_bad_packets.py::test_what_cannot_be_served_is_dropped_and_counted",
    ),
    Mutant(
        "a FIFO takes a record more than it has room for",
        "fifo_append.py",
        "~Cat(ring.mask, Const(0, 1))",
        "~Cat(ring.mask, Const(1, 1))",
        "test_fifo_append.py",
    ),
    Mutant(
        "control words of a FIFO stay when the tables are written",
        "mover.py",
        "with m.If(self.changed):",
        "with m.If(0):",
        "test_fifo_words.py",
    ),
    Mutant(
        "a refused command goes on",
        "command_cutter.py",
        "with m.If(turn_over & self.failing):",
        "with m.If(0):",
        "test_turns.py::test_a_command_whose_own_memory_is_not_exposed_ends",
    ),
    Mutant(
        "a command does not make way",
        "command_cutter.py",
        "with m.Elif(turn_over & self.i.others):",
        "with m.Elif(0):",
        "test_turns.py::test_a_huge_command_does_not_hold_the_other_process",
    ),
    Mutant(
        "a command that is refused brings the result of another",
        "mover.py",
        "self._held & (self._kept.buffer == self.flag_of)",
        "self._held",
        "test_mover.py::test_a_result_goes_with_the_flag_of_its_command_alone",
    ),
    Mutant(
        "a command brings the result of the one that was in its buffer before",
        "mover.py",
        "m.d.sync += self._held.eq(0)",
        "pass",
        "test_mover.py::test_a_result_goes_with_the_flag_of_its_command_alone",
    ),
    Mutant(
        "work that is not wanted is done",
        "mover.py",
        "with m.If(lookup.done & ~self.wanted):",
        "with m.If(0):",
        "test_mover.py::test_works_do_what_they_say",
    ),
    Mutant(
        "a number that is not at a multiple of its size is changed",
        "mover.py",
        "with m.Elif(lookup.done & self._misaligned):",
        "with m.Elif(0):",
        "test_mover.py::test_works_do_what_they_say",
    ),
    Mutant(
        "one process's refusal is told to the other",
        "server.py",
        "self._worst.read(0)[0].eq(self.oldest.buffer[COMMAND_BITS:]),",
        "self._worst.read(0)[0].eq(0),",
        "test_turns.py::test_a_command_ends_at_its_first_refusal[1]",
    ),
]

ORDER = [
    Mutant(
        "a NOP says that the request in whose place it came was carried out",
        "packet_check.py",
        "with m.If(packet.first.op == Op.NOP):",
        "with m.If(0):",
        "test_session.py::test_a_put_whose_memory_is_concealed_fails_unless_it_was_carried_out[request]",
    ),
    Mutant(
        "a put that was carried out fails for what became of its memory later",
        "sequencer.py",
        " | (self.resolution == Status.OK)",
        "",
        "test_session.py::test_a_put_whose_memory_is_concealed_fails_unless_it_was_carried_out[answer]",
    ),
    Mutant(
        "a put that was answered fails when it cannot be sent again",
        "sequencer.py",
        "self.void & ~other & ~done.bit_select(self.sent.index, 1)",
        "self.void & ~other",
        "test_session.py::test_a_put_that_is_answered_while_it_fails_to_be_sent_again_ends_well",
    ),
    Mutant(
        "stores go before a request that is offered",
        "block.py",
        "stores.eq(aperture.pending & ~offered)",
        "stores.eq(aperture.pending)",
        "test_aperture.py::test_a_request_that_is_offered_stays_until_it_is_taken",
    ),
    Mutant(
        "the last request of the window is not a duplicate",
        "receive_order.py",
        "carried_out = ((behind <= WINDOW)",
        "carried_out = ((behind < WINDOW)",
        "test_receive_order.py",
    ),
    Mutant(
        "a relaxed request is carried out twice",
        "receive_order.py",
        "| (before & done)",
        "",
        "test_receive_order.py",
    ),
    Mutant(
        "requests pass a READ",
        "sequencer.py",
        "alone = (before == Op.ATOMIC) | ((before == Op.READ) & (new.entry.op != Op.READ))",
        "alone = before == Op.ATOMIC",
        "test_outstanding.py::test_only_reads_are_sent_while_a_read_is_outstanding_and_nothing_while_an_atomic_is",
    ),
    Mutant(
        "requests pass an ATOMIC",
        "sequencer.py",
        "alone = (before == Op.ATOMIC) | (",
        "alone = (",
        "test_outstanding.py::test_only_reads_are_sent_while_a_read_is_outstanding_and_nothing_while_an_atomic_is",
    ),
    Mutant(
        "requests in order pass relaxed ones",
        "sequencer.py",
        "~(alone | other_order)",
        "~alone",
        "test_relaxed.py::test_relaxed_requests_are_outstanding_alone",
    ),
    Mutant(
        "a command that ended at once hides the order of those before it",
        "sequencer.py",
        "Mux(~new.ended, is_relaxed, before_relaxed & ~empty)",
        "~new.ended & is_relaxed",
        "test_relaxed.py::test_relaxed_requests_are_outstanding_alone",
    ),
    Mutant(
        "requests in order pass one that is missing",
        "packet_check.py",
        " | ((self._order.place == Place.EARLY) & ~self._relaxed)",
        "",
        "test_relaxed.py::test_relaxed_writes_are_carried_out_as_they_come_and_answered_again",
    ),
    Mutant(
        "what is expected moves on over a request that is missing",
        "receive_order.py",
        "(now.done & first).any()",
        "now.done.any()",
        "test_receive_order_formal.py",
    ),
    Mutant(
        "an answer of another peer is taken",
        "packet_check.py",
        "            & (entry.peer == packet.first.source)\n",
        "",
        "test_outstanding.py::test_a_late_answer_of_a_relaxed_write_ends_no_other_one",
    ),
    Mutant(
        "an answer of another number is taken",
        "packet_check.py",
        "            & (entry.sequence == packet.first.sequence)\n",
        "",
        "test_outstanding.py::test_a_late_answer_of_a_relaxed_write_ends_no_other_one",
    ),
    Mutant(
        "a slow peer is lost",
        "sequencer.py",
        "with m.If(progress):\n            m.d.sync += rounds.eq(0)",
        "with m.If(empty):\n            m.d.sync += rounds.eq(0)",
        "test_outstanding.py::test_a_slow_peer_that_answers_is_not_lost",
    ),
    Mutant(
        "a command that was put back goes behind others of its process",
        "command_queue.py",
        "Mux(self.o.take, head + 1, self.last_head)",
        "Mux(self.o.take, head + 1, self.last_head + 1)",
        "test_command_queue.py",
    ),
    Mutant(
        "of 64 bits the lower half is compared alone",
        "atomics.py",
        "& (~self.wide | (old[32:] == comparand[32:]))",
        "",
        "test_adapter.py::test_atomics_of_8_bytes_are_one_number[big]",
    ),
]

SESSIONS = [
    Mutant(
        "a peer with which a session was opened is still named as lost",
        "sequencer.py",
        "m.d.sync += self._of_peer(gone, self.opened_peer).eq(0)",
        "pass",
        "test_session.py::test_each_peer_that_is_lost_is_named_until_it_is_opened",
    ),
    Mutant(
        "numbers below a session's first were carried out",
        "receive_order.py",
        "& (now.many | ~wraps)",
        "",
        "test_receive_order.py::test_numbers_below_the_first_were_not_carried_out",
    ),
    Mutant(
        "a session begins as far as the one before had come",
        "receive_order.py",
        "after.many.eq(0), ",
        "",
        "test_receive_order_formal.py",
    ),
    Mutant(
        "requests of an old session are taken",
        "receive_order.py",
        "same.eq(self.session == known)",
        "same.eq(1)",
        "test_session.py::test_packets_of_earlier_sessions_do_nothing",
    ),
    Mutant(
        "an old session is taken for a new one",
        "receive_order.py",
        "later.eq(~now.known | newer(self.session, known))",
        "later.eq(1)",
        "test_session.py::test_packets_of_earlier_sessions_do_nothing",
    ),
    Mutant(
        "requests for another boot are carried out",
        "receive_order.py",
        "Mux(self.boot == self.own_boot, of_sender, Place.ABROAD)",
        "of_sender",
        "test_session.py::test_a_nic_that_is_reset_alone_has_nothing_end_well_that_was_not_carried_out[3-False]",
    ),
    Mutant(
        "answers of an old session are taken",
        "packet_check.py",
        "            & self._is_of_session()\n",
        "",
        "test_session.py::test_packets_of_earlier_sessions_do_nothing",
    ),
    Mutant(
        "what may have been carried out is sent again to the next boot",
        "packet_check.py",
        "self.links.learn.eq(unknown), self.left.eq(~unknown)",
        "self.links.learn.eq(1)",
        "test_session.py::test_what_may_have_been_carried_out_is_not_sent_to_the_next_boot",
    ),
    Mutant(
        "a session's number is one that the peer takes for old",
        "links.py",
        "clashes.eq(port.keeps & ~newer(port.named.session, port.kept))",
        "clashes.eq(0)",
        "test_session.py::test_however_often_it_was_reset_without_a_word_to_its_peer[16]",
    ),
    Mutant(
        "requests before a new session belong to it",
        "block.py",
        "links.quiet.eq(sequencer.quiet & ~sender.requests & ~server.busy)",
        "links.quiet.eq(1)",
        "test_session.py::test_what_was_sent_before_a_session_does_not_end_well_in_it",
    ),
]
QUIETNESS = [
    Mutant(
        "a receiver forgets that it refused a quiet record",
        "receive_order.py",
        "Mux(self.doubt, WINDOW, left - left.any())",
        "left - left.any()",
        "test_quiet.py::test_no_later_answer_hides_a_refusal_that_was_lost",
    ),
    Mutant(
        "a run of quiet records goes on in the next session",
        "sequencer.py",
        "runs.write_en.eq(self.opens | (takes & ~new.ended))",
        "runs.write_en.eq(takes & ~new.ended)",
        "test_quiet_formal.py",
    ),
    Mutant(
        "an answer vouches for a NOP",
        "packet_check.py",
        "self._order.doubt.eq(refused | (packet.first.op == Op.NOP))",
        "self._order.doubt.eq(refused)",
        "test_quiet.py::test_a_record_whose_memory_is_concealed_is_flagged_unless_it_is_there[stand-in's answer]",
    ),
    Mutant(
        "a record that is there fails for what became of its memory later",
        "sequencer.py",
        "m.d.sync += [done.bit_select(at, 1).eq(1), status[at].eq(Status.OK)]",
        "m.d.sync += done.bit_select(at, 1).eq(1)",
        "test_quiet.py::test_a_record_whose_memory_is_concealed_is_flagged_unless_it_is_there[answer]",
    ),
    Mutant(
        "an answer vouches for whatever was sent before",
        "packet_check.py",
        "in_turn |= packet.answer.vouches & (older <= self.answered_run)",
        "in_turn |= packet.answer.vouches & (older <= older)",
        "test_quiet.py::test_an_answer_vouches_for_quiet_requests_alone",
    ),
    Mutant(
        "a quiet record writes no flag, however it ends",
        "completion.py",
        "(oldest.op == Op.QUIET) & (self._worst_end == Status.OK)",
        "oldest.op == Op.QUIET",
        "test_quiet.py::test_records_that_find_a_full_fifo_are_flagged",
    ),
]
MATCHING = [
    Mutant(
        "a message takes a receive of another process",
        "match.py",
        "(one.owner == other.owner) & (drops",
        "(drops",
        "test_match.py::test_wildcards_take_what_arrived_first",
    ),
    Mutant(
        "a younger entry is taken before the oldest that fits",
        "match.py",
        "first = moves & ~Cat(Const(0, 1), moves[:-1])",
        "first = fit",
        "test_match.py::test_answers_are_those_of_lists",
    ),
    Mutant(
        "entries behind one that was taken stay where they are",
        "match.py",
        "with m.If(removed & moves[n]):",
        "with m.If(0):",
        "test_match.py::test_the_oldest_that_fits_is_taken_and_order_stays",
    ),
    Mutant(
        "what finds no cell is told to have joined",
        "match.py",
        "full & (joins(op) | (op == MatchOp.SEEK)),",
        "full & (op == MatchOp.SEEK),",
        "test_match.py::test_a_full_list_is_told_and_changes_nothing",
    ),
    Mutant(
        "one process takes all cells",
        "match.py",
        "sated.eq(joined == self.share)",
        "sated.eq(0)",
        "test_match.py::test_what_one_owner_has_leaves_the_others_their_share",
    ),
    Mutant(
        "later messages overtake one that found no room",
        "match_stage.py",
        "with m.Elif(self._bars.barred & ~message.again):",
        "with m.Elif(0):",
        f"{MESSAGES}::test_a_sender_that_finds_no_room_is_refused_until_it_sends_again",
    ),
    Mutant(
        "a sender that one process refuses is barred from all",
        "sender_bars.py",
        "mask.eq(1 << Cat(self.sender, self.owner[: (processes - 1).bit_length()]))",
        "mask.eq(1 << self.sender)",
        f"{MESSAGES}::test_a_sender_that_finds_no_room_is_refused_until_it_sends_again",
    ),
    Mutant(
        "a sender that was reset is barred still",
        "sender_bars.py",
        "[bars.write_addr.eq(self.renewed), bars.write_data.eq(0)]",
        "bars.write_addr.eq(self.renewed)",
        f"{MESSAGES}::test_a_reset_of_the_sender_ends_its_bar",
    ),
    Mutant(
        "a receipt has the envelope of another process's message",
        "match_stage.py",
        "with m.If(~self._asks):  # else",
        "with m.If(1):  # else",
        "test_messages_random.py::test_no_process_learns_of_the_messages_of_another",
    ),
    Mutant(
        "messages join behind one that was left to the process",
        "match_stage.py",
        "m.d.sync += self._overflows.eq(1)",
        "m.d.sync += self._overflows.eq(0)",
        f"{MESSAGES}::test_order_stays_when_messages_find_no_cell",
    ),
    Mutant(
        "messages join behind a receive that was left to the process",
        "match_stage.py",
        "m.d.sync += [end.eq(End.FULL), mine.eq(1)]",
        "m.d.sync += end.eq(End.FULL)",
        f"{MESSAGES}::test_order_stays_when_receives_find_no_cell",
    ),
    Mutant(
        "a process resumes that has not taken all records",
        "match_stage.py",
        "with m.If(self._count == self._kept.words.offset[:TAKEN_BITS]):",
        "with m.If(1):",
        f"{MESSAGES}::test_order_stays_when_messages_find_no_cell",
    ),
    Mutant(
        "a message that is longer than its buffer is written to it",
        "match_stage.py",
        "& (size.length <= slot.ask.length + HEADER_BYTES)",
        "",
        f"{MESSAGES}::test_what_does_not_suit_its_buffer_is_a_record_of_the_receive",
    ),
    Mutant(
        "what was refused as its FIFO was looked up is served",
        "match_stage.py",
        "with m.If(self.status != Status.OK):",
        "with m.If(0):",
        f"{MESSAGES}::test_what_is_not_allowed_is_refused_and_takes_no_receive",
    ),
    Mutant(
        "a receive that could not be written to is lost",
        "match_stage.py",
        "m.d.comb += commits.eq(self.did.payload.status == Status.OK)",
        "m.d.comb += commits.eq(1)",
        f"{MESSAGES}::test_what_does_not_suit_its_buffer_is_a_record_of_the_receive",
    ),
    Mutant(
        "an APPEND goes to the FIFO for messages",
        "access_check.py",
        "others = Mux(port.need == Need.SEND, rights.messages, rights.append)",
        "others = rights.messages | rights.append",
        f"{MESSAGES}::test_what_is_not_allowed_is_refused_and_takes_no_receive",
    ),
    Mutant(
        "a process that asks too much loses what others ask",
        "match_slots.py",
        "starts.eq(host.write & (host.field == START) & (mine != SLOTS))",
        "starts.eq(host.write & (host.field == START))",
        f"{MESSAGES}::test_a_process_that_asks_too_much_loses_its_own",
    ),
    Mutant(
        "a message may be cut into two",
        "command_cutter.py",
        "((left != length) | (left < HEADER_BYTES))",
        "(left < HEADER_BYTES)",
        f"{MESSAGES}::test_what_is_not_allowed_is_refused_and_takes_no_receive",
    ),
    Mutant(
        "a message needs no header",
        "packet_header.py",
        "by_op[Op.SEND] = with_data & (length >= HEADER_BYTES)",
        "by_op[Op.SEND] = with_data",
        f"{MESSAGES}::test_a_packet_without_a_header_is_dropped",
    ),
    Mutant(
        "a reset leaves the messages",
        "match_stage.py",
        "with m.If(self._messages):\n",
        "with m.If(1):\n",
        f"{MESSAGES}::test_reset_forgets_what_the_process_had",
    ),
    Mutant(
        "a receipt takes the result of a command",
        "mover.py",
        "returns, written = returns & ~self.tells, written & ~self.own",
        "written = written & ~self.own",
        "test_mover.py::test_a_receipt_leaves_the_result_to_its_command",
    ),
    Mutant(
        "what looks takes what it finds",
        "match.py",
        "one.remove.eq(acts & asked & ~looks(op))",
        "one.remove.eq(acts & asked & (op != MatchOp.PROBE))",
        "test_match.py::test_answers_are_those_of_lists",
    ),
    Mutant(
        "what may not join does",
        "match.py",
        " | self.asked.closed",
        "",
        "test_match.py::test_answers_are_those_of_lists",
    ),
]
MOVING = [
    Mutant(
        "words that were stored are read from memory",
        "sender.py",
        "with m.If(fetches & (replies | ~entry.stored)):",
        "with m.If(fetches):",
        "test_aperture.py::test_stores_land_where_the_map_says",
    ),
    Mutant(
        "an ATOMIC is answered without what the word was",
        "sender.py",
        "Mux(reply.reads | reply.returns, Op.DATA, Op.ACK)",
        "Mux(reply.reads, Op.DATA, Op.ACK)",
        "test_adapter.py::test_atomics_change_the_word_and_bring_what_it_was",
    ),
    Mutant(
        "a refused command has no last request",
        "command_cutter.py",
        "entry.last.eq((left == length) | ended)",
        "entry.last.eq(left == length)",
        "test_turns.py::test_a_command_ends_at_its_first_refusal[1]",
    ),
    Mutant(
        "a command that is begun while it runs is no fault",
        "host_side.py",
        "self.fault.eq((begins & is_busy) | ",
        "self.fault.eq(",
        "test_bad_packets.py::test_what_the_host_does_wrong_is_counted",
    ),
    Mutant(
        "a command ends as its last request",
        "completion.py",
        "_worst_end.eq(Mux(before == Status.OK, self.oldest_status, before))",
        "_worst_end.eq(self.oldest_status)",
        "test_turns.py::test_a_command_ends_at_its_first_refusal[1]",
    ),
    Mutant(
        "an ATOMIC that is refused is answered with data",
        "packet_check.py",
        "reply.returns.eq((packet.first.op == Op.ATOMIC) & (status == Status.OK))",
        "reply.returns.eq(packet.first.op == Op.ATOMIC)",
        "test_turns.py::test_a_refused_atomic_brings_no_result_of_another_process",
    ),
    Mutant(
        "a put that goes out as a NOP reads its data all the same",
        "sender.py",
        "sends & ~self.voided",
        "sends",
        "test_session.py::test_a_put_whose_memory_comes_back_is_not_read_again",
    ),
    Mutant(
        "a turn begins again once it is over",
        "command_cutter.py",
        "given.eq(given + ~turn_over)",
        "given.eq(given + 1)",
        "test_command_cutter.py::test_a_command_makes_way_when_its_turn_is_over[32]",
    ),
    Mutant(
        "a command's place is saved while the host writes a word of another",
        "host_side.py",
        "saved.eq(self.head.saves & ~write)",
        "saved.eq(self.head.saves)",
        "test_command_cutter.py::test_what_the_host_writes_meanwhile_spoils_no_place_that_is_saved",
    ),
    Mutant(
        "a NOP ends as the last store",
        "completion.py",
        " & (mine == Status.OK)",
        "",
        "test_aperture.py::test_a_nop_ends_as_the_first_store_that_was_refused",
    ),
    Mutant(
        "an acknowledgement without data ends a READ",
        "packet_check.py",
        "wants_data = (entry.op == Op.READ) | (entry.op == Op.ATOMIC)",
        "wants_data = entry.op == Op.ATOMIC",
        "test_outstanding.py::test_no_acknowledgement_without_data_ends_a_read",
    ),
    Mutant(
        "the last word of a buffer is dropped",
        "../receive_dma/engine.py",
        "with m.If(progress.limit == progress.pointer):",
        "with m.If(progress.limit == after):",
        "../receive_dma/test_recvdma.py::test_an_overrun_never_writes_past_the_limit[0-60]",
    ),
    Mutant(
        "a word behind the buffer is written",
        "../receive_dma/engine.py",
        "with m.If(progress.limit == progress.pointer):",
        "with m.If(0):",
        "../nic/test_formal.py::test_the_receive_dma_writes_its_buffer_and_nothing_else",
    ),
    Mutant(
        "words of a refused piece are read",
        "../send_dma/engine.py",
        "some = (piece.length != 0) & ~piece.refused",
        "some = piece.length != 0",
        "../nic/test_formal.py::test_the_send_dma_reads_its_packet_and_nothing_else",
    ),
    Mutant(
        "a receiver that still catches up is idle",
        "server.py",
        " & ~self._order.catching_up",
        "",
        "test_relaxed.py::test_an_adapter_whose_receiver_still_catches_up_is_not_idle",
    ),
]
MUTANTS = [*PROTECTION, *ORDER, *SESSIONS, *QUIETNESS, *MATCHING, *MOVING]
