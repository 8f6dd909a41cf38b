"""Faults that concern one recording and must not stop the others."""

from pathlib import Path

from hamiltone.errors import InputError

FAULTS = (InputError, OSError, MemoryError)


def fault_of(source: Path, error: BaseException) -> str:
    """One line that says what is wrong.

    >>> fault_of(Path("a.wav"), FileNotFoundError(2, "No such file or directory"))
    'a.wav: cannot read: No such file or directory'
    """
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, MemoryError):
        return f"{source}: there is not enough memory for it"
    return f"{source}: cannot read: {getattr(error, 'strerror', None) or error}"
