"""One receive request: for a message to come, for one that was taken off the NIC's lists, for a
promise of one."""

from lanai_firmware.programs.mpi_np.layout import ANY, NO_TAG, Op

from ...bus.base import BusError
from ...config import HostCost
from ...operation import ANY_SOURCE, ANY_TAG, DeviceError, ErrorKind
from .endpoint import Notice
from .host_queues import HeldMessage
from .operations import Receive, fail, finish
from .records import Records
from .share import NicShare, inline

FOR_LATER = (Op.RECEIVE, Op.RECEIVE_ASK)  # may wait for ever; what fetches a message that is here always ends
RESERVED = 4  # receive entries kept for messages taken off the NIC: those always finish


class Posting:
    """Puts receives on the NIC."""

    def __init__(self, share: NicShare, records: Records) -> None:
        self.share = share
        self.records = records
        self.op = Op.RECEIVE_ASK if share.config.ask_first else Op.RECEIVE  # for a message to come

    def place(self, receive: Receive) -> bool:
        """Post a receive for a message to come. False if there is no room."""
        share = self.share
        anyone = receive.wanted_source == ANY_SOURCE
        if share.config.host_matching or len(share.entries) <= RESERVED or (anyone and share.wildcards == 0):
            return False
        peer = int(ANY) if anyone else receive.wanted_source
        tag = int(NO_TAG) if receive.wanted_tag == ANY_TAG else receive.wanted_tag
        if not self._post(self.op, receive, {"peer": peer, "tag": tag}):
            return False
        if anyone and not receive.done:
            share.wildcards -= 1
        return True

    def fetch(self, notice: Notice, receive: Receive) -> None:
        """Let the NIC bring the body that a matched probe left there."""
        fields = {"peer": notice.source, "spare": notice.token}
        self.records.until(lambda: self._post(Op.RECEIVE_TAKEN, receive, fields))

    def drain(self, peer: int, question: int, receive: Receive) -> None:
        """Ask for the oldest message of a rank, or of anyone: the NIC answers, and if it has the
        body, brings it at once."""
        fields = {"peer": peer, "spare": question}
        self.records.until(lambda: self._post(Op.DRAIN, receive, fields))

    def open(self, held_message: HeldMessage, receive: Receive) -> None:
        """Receive a message that is off the NIC."""
        receive.source, receive.tag = held_message.source, held_message.tag
        receive.wanted_source = held_message.source
        if held_message.data is not None:
            try:
                receive.length = receive.body.write(held_message.data)
            except BusError as error:
                fail(receive, ErrorKind.BUS_ERROR, str(error))
                return
            self.share.meter.charge(HostCost.COPY, receive.length)
            if receive.length < held_message.length:
                receive.error = DeviceError(ErrorKind.TRUNCATED, f"(it has {held_message.length} bytes)")
            finish(receive)
            return
        fields = {
            "peer": held_message.source,
            "tag": held_message.tag,
            "length": held_message.length,
            "spare": held_message.handle,
        }
        self.records.until(lambda: self._post(Op.RECEIVE_PULL, receive, fields))

    def _post(self, op: Op, receive: Receive, fields: dict[str, int]) -> bool:
        share = self.share
        if not share.entries or not share.numbers:
            return False
        share.endpoint.await_slot()  # sends leave some slots to others
        if receive.hold is None:
            body = receive.body.part(0, share.memory.most)  # no message is longer
            if op in FOR_LATER and not share.memory.fits(body, False):
                return False
            try:
                receive.hold = share.memory.lend(body, False)
            except BusError as error:
                fail(receive, ErrorKind.BUS_ERROR, str(error))
                return True
            share.account()
        hold = receive.hold
        rest = hold.pieces[2:]
        if rest and share.table.needed(len(rest)) >= len(share.table.free):
            return False
        share.place(receive)
        if rest:
            hold.entries = share.table.write(rest, hold.total, receive.number)
            fields["table"] = hold.entries[0]
        fields |= {"token": receive.index, "limit": hold.total, "context": receive.context, **inline(hold)}
        share.endpoint.post(op, receive.number, fields)
        return True
