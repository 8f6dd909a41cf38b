"""The model that users get, on real speech."""

import os
from pathlib import Path

import numpy as np
import pytest
import soundfile

import hamiltone
from hamiltone.metrics import si_sdr


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


def test_silence_stays_silent() -> None:
    assert not hamiltone.enhance(np.zeros(16_000, np.float32), 16_000).any()
