"""The parser of command lines: an error is one line that names what is near, and a long help has a
short form. `plugins` finds the modules that each bring a command."""

import argparse
import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, Never

from lanai_host.errors import UserError, did_you_mean, unknown

ALL = "all"  # after --help: every option
ROW = 30  # columns of a row's commands in a help by groups
NUMBERS = {"int": "a whole number", "float": "a number"}
NEGATIVE = re.compile(r"-\.?\d")  # begins a value, also one with a unit such as -1%, and no option
NOT_A_NUMBER = re.compile(r"invalid (int|float) value: (.*)")  # as argparse says it


def count(text: str) -> int:
    """A whole number from 1, for `type=`."""
    if text.isdecimal() and text.isascii() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a count; write a whole number from 1")


SHELLS = ("bash", "zsh", "tcsh")


def completion(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return a script with which a shell completes the parser's commands and options. Raises UserError if shtab, which
    writes it, is not installed."""
    try:
        import shtab
    except ImportError:
        raise UserError("completion needs shtab; run: pip install 'openlanai[completion]'") from None
    text: str = shtab.complete(parser, shell)
    return text


class Parser(argparse.ArgumentParser):
    """Raises UserError for what it does not understand.

    Attributes:
        first: options that `--help` shows, if there are too many for a screen; `--help all` shows all.
        groups: rows of commands by what a person wants, with a text or none; `--help` shows these.
    """

    def __init__(
        self, *, first: Sequence[str] = (), groups: Mapping[str, Mapping[str, str]] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(add_help=False, **kwargs)
        self._negative_number_matcher = NEGATIVE
        self.first = tuple(first)
        self.groups = groups or {}
        self.commands: argparse._SubParsersAction[Parser] | None = None
        more: dict[str, Any] = {"nargs": "?", "metavar": ALL} if first else {"nargs": 0}
        text = "show these options, or all, and stop" if first else "show this and stop"
        self.add_argument("-h", "--help", action=_Help, help=text, **more)

    def add_subparsers(self, **kwargs: Any) -> "argparse._SubParsersAction[Parser]":  # type: ignore[override]
        self.commands = super().add_subparsers(parser_class=Parser, **kwargs)
        return self.commands

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Return what the arguments say; UserError if they cannot be understood."""
        found, left = self.parse_known_args(arguments)
        if left:
            raise UserError(self._unknown(left[0], found))
        return found

    def _unknown(self, word: str, found: argparse.Namespace) -> str:
        """Say that an argument is not known to the subcommand that was chosen."""
        parser = self
        while parser.commands is not None and (chosen := getattr(found, parser.commands.dest)) is not None:
            parser = parser.commands.choices[chosen]
        near = did_you_mean(word.partition("=")[0], parser._option_string_actions)
        rest = f" {ALL}" if parser.first else ""
        return f"{word} is not an option of `{parser.prog}`; {near}see `{parser.prog} --help{rest}`"

    def error(self, message: str) -> Never:
        """Refuse the command line."""
        text = NOT_A_NUMBER.sub(
            lambda found: f"{found[2]} is not {NUMBERS[found[1]]}", message.removeprefix("argument ")
        )
        see = f"; see `{self.prog} --help`" if text.startswith("the following arguments are required") else ""
        raise UserError(f"{text}{see}")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            what = "/".join(action.option_strings) or str(action.metavar or action.dest).lower()
            raise unknown(what, value, map(str, action.choices))

    def format_groups(self) -> str:
        """Return the help with a row for each command, or for a few, below what a person wants."""
        assert self.commands is not None
        texts = {str(action.metavar or action.dest): str(action.help) for action in self.commands._choices_actions}
        listed = {name for rows in self.groups.values() for row in rows for name in row.split()}
        others = {"more": {name: "" for name in texts if name not in listed}}
        lines = [self.format_usage().strip(), f"{self.description} `{self.prog} COMMAND --help` says more.", ""]
        for wanted, rows in {**self.groups, **others}.items():
            lines += [f"{wanted}:"] * bool(rows)
            lines += [f"  {row:{ROW}}{text or texts[row]}" for row, text in rows.items()]
        return "\n".join([*lines, ""])

    def format_first(self) -> str:
        """Return the help with the options of `first` alone."""
        shown = [action for action in self._actions if {*self.first, "--help"} & {*action.option_strings}]
        positionals = [action for action in self._actions if not action.option_strings]
        formatter = self._get_formatter()
        words = " ".join(str(action.metavar or action.dest) for action in positionals)
        formatter.add_usage(f"{self.prog} [OPTIONS] {words}", [], [])
        formatter.add_text(self.description)
        formatter.start_section("options")
        formatter.add_arguments([*positionals, *shown])
        formatter.end_section()
        formatter.add_text(f"`{self.prog} --help {ALL}` shows {len(self._actions) - len(shown)} more.")
        return formatter.format_help()


class _Help(argparse.Action):
    """`--help`: of a parser with many options, the first ones."""

    def __init__(self, option_strings: Sequence[str], dest: str, **kwargs: Any) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, default=argparse.SUPPRESS, **kwargs)

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, *_: Any) -> None:
        assert isinstance(parser, Parser)
        brief = parser.first and values != ALL
        print(
            parser.format_first() if brief else parser.format_groups() if parser.groups else parser.format_help(),
            end="",
        )
        parser.exit()


def plugins(package: ModuleType, wanted: str = "") -> Iterator[ModuleType]:
    """The modules of `package`, by name; only the `wanted` one if there is such. Each has NAME (its
    own), HELP, add_arguments(parser) and run(args). A command may have FIRST, the options that a short
    help shows, and OTHERS, more commands that its `run` knows by `args.command`."""
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__) if not info.name.startswith("_"))
    for name in [wanted] if wanted in names else names:
        yield importlib.import_module(f"{package.__name__}.{name}")
