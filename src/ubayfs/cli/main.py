"""The command ``ubayfs``: one sub-command per module of this package; errors become messages and exit codes."""

from __future__ import annotations

import argparse
import errno
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from .. import __version__
from ..exceptions import UBayFSError, printable
from .console import Terminated, echo_error, terminable, warnings_as_notes

OK, BUG, USER_ERROR, INTERRUPTED, TERMINATED = 0, 1, 2, 130, 143

# In the order in which a new user meets them.
COMMANDS = (
    "demo", "init", "check", "select", "decide", "validate", "trust", "compare", "report", "collect", "merge", "pool",
    "app",
)  # fmt: skip
_DESCRIPTION = "Select the provably best feature set from the votes of an ensemble, prior knowledge and constraints."
_EPILOG = """\
a first study:
  ubayfs init cells.csv --target diagnosis   write a commented study file
  ubayfs check study.yaml                    is the study valid, and what would run?
  ubayfs select study.yaml -o results        run the ensemble, find the best set, write a report
  ubayfs decide results --max-size 5 -o five decide again on the same evidence, in a moment
  ubayfs trust five                          is it related to the target, selected again, does it predict?
  ubayfs compare results five                what changed, and why
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; default those of the process.

    Returns
    -------
    code : int
        0 for success, 2 when the user has to change something, 1 for a bug, 130 after Ctrl-C, 143 after SIGTERM.
    """
    try:
        arguments = build_parser().parse_args(argv)
    except SystemExit as stop:  # argparse has printed what is wrong, or its help
        return stop.code if isinstance(stop.code, int) else USER_ERROR
    code = USER_ERROR
    try:
        with warnings_as_notes(), terminable():
            _check_paths(arguments)
            arguments.run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return OK
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except UBayFSError as error:
        message = str(error)
    except OSError as error:
        message = _explained(error)
    except MemoryError as error:
        message = f"not enough memory ({str(error) or 'none is left'}). Use fewer features or --models, or more memory."
    except KeyboardInterrupt as stop:
        code, message = TERMINATED if isinstance(stop, Terminated) else INTERRUPTED, "stopped."
    except Exception:
        traceback.print_exc()
        code, message = BUG, f"this is a bug in ubayfs {__version__}; please report it with the lines above."
    echo_error(f"ubayfs {arguments.command}: {message}")
    return code


def _check_paths(arguments: argparse.Namespace) -> None:
    """Refuse paths that the system cannot look up."""
    from .._files import as_path

    for value in vars(arguments).values():
        for path in value if isinstance(value, list) else [value]:
            if isinstance(path, Path):
                as_path(path)


class Parser(argparse.ArgumentParser):
    """Parses arguments; an option that does not exist is answered with the nearest one that does.

    Options are added when the parser is used: the help of all commands does without those of each.
    """

    add_options: Callable[[argparse.ArgumentParser], None] | None = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Refuse what is not known here: this parser knows its own options best."""
        if self.add_options is not None:
            add_options, self.add_options = self.add_options, None
            add_options(self)
        arguments, unknown = super().parse_known_args(args, namespace)
        for text in unknown:
            option = text.partition("=")[0]
            if option.startswith("-") and not option.lstrip("-")[:1].isdigit():
                options = [name for action in self._actions for name in action.option_strings if name[:2] == "--"]
                self.error(f"there is no option {option}.{_hint_of_option(option, options)}")
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return arguments, []

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            choices = list(map(str, action.choices))
            rule = f"invalid choice: {value!r} (choose from {', '.join(choices)}).{_hint(value, choices)}"
            raise argparse.ArgumentError(action, rule)

    def _print_message(self, message: str, file: Any = None) -> None:
        super()._print_message(printable(message), file)

    def error(self, message: str) -> NoReturn:
        """Print what is wrong, and where the options are explained."""
        end = "" if message.endswith((".", "?")) else "."
        self.exit(2, f"{self.prog}: {message}{end} See {self.prog} --help.\n")


def _hint(text: str, choices: Iterable[str]) -> str:
    from .._arguments import did_you_mean  # brings numpy, which --help does without

    return did_you_mean(text, choices)


def _hint_of_option(text: str, options: Iterable[str]) -> str:
    from .._arguments import meant_argument

    arguments = {_as_argument(option): option for option in options}
    meant = meant_argument(_as_argument(text), arguments)
    return "" if meant is None else f" Did you mean {arguments[meant]!r}?"


def _as_argument(option: str) -> str:
    return option.lstrip("-").replace("-", "_")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; nothing heavy is imported for it."""
    parser = Parser(
        prog="ubayfs", description=_DESCRIPTION, epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"ubayfs {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    for name in COMMANDS:
        module = import_module(f".{name}", __package__)
        summary = (module.__doc__ or "").splitlines()[0].rstrip(".")
        command_parser = commands.add_parser(
            name, help=summary, description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        command_parser.add_options = module.add_arguments
        command_parser.set_defaults(run=module.run)
    return parser


def _explained(error: OSError) -> str:
    if error.filename is None:
        return f"the output could not be printed ({error.strerror or error})."
    ways = {
        errno.ENOSPC: "Free some space, or choose another directory with -o; nothing was changed.",
        errno.EACCES: "Choose another directory with -o, or ask for the right to write there.",
        errno.EROFS: "Choose another directory with -o.",
    }
    way = ways.get(error.errno or 0, "")
    return f"{error.filename}: {error.strerror or error}.{' ' + way if way else ''}"
