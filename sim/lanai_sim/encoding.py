"""Output in an encoding that lacks some of our letters, such as ASCII."""

import codecs
import io
from typing import TextIO

NAME = "lanai"  # of the handler of errors
NEAR = {"µ": "u", "·": "."}


def never_fails(*streams: TextIO) -> None:
    """Have streams write what is near to a letter that their encoding lacks, or a question mark."""
    codecs.register_error(NAME, _near)
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=NAME)


def _near(error: UnicodeError) -> tuple[str | bytes, int]:
    """Bytes of a file's name that are not text, which Python keeps as surrogates, come out as they were."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    if all("\udc80" <= letter <= "\udcff" for letter in text):
        return text.encode("ascii", "surrogateescape"), error.end
    return "".join(NEAR.get(letter, "?") for letter in text), error.end
