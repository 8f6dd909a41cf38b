"""Shared by several verbs: options, parsing of lists, and progress on the terminal.

rich is imported only where it prints, so that the help appears at once.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from hamiltone.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

_LONGEST = timedelta(days=99).total_seconds()

ModelOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|FILE", help="A bundled model, a checkpoint or an exported .onnx; default: the bundled one."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
StrengthOption = Annotated[
    float, typer.Option(metavar="0..1", help="How much noise removal to apply: 0 gives the input, 1 the full result.")
]


def rules(option: str, text: str) -> list[str]:
    """Parse ``shared,package.module:Name`` into names of score rules; rules of your own are imported."""
    from hamiltone.nn.rules import make_rule

    names = [name.strip() for name in text.split(",")]
    for name in names:
        use_rule(name)
        try:
            make_rule(name)
        except ValueError as error:
            raise InputError(f"{option}: {error}") from None
    return names


def use_rule(name: str) -> None:
    """Import a score rule that the user named on the command line, if it is not one of hamiltone's."""
    from hamiltone.nn import register_rule

    if ":" not in name:
        return
    try:
        register_rule(name)
    except ValueError as error:
        raise InputError(str(error)) from None


def numbers(option: str, text: str) -> list[float]:
    """Parse ``1,4,10`` into positive numbers; an InputError names the option."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if not values or not all(0 < value < float("inf") for value in values):
        raise InputError(f"{option} takes comma-separated positive numbers such as 1,4,10, got {text!r}")
    return values


def whole_numbers(option: str, text: str) -> list[int]:
    """Parse ``512,1024`` into positive whole numbers; an InputError names the option."""
    values = numbers(option, text)
    if not all(value.is_integer() for value in values):
        raise InputError(f"{option} takes comma-separated whole numbers such as 1,4,10, got {text!r}")
    return [int(value) for value in values]


def check_count(option: str, count: int | None) -> None:
    """Raise an `InputError` for more threads or processes than this machine could use."""
    most = max(64, 4 * (os.cpu_count() or 1))
    if count is not None and not 1 <= count <= most:
        raise InputError(f"{option} must lie between 1 and {most}, got {count}")


def printable(text: str) -> str:
    """One line of text that is safe to print, whatever file names it holds: control characters become escapes.

    >>> printable("a\\nb\\x1b[2J é \\udce9.wav")
    'a\\\\nb\\\\x1b[2J é \\\\udce9.wav'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def wide_console() -> "Console":
    """A console on standard output; if that is not a terminal, it is wide enough for long names."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=160)


@contextmanager
def spinner(message: str) -> Iterator[Callable[[str], None]]:
    """A spinner on standard error during long work; yields a function that changes its message."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status(message) as status:
        yield status.update


def time_left(seconds: float) -> str:
    """The time left in words; a damaged header may claim any length.

    >>> time_left(75.2), time_left(1e300)
    ('0:01:15 left', 'more than 99 days left')
    """
    return "more than 99 days left" if seconds > _LONGEST else f"{timedelta(seconds=round(max(seconds, 0)))} left"


@contextmanager
def progress_bar(unit: str) -> Iterator[Callable[[int, int], None]]:
    """A bar with time left on standard error, only on a terminal; yields a function of done and total."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    columns = (SpinnerColumn(), BarColumn(), MofNCompleteColumn(), TextColumn(unit), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def audio_progress_bar() -> Iterator[tuple["Console", Callable[[float, float], None]]]:
    """A console on standard error and a function that moves the bar on it, in seconds; the bar is for terminals only.

    The time left is that at the pace of all windows so far, which are too few for rich's own estimate.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn

    of_audio, left = (
        TextColumn("{task.completed:.0f} of {task.total:.0f} s of audio"),
        TextColumn("{task.fields[left]}"),
    )
    console = Console(stderr=True)
    columns = (SpinnerColumn(), BarColumn(), TaskProgressColumn(), of_audio, left)
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)

    def move(done: float, total: float) -> None:
        remaining = (bar.tasks[task].elapsed or 0.0) * (total - done) / done if done else None
        bar.update(task, completed=done, total=total, left="" if remaining is None else time_left(remaining))

    with bar:
        task = bar.add_task("", total=0.0, left="")
        yield console, move
