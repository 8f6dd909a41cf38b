"""The description of an exported graph: one JSON string in the metadata of the file."""

import json
import math
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from hamiltone.errors import InputError

FORMAT = 1
KEY = "hamiltone"
SPECTRUM, GAIN = "spectrum", "gain"
KINDS = ("window", "step")
_MOST_FRAMES = 2000  # per second; attention over time is quadratic in them
_MOST_NUMBERS = 2**24  # in all states of a graph: 64 MiB


@dataclass(frozen=True)
class GraphState:
    """A tensor that a graph takes as `name`, zero at first, and returns as `next`."""

    name: str
    next: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Description:
    """How to run a graph, and where it comes from.

    A graph of the kind ``window`` takes any number of frames, one of the kind ``step`` takes one. The graph of a model
    that never looks ahead also takes states and returns those after the last frame; its sound may have any level.
    Without states a recording must be of unit level. `latency` is the delay in samples; a graph of windows has none,
    since a window has to be complete. `checkpoint` is the SHA-256 of the file that the graph was made from, `version`
    that of hamiltone, `config` the configuration of the model.
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
    states: tuple[GraphState, ...] = ()

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
        if not isinstance(content, dict):
            raise InputError("its description is damaged: it is not a JSON object")
        if content.pop("format") != FORMAT:
            raise InputError(f"its format is not {FORMAT}, the one that this version reads")
        known = {entry.name for entry in fields(Description)}
        states = tuple(GraphState(**{**state, "shape": tuple(state["shape"])}) for state in content.pop("states"))
        description = Description(**{name: content[name] for name in known & content.keys()}, states=states)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:  # JSON may hold anything
        if isinstance(error, InputError):
            raise
        raise InputError(f"its description is damaged: {error}") from None
    _check(description)
    return description


def _check(description: Description) -> None:
    """Refuse what no export writes: sizes out of bounds, names and shapes of another type."""
    rate, n_fft, hop = sizes = description.sample_rate, description.n_fft, description.hop
    whole = all(type(size) is int for size in (*sizes, *(size for state in description.states for size in state.shape)))
    if description.kind not in KINDS or not whole or not 1000 <= rate <= 192_000 or not 16 <= n_fft <= 16_384:
        raise InputError(f"its description is damaged: kind {description.kind!r}, rate, n_fft and hop {sizes}")
    if n_fft % 2 or not n_fft <= 16 * hop <= 8 * n_fft:
        raise InputError(f"expected an even n_fft and a hop of 1/16 to 1/2 of it, got {n_fft} and {hop}")
    if rate > _MOST_FRAMES * hop:
        raise InputError(f"expected at most {_MOST_FRAMES:,} frames per second, got a hop of {hop} at {rate} Hz")
    sizes_of_states = [math.prod(state.shape) for state in description.states]
    if any(size < 1 for state in description.states for size in state.shape) or sum(sizes_of_states) > _MOST_NUMBERS:
        raise InputError(f"its description is damaged: states of {sum(sizes_of_states)} numbers")
    if not all(isinstance(name, str) for state in description.states for name in (state.name, state.next)):
        raise InputError("its description is damaged: a state without a name")
