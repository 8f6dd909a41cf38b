"""The interface between the loop and a task, which holds all that is specific to speech, images or text."""

from collections.abc import Sequence, Sized
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from torch import Tensor, nn

from hamiltone.data.randomness import Key
from hamiltone.errors import InputError


class KeyedData(Sized, Protocol):
    """A map-style data set of ``len()`` samples an epoch.

    A sample must depend on the key alone (and on a seed that the data set was built with): then a run can be resumed
    anywhere, with any number of workers and processes.
    """

    def __getitem__(self, key: Key) -> Any:
        """The sample `index` of an epoch; samples are collated by torch's default, unless the data are `Ragged`."""


@runtime_checkable
class Ragged(Protocol):
    """Data whose samples have different lengths: those of similar length share a batch, which the data collate."""

    lengths: Sequence[int]

    def collate(self, samples: Any) -> Any:
        """A batch of samples, padded to the longest."""


class HeldOutData(Sized, Protocol):
    """Ready batches for validation, on the CPU; they are spread over the processes."""

    def __getitem__(self, index: int) -> Any:
        """A batch."""


@dataclass(frozen=True)
class Media:
    """What a log holds besides numbers: sounds ``(L,)`` with their rate, and pictures ``(1 or 3, H, W)`` in [0, 1]."""

    sounds: dict[str, tuple[Tensor, int]] = field(default_factory=dict)
    pictures: dict[str, Tensor] = field(default_factory=dict)


class Task(Protocol):
    """One kind of training; see `hamiltone.training.speech.SpeechTask` for an example.

    Losses are means over the samples of a batch, so that a batch may be cut into parts and spread over processes. Draw
    what is random in a loss from torch's or numpy's global generator: their states are saved with the run.
    """

    unit: str
    """What `units` counts, for the progress bar: ``audio s``."""
    select_by: str
    """The metric of `measure` by which the best model is chosen."""
    higher_is_better: bool

    @property
    def training(self) -> KeyedData:
        """The training data."""

    @property
    def validation(self) -> HeldOutData:
        """The held-out data."""

    def build(self) -> nn.Module:
        """The model to train, seeded by torch's generator, or with the weights that the recipe starts from."""

    def compile(self, model: nn.Module) -> None:
        """Apply torch.compile to the parts of the model that benefit from it."""

    def loss(self, model: nn.Module, batch: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of a batch and its parts, for the log; the names are the same in every step."""

    def units(self, batch: Any) -> float:
        """The size of a batch, in `unit`."""

    def measure(self, model: nn.Module, batch: Any) -> dict[str, Tensor]:
        """The metrics of every sample of a validation batch, ``(B,)`` each; NaN if undefined."""

    def media(self, model: nn.Module) -> Media:
        """Sounds and pictures to log after a validation."""

    def export(self, path: Path, model: nn.Module, facts: dict[str, Any]) -> None:
        """Write a checkpoint for inference, whole or not at all, with these facts about its training."""


M = TypeVar("M", bound=nn.Module)


def start_from(start: nn.Module | None, model: M, name: str | None) -> M:
    """The model with the weights of `start`, which the recipe calls `name`; unchanged if `start` is None."""
    if start is not None:
        try:
            model.load_state_dict(start.state_dict())
        except RuntimeError:
            raise InputError(f"init = {name} has other weights than the recipe's [model]") from None
    return model
