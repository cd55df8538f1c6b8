"""Messages are cut into packets and written to the send queue (CC-15, CC-17)."""

from collections import deque

from lanai_firmware.programs.ccu.layout import LAST, MPI_HEAD, MPI_TAIL

from ...body import NOTHING, Body
from ...bus.base import BusError
from ...device import Pending
from ...host_model.operations import fail
from ...operation import ErrorKind
from .daemon import Daemon
from .operations import HEADER, Kind, Send


class Sending:
    """Sends in order. A standard one is done when all of it is in the daemon's send buffer; a
    synchronous one when, beside that, a receive has taken it. `datagram`: bytes of a message that
    are one datagram; 0: the daemon sends packets as they come."""

    def __init__(self, daemon: Daemon, rank: int, packet: int, datagram: int = 0) -> None:
        self._daemon = daemon
        self._rank = rank
        self._packet = packet
        self._datagram = datagram
        self._waiting: deque[Send] = deque()
        self._untaken: dict[int, Send] = {}  # synchronous ones, by serial number
        self._serial = 0

    @property
    def is_idle(self) -> bool:
        """Every packet was taken by the daemon."""
        return not self._waiting and not self._daemon.untaken

    @property
    def is_settled(self) -> bool:
        """Nothing waits for room in the send queue."""
        return not self._waiting

    def queue(self, ranks: tuple[int, ...], tag: int, context: int, body: Body, *, synchronous: bool = False) -> Send:
        """A message that leaves after those before it. `push` writes its packets."""
        kind = Kind.SYNCHRONOUS if synchronous else Kind.MESSAGE
        serial = self.next_serial() if synchronous else 0
        send = Send(self._rank, ranks, tag, context, body, HEADER.pack(kind, context, tag, body.size, serial), serial)
        if synchronous:
            self._untaken[serial] = send
        self._waiting.append(send)
        return send

    def pending(self) -> list[Pending]:
        """Messages that are not done, in the order in which they were sent."""
        rest = [send for send in self._untaken.values() if send not in self._waiting]
        return [one for send in (*rest, *self._waiting) for one in send.pending()]

    def next_serial(self) -> int:
        self._serial = self._serial % 0xFFFF_FFFF + 1
        return self._serial

    def answer(self, rank: int, serial: int) -> None:
        """Tell a rank that its synchronous message was taken."""
        self._waiting.append(Send(self._rank, (rank,), 0, None, NOTHING, HEADER.pack(Kind.TAKEN, 0, 0, 0, serial)))

    def answered(self, serial: int) -> None:
        """A receive has taken our synchronous message of that number."""
        send = self._untaken.pop(serial)
        send.serial = 0
        self._end(send)

    def push(self) -> None:
        """Write as many packets as the send queue takes. The daemon sends each while the next is
        written (CC-20)."""
        while self._waiting and self._daemon.has_room:
            send = self._waiting[0]
            first = send.offset == 0
            try:
                data = send.next_packet(min(self._packet, self._left(send)))
            except BusError as error:
                self._abandon(send, error)
                continue
            last = self._datagram and (send.is_cut or self._left(send) == self._datagram)
            tag = self._rank | int(MPI_HEAD) * first | int(MPI_TAIL) * send.is_cut | int(LAST) * bool(last)
            self._daemon.send(tag, data, send.ranks)
            self._daemon.trigger()
            if send.is_cut:
                self._waiting.popleft()
                self._end(send)

    def _left(self, send: Send) -> int:
        """Bytes that the datagram still takes that the next byte of a message is in."""
        return self._datagram - send.offset % self._datagram if self._datagram else self._packet

    def _abandon(self, send: Send, error: BusError) -> None:
        """The rest of its memory cannot be read. What has left already is completed with zeros, for
        packets cannot be taken back."""
        fail(send, ErrorKind.BUS_ERROR, str(error))
        self._untaken.pop(send.serial, None)
        if send.offset == 0:
            self._waiting.popleft()
            return
        rest = len(send.header) + send.length - send.offset
        send.header, send.body = bytes(send.offset + rest), NOTHING

    def _end(self, send: Send) -> None:
        if send.is_cut and not send.serial:
            send.body = NOTHING if send.done else send.body
            send.done = True

    def fail_all(self, text: str, kind: ErrorKind) -> None:
        for send in (*self._waiting, *self._untaken.values()):
            if not send.done:
                fail(send, kind, text)
        self._waiting.clear()
        self._untaken.clear()
