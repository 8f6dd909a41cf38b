import os
from pathlib import Path

import numpy as np
import pytest
import soundfile

from hamiltone.data.noise import coloured
from hamiltone.data.pairs import FOLDERS, scan_voicebank
from hamiltone.data.sources import PairAudio
from hamiltone.data.synthetic import speech

SPEAKERS = ("p226", "p287", "p300", "p301")


def write_pair(root: Path, name: str, *, seed: int, seconds: float, split: str = "train", suffix: str = ".wav") -> None:
    rng = np.random.default_rng(seed)
    clean = speech(rng, int(seconds * 16000))
    noisy = clean + 0.03 * coloured(rng, len(clean))
    for folder, signal in zip(FOLDERS[split], (clean, noisy), strict=True):
        (root / folder).mkdir(parents=True, exist_ok=True)
        soundfile.write(root / folder / f"{name}{suffix}", signal, 16000, subtype="PCM_16")


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two pairs each of four speakers in VoiceBank's folders, 0.6 to 1.3 s, half of them flac; never written to."""
    root = tmp_path_factory.mktemp("voicebank")
    for number, speaker in enumerate(2 * SPEAKERS):
        suffix = ".flac" if number < len(SPEAKERS) else ".wav"
        write_pair(root, f"{speaker}_{number:03}", seed=number, seconds=0.6 + 0.1 * number, suffix=suffix)
    return root


@pytest.fixture(scope="session")
def audio(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> PairAudio:
    return PairAudio.open(scan_voicebank(corpus).pairs, tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def voicebank_mini() -> Path:
    """Sixty train and 24 test pairs of the real corpus."""
    data = Path(os.environ.get("HAMILTONE_DATA") or Path(__file__).parents[3] / "shared" / "data")
    if not (data / "voicebank_mini").is_dir():
        pytest.skip("needs the folder voicebank_mini; set HAMILTONE_DATA to where it lies")
    return data / "voicebank_mini"
