"""From the data table of a speech recipe to its data sets."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from torch import Tensor

from hamiltone.data.audio_store import AudioStore, open_store
from hamiltone.data.datasets import FullPairs, MixtureFolder, PairSegments, RemixedPairs, Segments, SyntheticSpeech
from hamiltone.data.files import Progress, audio_files, speaker_of
from hamiltone.data.pairs import scan_voicebank, split_speakers
from hamiltone.data.randomness import epoch_order
from hamiltone.data.sources import PairAudio, SpeechPool
from hamiltone.training.speech_recipe import Data, MixtureData, PairData, RemixedData, SyntheticData
from hamiltone.training.task import KeyedData

HELD_OUT_SEED = 2**31 - 1
"""Held-out mixtures are the same for every seed of a recipe."""

SpeechBatch = tuple[Tensor, Tensor]
"""Noisy and clean ``(B, L)``."""


class HeldOut:
    """Batches of one recording each, a fixed random choice; of generated data, those of epoch 0.

    Taking every n-th would be biased: corpora cycle through noises and ratios from file to file.
    """

    def __init__(self, recordings: FullPairs | Segments, limit: int | None = None) -> None:
        self._recordings = recordings
        count = len(recordings)
        wanted = count if limit is None else min(limit, count)
        self._rows = sorted(epoch_order(HELD_OUT_SEED, 0, count)[:wanted])

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, number: int) -> SpeechBatch:
        row, recordings = self._rows[number], self._recordings
        noisy, clean = recordings[row] if isinstance(recordings, FullPairs) else recordings[0, row]
        return noisy[None], clean[None]


def open_data(
    data: Data, seed: int, limit: int | None = None, progress: Progress | None = None
) -> tuple[KeyedData, HeldOut]:
    """The training data of a recipe, and at most `limit` held-out recordings.

    A corpus is decoded if it is not in the cache; `progress` is then called with the number of finished files and the
    total.
    """
    match data:
        case SyntheticData():
            training = SyntheticSpeech(data.segment, length=data.length, seed=seed, variety=data.variety)
            held_out = SyntheticSpeech(
                data.held_out_segment, length=data.held_out, seed=HELD_OUT_SEED, variety=data.variety
            )
            return training, HeldOut(held_out, limit)
        case MixtureData():
            return _open_mixtures(data, seed, limit, progress)
        case PairData() | RemixedData():
            return _open_pairs(data, seed, limit, progress)


def _open_mixtures(
    data: MixtureData, seed: int, limit: int | None, progress: Progress | None
) -> tuple[KeyedData, HeldOut]:
    opened = partial(
        MixtureFolder.open,
        data.root,
        held_out=data.held_out,
        cache=data.cache,
        skip=data.skip_faults,
        progress=progress,
        variety=data.variety,
    )
    training = opened(data.segment, part="train", length=data.length, seed=seed)
    held_out = opened(data.held_out_segment, part="validation", length=data.held_out_length, seed=HELD_OUT_SEED)
    return training, HeldOut(held_out, limit)


def _open_pairs(
    data: PairData | RemixedData, seed: int, limit: int | None, progress: Progress | None
) -> tuple[KeyedData, HeldOut]:
    report = scan_voicebank(data.root, sample_rate=data.sample_rate, skip=data.skip_faults)
    train, validation = split_speakers(report.pairs, data.held_out)
    audio = PairAudio.open(report.pairs, data.cache, progress=progress)
    held_out, audio = HeldOut(FullPairs(audio.select(validation)), limit), audio.select(train)
    if isinstance(data, PairData):
        return PairSegments(audio, data.segment, seed=seed), held_out
    recorded = _open_folders(data.noise, data, progress)
    speech = _open_folders(data.speech, data, progress)
    borrowed = None
    if speech is not None:
        borrowed = SpeechPool(speech, range(len(speech)), [speaker_of(path) for path in speech.paths])
    training = RemixedPairs(
        audio,
        data.segment,
        length=data.length,
        seed=seed,
        variety=data.variety,
        recorded=recorded,
        borrowed=borrowed,
    )
    return training, held_out


def _open_folders(folders: Sequence[Path], data: RemixedData, progress: Progress | None) -> AudioStore | None:
    paths = [path for folder in folders for path in audio_files(folder)]
    return open_store(paths, data.cache, skip=data.skip_faults, progress=progress) if paths else None
