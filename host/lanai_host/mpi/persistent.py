"""Persistent point-to-point requests."""

from typing import TYPE_CHECKING

from ..device import SendMode
from .buffered import Buffered, BufferedRequest
from .constants import PROC_NULL
from .request import PersistentRequest, Request, SendRequest

if TYPE_CHECKING:
    from .datatypes import Datatype


class Persistent(Buffered):
    """The chapter's methods."""

    def _persistent(
        self, call: str, address: int, count: int, datatype: "Datatype", dest: int, tag: int, mode: SendMode
    ) -> PersistentRequest:
        self.check_buffer(call, address, count, datatype)
        self.check_tag(call, tag)
        if dest != PROC_NULL:
            self.check_peer(call, "dest", dest)

        def begin() -> Request:
            operation = self.post_send(call, address, count, datatype, dest, tag, mode)
            return SendRequest(self, call, operation, dest)

        return PersistentRequest(self, call, begin)

    def send_init(self, address: int, count: int, datatype: "Datatype", dest: int, tag: int) -> PersistentRequest:
        """MPI_Send_init."""
        return self._persistent("MPI_Send_init", address, count, datatype, dest, tag, SendMode.STANDARD)

    def ssend_init(self, address: int, count: int, datatype: "Datatype", dest: int, tag: int) -> PersistentRequest:
        """MPI_Ssend_init."""
        return self._persistent("MPI_Ssend_init", address, count, datatype, dest, tag, SendMode.SYNCHRONOUS)

    def rsend_init(self, address: int, count: int, datatype: "Datatype", dest: int, tag: int) -> PersistentRequest:
        """MPI_Rsend_init."""
        return self._persistent("MPI_Rsend_init", address, count, datatype, dest, tag, SendMode.READY)

    def bsend_init(self, address: int, count: int, datatype: "Datatype", dest: int, tag: int) -> PersistentRequest:
        """MPI_Bsend_init."""
        call = "MPI_Bsend_init"
        self.check_buffer(call, address, count, datatype)
        self.check_tag(call, tag)
        if dest != PROC_NULL:
            self.check_peer(call, "dest", dest)

        def begin() -> Request:
            return BufferedRequest(self, call, self.start_buffered(call, address, count, datatype, dest, tag), dest)

        return PersistentRequest(self, call, begin)

    def recv_init(self, address: int, count: int, datatype: "Datatype", source: int, tag: int) -> PersistentRequest:
        """MPI_Recv_init."""
        self.check_buffer("MPI_Recv_init", address, count, datatype)
        self.envelope("MPI_Recv_init", source, tag)
        return PersistentRequest(self, "MPI_Recv_init", lambda: self.irecv(address, count, datatype, source, tag))
