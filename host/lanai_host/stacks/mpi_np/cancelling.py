"""Operations undone. A send can be taken back while it waits on the host, a receive as long as it
has met no message."""

from ...operation import Operation
from .host_queues import HostQueues
from .operations import Receive, Send, finish
from .records import Records
from .sending import Sending
from .share import NicShare


class Cancelling:
    """`Device.cancel`."""

    def __init__(self, share: NicShare, records: Records, sending: Sending, host_queues: HostQueues) -> None:
        self.share = share
        self.records = records
        self.sending = sending
        self.host_queues = host_queues

    def cancel(self, operation: Operation) -> bool:
        if operation.done:
            return False
        if isinstance(operation, Send):
            undone = self.sending.withdraw(operation)
        else:
            assert isinstance(operation, Receive)
            undone = self.records.recall(operation) if operation.placed else self._withdraw(operation)
        if undone:
            operation.cancelled = True
            finish(operation)
        return undone

    def _withdraw(self, receive: Receive) -> bool:
        """A receive that waits here."""
        if not receive.posted:
            return False
        self.host_queues.withdraw(receive)
        if receive.hold is not None:
            self.share.memory.take_back(receive.hold, 0)
        return True
