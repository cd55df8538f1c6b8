"""Several users of one adapter's command buffers: each sees its own commands end."""

from lanai_hdl.remote.packets import Op
from lanai_host.adapter.commands import Command
from lanai_host.adapter.opened import CommandShare
from lanai_host.adapter.operation import RemoteOperation, Token

COMMAND = Command(Op.WRITE, Token(1, 0, 0, 0, 8), 0, 8)


class Ending:
    """`Commands` of which all that run end at the next look."""

    def __init__(self):
        self.running = self.under_way = []

    def start(self, command, what):
        self.running.append(RemoteOperation(what))
        return self.running[-1]

    def take_ended(self):
        ended = [*self.running]
        self.running.clear()
        return ended


def test_whoever_looks_leaves_the_ends_of_others_to_them():
    commands, owners = Ending(), {}
    messages, windows = (CommandShare(commands, owners) for _ in range(2))
    begun = [share.start(COMMAND, "test") for share in (messages, windows, messages, windows)]
    assert messages.take_ended() == begun[0::2]
    assert list(windows.ended) == begun[1::2]  # so a device that would sleep looks again
    assert messages.take_ended() == []
    assert windows.take_ended() == begun[1::2]
    assert not windows.ended
    assert not owners
