"""The packets of daemons and their messages: parts, packets for several nodes, packets sent again."""

from types import SimpleNamespace

import numpy as np

from lanai_firmware.vocabulary import SeenFragment
from lanai_sim.trace import channels
from lanai_sim.trace.schema import MESSAGES, PACKETS, Fault, Protocol

NODES = [[0, 1], [2], [3]]  # the ranks of each


class Run:
    """Packets of which `see` knows the meaning by their first word."""

    def __init__(self):
        self.seen, self.rows = [], []

    def packet(self, target, targets, rank=0, begins=False, ends=False, envelope=None, head=0, tail=0):
        """One that leaves node 0; `target` -1: for several nodes. `head` -1: it only arrives."""
        self.seen.append(SeenFragment(0, 1, tuple(targets), rank, begins, ends, envelope))
        fault = Fault.NONE if target >= 0 and head >= 0 else Fault.LOST if head >= 0 else Fault.EXTRA
        self.rows.append((target, head, tail, fault))

    def answer(self, source, expects, head, tail):
        """An acknowledgement that comes to node 0."""
        self.seen.append(SeenFragment(source, 2, expects=expects))
        self.rows.append((0, head, tail, Fault.NONE))

    def linked(self, messages):
        """The packets and messages; each of these: source, target, context, tag."""
        table, packets = np.zeros(len(messages), MESSAGES), np.zeros(len(self.rows), PACKETS)
        table["id"], table["left"], table["arrived"] = range(len(messages)), -1, -1
        for index, (source, target, context, tag) in enumerate(messages):
            table[index]["source"], table[index]["target"] = source, target
            table[index]["context"], table[index]["tag"] = context, tag
        packets["message"] = packets["to_rank"] = -1
        for index, (target, head, tail, fault) in enumerate(self.rows):
            row = packets[index]
            row["target"], row["head"], row["arrival_tail"], row["fault"] = target, head, tail, fault
        headers = np.array([[self.seen.index(one)] for one in self.seen])
        vocabulary = SimpleNamespace(see=lambda words: self.seen[words[0]])
        channels.attribute_fragments(SimpleNamespace(nodes=NODES), vocabulary, table, packets, headers)
        return packets, table


def test_parts_follow_each_other_and_ranks_do_not_mix():
    run = Run()
    run.packet(1, [(1, 1, 0)], 0, begins=True, envelope=(0, 5), head=10, tail=20)
    run.packet(1, [(1, 1, 1)], 1, begins=True, ends=True, envelope=(0, 5), head=30, tail=40)
    run.packet(1, [(1, 1, 2)], 0, ends=True, head=50, tail=60)
    packets, messages = run.linked([(0, 2, 0, 5), (1, 2, 0, 5)])
    assert packets["message"].tolist() == [0, 1, 0]
    assert packets["from_rank"].tolist() == [0, 1, 0]
    assert packets["to_rank"].tolist() == [2, 2, 2]
    assert messages["left"].tolist() == [10, 30]
    assert messages["arrived"].tolist() == [60, 40]
    assert set(messages["protocol"].tolist()) == {Protocol.PACKETS}


def test_what_is_sent_again_belongs_to_its_message():
    run = Run()
    run.packet(1, [(1, 1, 65535)], begins=True, ends=True, envelope=(0, 1), head=10, tail=-1)
    run.packet(1, [(1, 1, 0)], begins=True, ends=True, envelope=(0, 2), head=20, tail=30)
    run.packet(1, [(1, 1, 65535)], begins=True, ends=True, envelope=(0, 1), head=40, tail=50)
    packets, messages = run.linked([(0, 2, 0, 1), (0, 2, 0, 2)])
    assert packets["message"].tolist() == [0, 1, 0]
    assert messages["arrived"].tolist() == [50, 30]


def test_a_packet_for_several_nodes_arrives_at_each():
    run = Run()
    targets = [(1, 1, 0), (2, 1, 0)]
    for target, head, tail in ((-1, 10, -1), (1, -1, 25), (2, -1, 26)):
        run.packet(target, targets, begins=True, ends=True, envelope=(0, 1), head=head, tail=tail)
    packets, messages = run.linked([(0, 2, 0, 1), (0, 3, 0, 1)])
    assert packets["message"].tolist()[1:] == [0, 1]
    assert packets["to_rank"].tolist()[1:] == [2, 3]
    assert set(packets["fault"].tolist()) == {Fault.NONE}
    assert messages["arrived"].tolist() == [25, 26]


def test_an_answer_belongs_to_no_message():
    run = Run()
    run.packet(1, [(1, 1, 0)], begins=True, ends=True, head=10, tail=20)
    packets, _ = run.linked([(0, 2, 0, 1)])
    assert packets["message"].tolist() == [-1]


def test_numbers_that_have_left_and_are_not_acknowledged_are_in_the_window():
    """An older acknowledgement that comes late, and one of another run, give nothing back."""
    run = Run()
    run.packet(1, [(1, 1, 65534)], head=10, tail=20)
    run.packet(1, [(1, 1, 65535)], head=11, tail=-1)
    run.packet(-1, [(1, 1, 0), (2, 1, 0)], head=12, tail=-1)
    run.packet(1, [(1, 1, 65535)], head=30, tail=31)
    for source, expects in ((1, 65535), (2, 1), (1, 1), (1, 0), (1, 999), (3, 1)):
        run.answer(source, expects, 40, 41)
    packets, _ = run.linked([])
    assert packets["paid"].tolist() == [1, 1, 2, 0, 0, 0, 0, 0, 0, 0]
    assert packets["given"].tolist() == [0, 0, 0, 0, 1, 1, 2, 0, 0, 0]


def test_an_acknowledgement_that_did_not_arrive_gives_nothing_back():
    run = Run()
    run.packet(1, [(1, 1, 0)], head=10, tail=20)
    run.answer(1, 1, 30, -1)
    packets, _ = run.linked([])
    assert packets["given"].tolist() == [0, 0]
