"""How a recording is to be enhanced."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Union

from hamiltone.errors import InputError
from hamiltone.runtime.backend import Backend
from hamiltone.runtime.keep import Passages, check_passages

if TYPE_CHECKING:
    from hamiltone.models import Enhancer

Model = Union["Enhancer", Backend, str, Path, None]
"""An enhancer, a back end, the name or file of one, or None for the bundled one."""

WINDOW_SECONDS = 8.0


@dataclass(frozen=True)
class Settings:
    """The model, the share of its result in the output (0 to 1), the longest window in seconds, passages to keep."""

    model: Backend
    strength: float
    window_seconds: float
    keep: Passages = ()

    def __post_init__(self) -> None:
        if not 0 <= self.strength <= 1:
            raise InputError(f"expected a strength from 0 to 1, got {self.strength}")
        if not 1 <= self.window_seconds < float("inf"):
            raise InputError(f"expected windows of at least one second, got {self.window_seconds}")
        check_passages(self.keep)
