"""The models that users get, on synthetic speech, and on recorded speech where there is some."""

import os
from pathlib import Path

import numpy as np
import pytest
import soundfile

import hamiltone
from hamiltone.data.noise import coloured
from hamiltone.data.synthetic import speech
from hamiltone.metrics import compute, si_sdr


@pytest.fixture(scope="module")
def pairs() -> list[tuple[np.ndarray, np.ndarray]]:
    """Noisy and clean recordings of the test split."""
    data = Path(os.environ.get("HAMILTONE_DATA") or Path(__file__).parents[2] / "shared" / "data") / "voicebank_mini"
    if not data.is_dir():
        pytest.skip("needs the folder voicebank_mini; set HAMILTONE_DATA to where it lies")
    paths = sorted((data / "noisy_testset_wav").iterdir())[::4]
    read = [[soundfile.read(data / folder / path.name, dtype="float32")[0] for folder in FOLDERS] for path in paths]
    return [(noisy, clean) for noisy, clean in read]


FOLDERS = ("noisy_testset_wav", "clean_testset_wav")


def test_noise_becomes_less(pairs) -> None:
    gains = [si_sdr(hamiltone.enhance(noisy, 16_000), clean) - si_sdr(noisy, clean) for noisy, clean in pairs]
    assert np.mean(gains) > 5
    assert np.min(gains) > 0


def test_clean_speech_stays_as_it_is(pairs) -> None:
    assert np.mean([si_sdr(hamiltone.enhance(clean, 16_000), clean) for _, clean in pairs]) > 20


def synthetic_mixtures() -> list[tuple[np.ndarray, np.ndarray]]:
    """Four synthetic voices of three seconds, each in as much noise of its own colour."""
    mixtures = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        clean = speech(rng, 48_000)
        noise = coloured(rng, len(clean))
        noise *= np.linalg.norm(clean) / np.linalg.norm(noise)
        mixtures.append((clean + noise, clean))
    return mixtures


@pytest.mark.parametrize(("model", "least_db", "least_stoi"), [("compact", 7.0, 0.03), ("live", 5.0, 0.005)])
def test_a_synthetic_voice_gets_cleaner_and_more_intelligible(model, least_db, least_stoi) -> None:
    pytest.importorskip("pystoi")
    gains = []
    for noisy, clean in synthetic_mixtures():
        enhanced = hamiltone.enhance(noisy, 16_000, model=model)
        before, after = (compute(["sisdr", "stoi"], signal, clean, 16_000) for signal in (noisy, enhanced))
        gains.append([after["sisdr"] - before["sisdr"], after["stoi"] - before["stoi"]])
    decibels, stoi = np.mean(gains, axis=0)
    assert decibels > least_db and stoi > least_stoi
    assert np.min(gains, axis=0)[0] > 0


def test_silence_stays_silent() -> None:
    assert not hamiltone.enhance(np.zeros(16_000, np.float32), 16_000).any()
