"""A source after the first pass over it."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from hamiltone.audio.formats import AudioInfo
from hamiltone.audio.io import Reader, open_damaged, open_reader
from hamiltone.errors import InputError
from hamiltone.runtime.survey import Survey, survey_recording


@dataclass(frozen=True)
class Recording:
    """How to open a source again, its survey, and its damage, if any."""

    info: AudioInfo
    survey: Survey
    damage: str
    open: Callable[..., Reader]


def examine(source: Path, model_rate: int) -> Recording:
    """Read a source to its end; if it breaks off early, with the decoder that gets further."""
    recording = _read_through(source, open_reader, model_rate)
    if not recording.damage:
        return recording
    with suppress(InputError):
        further = _read_through(source, open_damaged, model_rate)
        if recording.survey.frames < further.survey.frames <= further.info.frames:
            return replace(
                further, damage=further.damage or "damaged; it was read to its end, but may sound wrong at the damage"
            )
    return recording


def _read_through(source: Path, open_source: Callable[..., Reader], model_rate: int) -> Recording:
    with open_source(source) as reader:
        info = reader.info
        survey = survey_recording(
            reader.read,
            name=str(source),
            sample_rate=info.sample_rate,
            channels=info.channels,
            model_rate=model_rate,
        )
        damage = ""
        if reader.missing:
            damage = f"damaged or truncated: it is {reader.missing:.2f} s shorter than its header says"
        elif reader.damaged:
            damage = "damaged: parts of it could not be decoded"
        return Recording(info, survey, damage, open_source)
