"""The vocabulary for traces and waveforms of the adapter's packets: requests and replies, by their first words."""

from collections.abc import Sequence

from lanai_firmware.lang import Struct, u32
from lanai_firmware.vocabulary import Commands, SeenCommand
from lanai_hdl.remote.packets import MARK, Op, ReplyWord, RequestWord, SizeWord, TargetWord
from lanai_hdl.remote.tables import EXPOSURES

REPLIES = (Op.ACK, Op.DATA)


class Header(Struct):
    """The words of a request before its data. A reply has the first two, and other fields in the
    second."""

    request: u32
    target: u32
    size: u32
    offset: u32


def see(words: Sequence[int]) -> SeenCommand:
    """A packet by its first words. Type 0 (NOP) stands also for what is not a packet of an adapter."""
    first = RequestWord.from_bits(words[0])
    if first.mark != MARK:
        return SeenCommand(-1, Op.NOP)
    if first.op in REPLIES or len(words) < 3:
        return SeenCommand(int(first.source), int(first.op))
    owner = TargetWord.from_bits(words[1]).exposure // EXPOSURES
    return SeenCommand(int(first.source), int(first.op), int(SizeWord.from_bits(words[2]).process), int(owner))


def text(words: Sequence[int]) -> str:
    """Such as ``WRITE_seq5_from0``, with exposure, offset and length once they are known."""
    first = RequestWord.from_bits(words[0])
    if first.mark != MARK:
        return f"packet_{words[0]:08x}"
    found = f"{VOCABULARY.type_name(first.op)}_seq{first.sequence}_from{first.source}"
    if len(words) < 2:
        return found
    if first.op in REPLIES:
        return f"{found}_{_name(ReplyWord.from_bits(words[1]).status)}"
    found += f"_exposure{TargetWord.from_bits(words[1]).exposure}"
    return found if len(words) < 4 else f"{found}_offset{words[3]:x}_length{SizeWord.from_bits(words[2]).length}"


def _name(status: int) -> str:
    """Return the name of a `Status`, or its number if none has it: the packet may be damaged."""
    return getattr(status, "name", f"status{status}")


VOCABULARY = Commands(
    header=Header,
    types=Op,
    tables=lambda plan: (),
    bodies=lambda plan: range(0),
    spilled=lambda plan: range(0),
    cut_through=None,
    scheduler="",
    slots=1,
    see=see,
    describe=text,
)
