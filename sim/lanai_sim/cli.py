"""The `lanai` command: finds its subcommands, parses, runs, turns user errors into one line and
exit code 2."""

import argparse
import codecs
import errno
import io
import os
import platform
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn, TextIO

from lanai_firmware import output_file
from lanai_firmware.output_file import FULL
from lanai_host.errors import UserError

from . import commands
from .command_line import SHELLS, Parser, completion, plugins
from .signals import CODE, interrupted, none_lost, signals_to, speaks
from .version import version

REFUSED = (errno.EPERM, errno.ENOSYS)  # system calls that are filtered
NO_THREAD = "can't start new thread"  # as Python says it
WRITTEN = ("html", "json", "plot", "rows", "sarif")  # options that name a file to write


class PrintVersion(argparse.Action):
    """`--version`: argparse's own would need the text for every command."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        print(f"openlanai {version()}")
        parser.exit()


class PrintCompletion(argparse.Action):
    """`--completion SHELL`: the shell's script for all commands."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: object, shell: object, *_: object) -> NoReturn:
        print(completion(build_parser(), str(shell)), end="")
        parser.exit()


def build_parser(wanted: str = "") -> Parser:
    """Return the parser of all commands, or of one alone, or of none for options such as `--version`: loading the
    others takes a second that `lanai run` need not spend."""
    parser = Parser(prog="lanai", description="An open, programmable MPI network interface.", groups=commands.GROUPS)
    parser.add_argument("--version", action=PrintVersion, nargs=0, help="show program's version number and exit")
    parser.add_argument(
        "--completion", action=PrintCompletion, choices=SHELLS, metavar="SHELL",
        help=f"print what lets a shell ({', '.join(SHELLS)}) complete commands and options, and stop",
    )  # fmt: skip
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in (
        plugins(commands, commands.IN.get(wanted, wanted)) if wanted not in ("--version", "--completion") else ()
    ):
        for name, text in {module.NAME: module.HELP, **getattr(module, "OTHERS", {})}.items():
            first = getattr(module, "FIRST", ())
            sub = subparsers.add_parser(name, help=text, description=module.__doc__, first=first)
            module.add_arguments(sub)
            sub.set_defaults(run=module.run)
    return parser


def check_platform() -> None:
    """Co-simulation reaches into another process's memory the Linux way, and the ABI is
    x86-64's."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        print(
            f"lanai: note: this is {sys.platform} on {platform.machine()}: gateware, firmware, golden model work;"
            " `lanai run` and libmpi need Linux on x86-64",
            file=sys.stderr,
        )


def check_files(args: argparse.Namespace) -> None:
    """Refuse files that cannot be written before the work that fills them."""
    for name in WRITTEN:
        path = getattr(args, name, None)
        if isinstance(path, str):
            output_file.check(path, f"--{name}")


def main(argv: Sequence[str] | None = None) -> int:
    arguments = sys.argv[1:] if argv is None else list(argv)
    if arguments and (now := commands.FORMER.get(arguments[0])):
        print(f"lanai: note: `lanai {arguments[0]}` is now `lanai {now}`", file=sys.stderr)
        arguments[:1] = now.split()

    def run() -> int:
        parser = build_parser(arguments[0] if arguments else "")
        if not arguments:
            print(parser.format_groups(), end="")
            return 0
        args = parser.parse(arguments)
        check_platform()
        check_files(args)
        return int(args.run(args) or 0)

    return guarded("lanai", run)


def _interrupt(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


def guarded(name: str, run: Callable[[], int]) -> int:
    """Run a command of this name; its exit code. What a user can mend becomes one line. SIGTERM and
    SIGHUP end it as Ctrl-C does."""
    open_standard_streams()
    os.environ.setdefault("PATH", os.defpath)  # unset, it is searched here; compilers look for the linker on it
    never_fails(sys.stdout, sys.stderr)
    try:
        with signals_to(_interrupt), none_lost():
            code = run()
            sys.stdout.flush()
        return code
    except UserError as error:
        print(f"{name}: error: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        if error.errno not in FULL:
            if isinstance(error, BrokenPipeError):  # `lanai ... | head` is not an error
                from .console import discard_output  # brings rich along

                discard_output()
                return 0
            if is_removed():
                print(f"{name}: error: the working directory was removed; change to one that is there", file=sys.stderr)
                return 2
            if error.errno in REFUSED and error.filename is None:
                print(f"{name}: error: {refused_call(error)}", file=sys.stderr)
                return 2
            raise
        where = f" {error.filename!r}" if error.filename else ""
        room = "make room where the output goes, or set LANAI_CACHE to a directory with room"
        remedy = "raise `ulimit -f`" if error.errno == errno.EFBIG else room
        print(f"{name}: error: cannot write{where}: {error.strerror}; {remedy}", file=sys.stderr)
        return 2
    except (KeyboardInterrupt, RuntimeError) as error:
        if str(error) == NO_THREAD:
            how = "raise `ulimit -u`, or let processes call clone3"
            print(f"{name}: error: the system starts no further thread; {how}", file=sys.stderr)
            return 2
        if not isinstance(error, KeyboardInterrupt) and not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        exec("")  # `python -m` ends by the signal if the last `exec` was interrupted: dataclasses are made so
        if speaks():
            print(interrupted(name).decode(), end="", file=sys.stderr)
        return CODE  # Python 3.11 makes a RuntimeError of what comes while a class is made


def refused_call(error: OSError) -> str:
    """Return what to tell of a system call that a container or a security module refuses to all processes."""
    import traceback  # an error alone needs it

    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith(sys.base_prefix)] or frames
    call = own[-1].line or own[-1].name
    return f"the system refuses `{call}`: {error.strerror}; let processes make this system call"


def is_removed() -> bool:
    """Return whether the working directory was removed."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def mpiexec() -> int:
    """The program `lanai-mpiexec`."""

    def run() -> int:
        from .mpiexec import run

        return run(sys.argv[1:])

    return guarded("mpiexec", run)


def mpicc() -> int:
    """The program `lanai-mpicc`: `lanai mpicc` for tools that take a compiler of one word."""
    return main(["mpicc", *sys.argv[1:]])


def mpicxx() -> int:
    return main(["mpicxx", *sys.argv[1:]])


def mpifort() -> int:
    return main(["mpifort", *sys.argv[1:]])


def open_standard_streams() -> None:
    """Put /dev/null where the caller closed a standard stream (`>&-`). Else the next file opened would get its
    descriptor, and what is printed would land there."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest free descriptor, which is this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115 - lives as long as the process


ENCODING = "lanai"  # of the handler of errors
NEAR = {"µ": "u", "·": "."}  # letters of ours that an encoding such as ASCII lacks


def never_fails(*streams: TextIO) -> None:
    """Have streams write what is near to a letter that their encoding lacks, or a question mark."""
    codecs.register_error(ENCODING, _near)
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=ENCODING)


def _near(error: UnicodeError) -> tuple[str | bytes, int]:
    """Bytes of a file's name that are not text, which Python keeps as surrogates, come out as they were."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    if all("\udc80" <= letter <= "\udcff" for letter in text):
        return text.encode("ascii", "surrogateescape"), error.end
    return "".join(NEAR.get(letter, "?") for letter in text), error.end
