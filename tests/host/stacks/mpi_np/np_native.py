"""Model NICs whose firmware is compiled for this machine: the same turns, sooner."""

from lanai_firmware.native import NativeProgram
from lanai_firmware.nic.model import Nic
from lanai_firmware.programs.mpi_np.scheduler import turn


def take_native_turns(monkeypatch):
    """From now on every model NIC runs compiled firmware. The list that comes back names the NIC of
    each turn."""
    compiled, turns = {}, []

    def native_turn(nic):
        nic.wait = 0
        places = tuple(nic.machine.placed.items())
        if places not in compiled:
            compiled[places] = NativeProgram(turn, nic.machine.placed, speed=1)
        turns.append(nic)
        compiled[places].run(nic.machine)

    monkeypatch.setattr(Nic, "turn", native_turn)
    return turns
