import pickle
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr

from hamiltone.data.files import FileRecordings
from hamiltone.data.pairs import FOLDERS, scan_voicebank, split_speakers
from hamiltone.data.signals import active_level, from_decibels
from hamiltone.data.sources import Babble, NoiseBlend, PairAudio, PairNoise, RecordedNoise, SyntheticNoise
from hamiltone.data.synthetic import NOMINAL_DB
from hamiltone.errors import InputError


def test_noise_is_noisy_minus_clean_exactly(audio: PairAudio) -> None:
    for index, pair in enumerate(audio.pairs):
        noisy, clean = (soundfile.read(path, dtype="int16")[0].astype(np.int64) for path in (pair.noisy, pair.clean))
        np.testing.assert_array_equal(audio.noise(index, 0, pair.frames) * 32768, noisy - clean)
        np.testing.assert_array_equal(audio.noise(index, 50, 20) * 32768, (noisy - clean)[50:70])


def test_noise_of_the_real_corpus_is_noisy_minus_clean_exactly(voicebank_mini: Path, tmp_path: Path) -> None:
    pairs = scan_voicebank(voicebank_mini).pairs[:5]
    audio = PairAudio.open(pairs, tmp_path)
    for index, pair in enumerate(pairs):
        noisy, clean = (soundfile.read(path, dtype="int16")[0].astype(np.int64) for path in (pair.noisy, pair.clean))
        np.testing.assert_array_equal(audio.noise(index, 0, pair.frames) * 32768, noisy - clean)


def test_a_corpus_at_48_khz_is_resampled_and_stays_paired(audio: PairAudio, tmp_path: Path) -> None:
    for folder, path in zip(FOLDERS["train"], (audio.pairs[0].clean, audio.pairs[0].noisy), strict=True):
        (tmp_path / folder).mkdir()
        signal = soxr.resample(soundfile.read(path)[0], 16000, 48000)
        soundfile.write(tmp_path / folder / "p300_001.wav", signal, 48000, subtype="FLOAT")
    report = scan_voicebank(tmp_path, sample_rate=48000)
    resampled = PairAudio.open(report.pairs, tmp_path / "cache")
    assert resampled.frames(0) == audio.frames(0)
    ours, theirs = resampled.noise(0, 500, 8000), audio.noise(0, 500, 8000)
    assert np.corrcoef(ours, theirs)[0, 1] > 0.95  # but for the last of the band


def test_a_selection_shares_the_store_and_reads_its_own_pairs(audio: PairAudio) -> None:
    _, validation = split_speakers(audio.pairs)
    selected = audio.select(validation)
    assert len(selected) == 4
    for index, pair in enumerate(validation):
        whole = audio.pairs.index(pair)
        for one, other in zip(selected.read(index, 0, 500), audio.read(whole, 0, 500), strict=True):
            np.testing.assert_array_equal(one, other)


def test_audio_survives_pickling(audio: PairAudio) -> None:
    copy = pickle.loads(pickle.dumps(audio))  # noqa: S301
    np.testing.assert_array_equal(copy.noise(3, 0, 100), audio.noise(3, 0, 100))


def test_short_recordings_are_filled_up_by_the_same_speaker(audio: PairAudio) -> None:
    pool = audio.speech()
    segment = pool.segment(np.random.default_rng(0), 0, 40000)
    assert segment.shape == (40000,)
    own = [audio.read(index, 0, 99999)[1] for index, pair in enumerate(audio.pairs) if pair.speaker == pool.speakers[0]]
    np.testing.assert_allclose(segment[: len(own[0])] / segment[:9600].std(), own[0] / own[0][:9600].std(), atol=1e-4)
    assert segment[20000:].any()


def test_speech_comes_at_the_level_of_its_whole_recording(audio: PairAudio) -> None:
    pool = audio.speech()
    whole = pool.segment(np.random.default_rng(0), 0, audio.frames(0))
    assert active_level(whole) == pytest.approx(from_decibels(NOMINAL_DB), rel=1e-3)


def test_babble_is_never_of_the_speaker_it_disturbs(audio: PairAudio) -> None:
    pool = audio.speech()
    for seed in range(20):
        others = pool.others(np.random.default_rng(seed), "p226", 7)
        assert len(others) == 7
        assert "p226" not in {pool.speakers[index] for index in others}


def test_short_noise_is_played_forth_and_back(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "ramp.wav", np.linspace(0.1, 0.9, 500), 16000, subtype="FLOAT")
    source = RecordedNoise(FileRecordings([tmp_path / "ramp.wav"]))
    noise = source(np.random.default_rng(0), 2200, "")
    assert np.abs(np.diff(noise)).max() < 0.01
    np.testing.assert_allclose(noise[500:1000], noise[499::-1], rtol=1e-6)


@pytest.mark.parametrize("kind", ["pairs", "recorded", "babble", "made"])
def test_every_source_draws_by_its_generator_at_about_unit_level(audio: PairAudio, kind: str) -> None:
    recorded = FileRecordings([pair.noisy for pair in audio.pairs])
    source = {
        "pairs": PairNoise(audio),
        "recorded": RecordedNoise(recorded),
        "babble": Babble(audio.speech()),
        "made": SyntheticNoise(),
    }[kind]
    for seed in range(5):
        noise = source(np.random.default_rng(seed), 24000, "p226")
        assert noise.shape == (24000,)
        assert 0.3 < active_level(noise) < 20
        np.testing.assert_array_equal(noise, source(np.random.default_rng(seed), 24000, "p226"))


class Constant:
    """A source of one value."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __call__(self, rng: np.random.Generator, length: int, speaker: str) -> np.ndarray:
        return np.full(length, self.value, np.float32)


def test_a_blend_draws_by_weight() -> None:
    blend = NoiseBlend([(0.1, Constant(1)), (0.0, Constant(9)), (0.3, Constant(2))], layered=0)
    rng = np.random.default_rng(0)
    drawn = [float(blend(rng, 1, "")[0]) for _ in range(2000)]
    assert set(drawn) == {1.0, 2.0}
    assert drawn.count(2.0) / 2000 == pytest.approx(0.75, abs=0.04)


def test_a_second_layer_lies_up_to_15_db_below() -> None:
    blend = NoiseBlend([(1.0, Constant(1))], layered=1)
    rng = np.random.default_rng(0)
    drawn = [float(blend(rng, 1, "")[0]) for _ in range(200)]
    assert 1 + from_decibels(-15) <= min(drawn) < max(drawn) <= 2


def test_a_blend_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="no noise to mix with"):
        NoiseBlend([(0.0, Constant(1))], layered=0)
