import shutil
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from hamiltone.data.datasets import FullPairs, MixtureFolder, PairSegments, RemixedPairs, Segments, SyntheticSpeech
from hamiltone.data.files import FileRecordings, speaker_of
from hamiltone.data.mixing import PLAIN, Variety
from hamiltone.data.noise import coloured
from hamiltone.data.pairs import FOLDERS, scan_voicebank, split_speakers
from hamiltone.data.randomness import epoch_order
from hamiltone.data.sources import PairAudio
from hamiltone.data.synthetic import speech
from hamiltone.errors import InputError

SEGMENT = 9000  # shorter than every recording


@pytest.fixture(scope="module")
def dns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders as those of the DNS Challenge: forty readers, twenty noises, two rooms."""
    root = tmp_path_factory.mktemp("dns")
    for reader in range(40):
        path = root / "clean" / "read_speech" / f"book_{reader:05}_chp_0001_reader_{reader:05}_0_seg_1.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, speech(np.random.default_rng(reader), 8000 + 500 * reader), 16000)
    (root / "noise").mkdir()
    for number in range(20):
        noise = 0.1 * coloured(np.random.default_rng(number), 15000)
        soundfile.write(root / "noise" / f"noise_{number}.wav", noise, 48000 if number % 2 else 16000)
    (root / "impulse_responses" / "small").mkdir(parents=True)
    for number in range(2):
        response = np.exp(-np.arange(4000) / 500) * np.random.default_rng(number).standard_normal(4000)
        response[100] = 5
        soundfile.write(root / "impulse_responses" / "small" / f"r{number}.wav", response / 10, 16000)
    return root


@pytest.fixture(params=["pairs", "remixed", "folder", "cached folder", "synthetic"])
def dataset(request: pytest.FixtureRequest, audio: PairAudio, dns: Path, tmp_path: Path) -> Segments:
    recorded = FileRecordings(sorted((dns / "noise").iterdir()))
    match request.param:
        case "pairs":
            return PairSegments(audio, SEGMENT)
        case "remixed":
            return RemixedPairs(audio, SEGMENT, length=20, recorded=recorded)
        case "folder":
            return MixtureFolder.open(dns, SEGMENT, length=20, held_out=0.2)
        case "cached folder":
            return MixtureFolder.open(dns, SEGMENT, length=20, held_out=0.2, cache=tmp_path)
        case _:
            return SyntheticSpeech(SEGMENT, length=20, variety=Variety())


def test_samples_are_float32_segments(dataset: Segments) -> None:
    for index in range(len(dataset)):
        for signal in dataset[0, index]:
            assert signal.dtype == torch.float32
            assert signal.shape == (SEGMENT,)
            assert signal.isfinite().all()


def test_equal_keys_give_equal_samples_in_any_order(dataset: Segments) -> None:
    first = {key: dataset[key] for key in reversed(dataset.keys(1)[:8])}
    for key in sorted(first):
        for one, two in zip(dataset[key], first[key], strict=True):
            assert torch.equal(one, two)


def test_epoch_index_and_seed_each_change_the_sample(dataset: Segments) -> None:
    sample = dataset[0, 0][0]
    others = [dataset[1, 0][0], dataset[0, 1][0]]
    dataset.seed = 1
    others.append(dataset[0, 0][0])
    assert not any(torch.equal(sample, other) for other in others)


def test_an_index_beyond_the_epoch_is_an_error(dataset: Segments) -> None:
    with pytest.raises(IndexError):
        dataset[0, len(dataset)]


class Both(torch.utils.data.Dataset[tuple[Tensor, Tensor]]):
    """A remixed and a synthetic data set in one, so that a pair of worker processes serves for both."""

    def __init__(self, *parts: Segments) -> None:
        self.parts = parts

    def __getitem__(self, key: tuple[int, int, int]) -> tuple[Tensor, Tensor]:
        part, epoch, index = key
        return self.parts[part][epoch, index]


def test_samples_do_not_depend_on_the_process_or_the_worker_that_makes_them(audio: PairAudio) -> None:
    dataset = Both(RemixedPairs(audio, SEGMENT), SyntheticSpeech(SEGMENT, length=8, variety=Variety()))
    keys = [(part, 3, index) for part in (0, 1) for index in (5, 2, 7, 0, 1)]
    loader = DataLoader(dataset, batch_size=None, sampler=keys, num_workers=2, multiprocessing_context="spawn")
    for key, sample in zip(keys, loader, strict=True):
        for one, two in zip(sample, dataset[key], strict=True):
            assert torch.equal(one, two)


def test_pair_segments_are_aligned_parts_of_the_recordings(audio: PairAudio) -> None:
    dataset = PairSegments(audio, 3000)
    assert len(dataset) == len(audio.pairs)
    for index, item in enumerate(epoch_order(0, 4, len(audio))):
        pair = audio.pairs[item]
        noisy, clean = (soundfile.read(path, dtype="float32")[0] for path in (pair.noisy, pair.clean))
        segment, target = (signal.numpy() for signal in dataset[4, index])
        windows = np.lib.stride_tricks.sliding_window_view(noisy, 3000)
        (start,) = np.flatnonzero((windows == segment).all(1))
        np.testing.assert_array_equal(clean[start : start + 3000], target)


def test_pairs_shorter_than_a_segment_end_in_silence(audio: PairAudio) -> None:
    noisy, clean = PairSegments(audio, 30000)[0, 0]
    item = epoch_order(0, 0, len(audio))[0]
    assert torch.equal(noisy[: audio.frames(item)], torch.from_numpy(audio.read(item, 0, 30000)[0]))
    assert not noisy[audio.frames(item) :].any()
    assert not clean[audio.frames(item) :].any()


def test_full_pairs_are_whole_files(audio: PairAudio) -> None:
    dataset = FullPairs(audio)
    assert dataset.names == [pair.name for pair in audio.pairs]
    for index, pair in enumerate(audio.pairs):
        for signal, path in zip(dataset[index], (pair.noisy, pair.clean), strict=True):
            np.testing.assert_array_equal(signal.numpy(), soundfile.read(path, dtype="float32")[0])


def test_originals_are_kept_at_their_share(audio: PairAudio) -> None:
    always = RemixedPairs(audio, 3000, variety=Variety(original=1))
    noisy, clean = always[0, 2]
    recorded, target = audio.read(epoch_order(0, 0, len(audio))[2], 0, 99999)
    windows = np.lib.stride_tricks.sliding_window_view(recorded, 3000)
    (start,) = np.flatnonzero((windows == noisy.numpy()).all(1))
    np.testing.assert_array_equal(target[start : start + 3000], clean.numpy())


def test_remixed_speech_is_that_of_its_pair(audio: PairAudio) -> None:
    dataset = RemixedPairs(audio, 9600, length=16, variety=replace(PLAIN, babble=0))
    (shortest,) = (item for item in range(len(audio)) if audio.frames(item) == 9600)
    first = epoch_order(0, 0, len(audio)).index(shortest)
    for index in (first, first + 8):  # the second round takes the same pairs with other noise
        noisy, clean = dataset[0, index]
        assert np.corrcoef(clean.numpy(), audio.read(shortest, 0, 9600)[1])[0, 1] == pytest.approx(1, abs=1e-4)
        assert not torch.equal(noisy, clean)


class Numbers(Segments):
    """Returns the numbers of its items."""

    def make(self, rng: np.random.Generator, item: int) -> tuple[np.ndarray, np.ndarray]:
        return np.full(1, item, np.float32), np.full(1, item, np.float32)


@pytest.mark.parametrize("length", [3, 10, 25])
def test_an_epoch_takes_a_part_of_the_items_or_all_of_them_evenly(length: int) -> None:
    dataset = Numbers(1, items=10, length=length, seed=0)
    epochs = [[int(dataset[key][0]) for key in dataset.keys(epoch)] for epoch in range(30)]
    assert len(set(map(tuple, epochs))) == 30
    for items in epochs:
        counts = np.bincount(items, minlength=10)
        assert counts.max() - counts.min() <= 1
    assert set().union(*epochs) == set(range(10))


def test_validation_speakers_are_heard_neither_as_speech_nor_as_babble(audio: PairAudio) -> None:
    train, _ = split_speakers(audio.pairs)
    pool = audio.select(train).speech()
    assert set(pool.speakers) == {"p300", "p301"}
    assert {speaker_of(path) for path in pool.paths} == {"p300", "p301"}


def test_data_for_testing_is_refused_by_every_data_set(
    corpus: Path, dns: Path, audio: PairAudio, tmp_path: Path
) -> None:
    for source, target in zip(FOLDERS["train"], FOLDERS["test"], strict=True):
        shutil.copytree(corpus / source, tmp_path / target)
    forbidden = PairAudio.open(scan_voicebank(tmp_path, "test").pairs, tmp_path / "cache")
    noise = FileRecordings(sorted((tmp_path / FOLDERS["test"][1]).iterdir()))
    shutil.copytree(dns, tmp_path / "test_set" / "dns")
    for make in (
        lambda: PairSegments(forbidden, 100),
        lambda: RemixedPairs(forbidden, 100),
        lambda: FullPairs(forbidden),
        lambda: RemixedPairs(audio, 100, recorded=noise),
        lambda: MixtureFolder.open(tmp_path / "test_set" / "dns", 100),
    ):
        with pytest.raises(InputError, match="is a test folder"):
            make()


def test_the_parts_of_a_mixture_folder_share_no_speaker(dns: Path) -> None:
    train, validation = (MixtureFolder.open(dns, 100, part=part, held_out=0.2) for part in ("train", "validation"))
    speakers = [set(dataset._pool.speakers) for dataset in (train, validation)]
    assert not speakers[0] & speakers[1]
    assert len(speakers[0] | speakers[1]) == 40
    assert 2 <= len(speakers[1]) <= 16


def test_a_mixture_folder_needs_clean_and_noise(tmp_path: Path, dns: Path) -> None:
    with pytest.raises(InputError, match="clean: is not a folder"):
        MixtureFolder.open(tmp_path, 100)
    with pytest.raises(InputError, match="nothing is left for the validation part"):
        MixtureFolder.open(dns, 100, part="validation", held_out=0.0)


def test_a_segment_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="at least one"):
        SyntheticSpeech(0)


def test_remixing_keeps_ahead_of_training(audio: PairAudio) -> None:
    """At least 60 s of audio in a second of one core's time."""
    dataset = RemixedPairs(audio, 32000, length=30)
    dataset[0, 0]
    start = time.process_time()
    for index in range(30):
        dataset[1, index]
    assert time.process_time() - start < 30 * 2 / 60  # about a tenth of that on an idle machine


def test_real_pairs_remix(voicebank_mini: Path, tmp_path: Path) -> None:
    train, _ = split_speakers(scan_voicebank(voicebank_mini).pairs, ["p227"])
    audio = PairAudio.open(train[::6], tmp_path)
    dataset = RemixedPairs(audio, 32000)
    for index in range(len(dataset)):
        for signal in dataset[0, index]:
            assert signal.isfinite().all()
            assert signal.abs().max() <= 1.1


def test_borrowed_speech_replaces_that_of_the_corpus(audio: PairAudio) -> None:
    train, other = audio.select(audio.pairs[:4]), audio.select(audio.pairs[4:])
    clean = replace(PLAIN, borrowed=1.0, no_noise=1.0, level_db=(-25.0, -25.0))
    borrowing = RemixedPairs(train, 3000, variety=clean, borrowed=other.speech())
    own = RemixedPairs(other, 3000, variety=clean)
    _, target = borrowing[0, 0]
    windows = [
        np.lib.stride_tricks.sliding_window_view(other.read(item, 0, other.frames(item))[1], 3000)
        for item in range(len(other))
    ]
    wanted = target.numpy() / np.linalg.norm(target)
    match = max(float((w @ wanted / np.linalg.norm(w, axis=1).clip(1e-6)).max()) for w in windows)
    assert match > 0.9999
    assert not torch.equal(own[0, 0][1], target)
