"""What several verbs share: parsing of lists, and a sign of life on the terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

from hamiltone.errors import InputError


def integers(option: str, text: str) -> list[int]:
    """Parse ``512,1024``; an InputError names the option."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{option} takes comma-separated integers such as 512,1024, got {text!r}") from None


@contextmanager
def spinner(message: str) -> Iterator[Callable[[str], None]]:
    """A spinner on standard error while something takes long; yields a function that changes its message."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status(message) as status:
        yield status.update
