"""The description of an exported graph: one JSON string in the metadata of the file."""

import json
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from hamiltone.errors import InputError

FORMAT = 1
KEY = "hamiltone"
SPECTRUM, GAIN = "spectrum", "gain"
KINDS = ("window", "step")


@dataclass(frozen=True)
class State:
    """A tensor that a step graph takes as `name`, zero at first, and returns as `next`."""

    name: str
    next: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Description:
    """How to run a graph, and where it comes from.

    A graph of the kind ``window`` takes any number of frames of a recording of unit level; one of the kind ``step``
    takes one frame of a stream of any level, and its states. `latency` is the delay in samples; a graph of windows has
    none, since a window has to be complete. `checkpoint` is the SHA-256 of the file that the graph was made from,
    `version` that of hamiltone, `config` the configuration of the model.
    """

    kind: str
    sample_rate: int
    n_fft: int
    hop: int
    latency: int | None
    licence: str
    checkpoint: str
    version: str
    precision: str = "float32"
    preset: str = ""
    config: dict[str, Any] = field(default_factory=dict)
    states: tuple[State, ...] = ()

    @property
    def bins(self) -> int:
        """The number F of frequency bins."""
        return self.n_fft // 2 + 1

    @property
    def spectrum_shape(self) -> tuple[int | None, ...]:
        """The shape of input and output, real and imaginary parts last; None is any number of frames."""
        return (1, None if self.kind == "window" else 1, self.bins, 2)

    def to_json(self) -> str:
        """The JSON text stored in the file."""
        return json.dumps({"format": FORMAT, **asdict(self)})


def from_json(text: str) -> Description:
    """Undo `Description.to_json`; an InputError says what is wrong with the text."""
    try:
        content = json.loads(text)
        if content.pop("format") != FORMAT:
            raise InputError(f"its format is not {FORMAT}, the one that this version reads")
        known = {entry.name for entry in fields(Description)}
        states = tuple(State(**{**state, "shape": tuple(state["shape"])}) for state in content.pop("states"))
        description = Description(**{name: content[name] for name in known & content.keys()}, states=states)
    except (json.JSONDecodeError, AttributeError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"its description is damaged: {error}") from None
    sizes = (description.sample_rate, description.n_fft, description.hop)
    if description.kind not in KINDS or not all(isinstance(size, int) and size > 0 for size in sizes):
        raise InputError(f"its description is damaged: kind {description.kind!r}, rate, n_fft and hop {sizes}")
    return description
