"""Receives: met by what the host has already, else put on the NIC, else kept until it has room."""

from lanai_firmware.programs.mpi_np.layout import ANY

from .host_queues import HostQueues
from .losing import Losing
from .operations import Receive
from .posting import Posting
from .records import Records
from .share import NicShare
from .taking import Taking


class Receiving:
    """Starts receives, and moves those that wait here on to the NIC."""

    def __init__(
        self,
        share: NicShare,
        records: Records,
        host_queues: HostQueues,
        posting: Posting,
        taking: Taking,
        losing: Losing,
    ) -> None:
        self.share = share
        self.records = records
        self.host_queues = host_queues
        self.posting = posting
        self.taking = taking
        self.losing = losing

    def begin(self, receive: Receive) -> None:
        host_queues = self.host_queues
        held_message = host_queues.find(receive.wanted_source, receive.wanted_tag, receive.context)
        if held_message is not None:
            host_queues.remove(held_message)
            self.posting.open(held_message, receive)
        elif host_queues.waiting or not self.posting.place(receive):
            host_queues.post(receive)
            self.sort()
        if self.share.lost and not receive.done:
            self.records.hear()
            for rank in self.share.lost:
                self.losing.fail_waiting(rank, anyone=self.losing.all_lost)

    def sort(self) -> None:
        """Move receives on to the NIC; where some must wait here, the messages that they might take
        must come here too."""
        queues = self.host_queues
        while queues.waiting:
            receive = queues.oldest()
            if not self.posting.place(receive):
                break
            queues.withdraw(receive)
        if queues.waiting and not self.records.watching:
            self.taking.drain(int(ANY))
