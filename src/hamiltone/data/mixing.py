"""Speech and noise at a signal-to-noise ratio, and the effects applied to a mixture."""

from dataclasses import dataclass, fields
from typing import Literal

import numpy as np

from hamiltone.data.augment import change_level, clip, encode, equalise, limit_band, reverberate, set_level
from hamiltone.data.rooms import Rooms, decaying_room
from hamiltone.data.signals import Signal, active_level, from_decibels
from hamiltone.data.synthetic import NOMINAL_DB
from hamiltone.errors import InputError

_QUIET_SPEECH = from_decibels(NOMINAL_DB - 15)  # a segment between two words has no level of its own to measure
_QUIET_NOISE = from_decibels(-20)


@dataclass(frozen=True)
class Variety:
    """How training mixtures vary: ranges in dB, weights of the kinds of noise, and probabilities of each effect.

    A kind of noise for which a data set has no source is left out; the weights of the others keep their proportions.
    """

    snr_db: tuple[float, float] = (-8.0, 20.0)
    """Range of the signal-to-noise ratio."""
    level_db: tuple[float, float] = (-45.0, -15.0)
    """Range of the active level of the noisy signal below full scale."""

    remixed: float = 0.45
    """Weight: noise of another pair."""
    recorded: float = 0.25
    """Weight: noise from folders."""
    babble: float = 0.12
    """Weight: other speakers of the corpus."""
    synthetic: float = 0.18
    """Weight: generated noise."""
    layered: float = 0.2
    """Probability of a second noise below the first."""

    original: float = 0.2
    """Probability of a pair as it was recorded, with none of the following."""
    borrowed: float = 0.1
    """Probability of speech from folders instead of the corpus."""
    retuned: float = 0.3
    """Probability of speech played faster or slower, which moves pitch and formants."""
    no_noise: float = 0.02
    """Probability of speech without noise."""
    no_speech: float = 0.02
    """Probability of noise without speech."""
    equalised_speech: float = 0.4
    """Probability of a random equaliser on the speech."""
    equalised_noise: float = 0.3
    """Probability of a random equaliser on the noise."""
    reverberant: float = 0.25
    """Probability of a room."""
    band_limited: float = 0.15
    """Probability of a narrower band."""
    encoded: float = 0.06
    """Probability of a lossy codec."""
    clipped: float = 0.06
    """Probability of clipping."""
    uneven: float = 0.15
    """Probability that everything is suddenly louder or softer, as when the speaker changes."""
    target: Literal["early", "reverberant"] = "early"
    """The target of a reverberant mixture: 50 ms of the room, or all of it."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name.endswith("_db"):
                if len(value) != 2 or not value[0] <= value[1]:
                    raise InputError(f"{field.name}: expected a range [lowest, highest], got {value}")
            elif field.name == "target":
                if value not in {"early", "reverberant"}:
                    raise InputError(f"target: expected early or reverberant, got {value}")
            elif not 0 <= value <= 1:
                raise InputError(f"{field.name}: expected a number from 0 to 1, got {value}")


PLAIN = Variety(
    snr_db=(-5.0, 15.0),
    layered=0.0,
    original=0.0,
    borrowed=0.0,
    retuned=0.0,
    no_noise=0.0,
    no_speech=0.0,
    equalised_speech=0.0,
    equalised_noise=0.0,
    reverberant=0.0,
    band_limited=0.0,
    encoded=0.0,
    clipped=0.0,
    uneven=0.0,
)
"""Speech plus noise at a random ratio and level, nothing else."""


def mix(
    speech: Signal, noise: Signal, snr_db: float, *, least_speech: float = 1e-4, least_noise: float = 1e-4
) -> Signal:
    """Speech plus the noise scaled so that their active levels are `snr_db` apart.

    Levels below the given minimum count as the minimum, so that silence neither mutes the noise nor amplifies it.

    Shape:
        speech, noise, returns: ``(L,)``
    """
    louder = max(active_level(speech), least_speech) / max(active_level(noise), least_noise)
    return speech + noise * np.float32(louder * from_decibels(-snr_db))


def compose(
    rng: np.random.Generator,
    speech: Signal,
    noise: Signal,
    variety: Variety,
    rooms: Rooms = decaying_room,
) -> tuple[Signal, Signal]:
    """A noisy signal and its clean target. The target is never delayed against the noisy signal, and never clips.

    Equaliser, room, band and level shape the target too, so that it can be reached; codec and clipping do not.

    Shape:
        speech, noise: ``(L,)``, the speech at `NOMINAL_DB`, the noise at about unit level
        returns: noisy and clean, ``(L,)`` each
    """

    def happens(probability: float) -> bool:
        return bool(rng.random() < probability)

    if happens(variety.no_speech):
        speech = np.zeros_like(speech)
    elif happens(variety.no_noise):
        noise = np.zeros_like(noise)
    if happens(variety.equalised_speech):
        speech = equalise(rng, speech)
    if happens(variety.equalised_noise):
        noise = equalise(rng, noise)
    heard = clean = speech
    if happens(variety.reverberant):
        heard, early = reverberate(speech, rooms(rng))
        clean = early if variety.target == "early" else heard
    snr_db = rng.uniform(*variety.snr_db)
    noisy = mix(heard, noise, snr_db, least_speech=_QUIET_SPEECH, least_noise=_QUIET_NOISE)
    if happens(variety.band_limited):
        noisy, clean = limit_band(rng, np.stack([noisy, clean]))
    if happens(variety.uneven):
        noisy, clean = change_level(rng, np.stack([noisy, clean]))
    noisy, clean = set_level(noisy, clean, rng.uniform(*variety.level_db))
    if happens(variety.encoded):
        noisy = encode(rng, noisy)
    if happens(variety.clipped):
        noisy = clip(rng, noisy)
    return noisy, clean
