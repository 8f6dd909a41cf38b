from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from hamiltone.data.pairs import FOLDERS
from hamiltone.data.synthetic import speech
from hamiltone.errors import InputError
from hamiltone.models import bundled, load_checkpoint
from hamiltone.paper.pair import PAIRS, check_pair, recorded_utterances, synthetic_utterances


@pytest.mark.parametrize("pair", PAIRS)
def test_a_bundled_pair_differs_in_its_scores_alone(pair):
    headers = [load_checkpoint(bundled()[name])[1] for name in PAIRS[pair]]
    recipes = [dict(header.training["recipe"]) for header in headers]
    models = [dict(recipe.pop("model")) for recipe in recipes]
    assert recipes[0] == recipes[1]
    assert [model.pop("attention") for model in models] == ["shared", "hamilton"]
    assert models[0] == models[1]
    assert headers[0].training["step"] == headers[1].training["step"]


def test_the_default_pair_is_the_compact_one():
    assert check_pair("toy") == "toy"
    assert check_pair() == "compact"


def test_a_pair_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="no pair nonsense; the bundled ones are compact, toy"):
        check_pair("nonsense")


def test_synthetic_speech_is_always_the_same():
    first, second = synthetic_utterances(2, 0.5), synthetic_utterances(3, 0.5)
    assert first[0].noisy.shape == (1, 8000) and torch.equal(first[1].noisy, second[1].noisy)
    assert not torch.equal(first[0].clean, first[1].clean)


def write_test_set(root: Path, seconds: list[float]) -> None:
    for folder in FOLDERS["test"]:
        (root / folder).mkdir()
        for number, length in enumerate(seconds):
            signal = speech(np.random.default_rng(number), int(length * 16_000))
            soundfile.write(root / folder / f"p232_{number:03}.wav", signal, 16_000)


def test_recordings_are_those_that_are_long_enough(tmp_path):
    write_test_set(tmp_path, [0.3, 1.0, 0.2, 0.8])
    found = recorded_utterances(tmp_path, 2, seconds=0.5)
    assert [one.name for one in found] == ["p232_001", "p232_003"] and found[0].noisy.shape == (1, 8000)
    with pytest.raises(InputError, match="only 2 test recordings"):
        recorded_utterances(tmp_path, 3, seconds=0.5)
    with pytest.raises(InputError, match="expected the folders"):
        recorded_utterances(tmp_path / "nowhere", 1)
