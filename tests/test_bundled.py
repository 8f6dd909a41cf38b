"""The models that users get, on synthetic speech, on recorded speech where there is some, and as graphs."""

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest
import soundfile

import hamiltone
from bundle import GRAPHS, presets_text
from hamiltone import models, weights
from hamiltone.data.noise import coloured
from hamiltone.data.synthetic import speech
from hamiltone.errors import InputError
from hamiltone.evaluation import read_report
from hamiltone.metrics import compute, si_sdr
from hamiltone.runtime.onnx_graph import OnnxGraph

EXAMPLE = Path(__file__).parents[1] / "examples" / "noisy.wav"


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


@pytest.mark.parametrize("model", ["compact", "live"])
def test_clean_speech_stays_as_loud_as_it_is(pairs, model) -> None:
    for _, clean in pairs:
        enhanced = hamiltone.enhance(clean, 16_000, model=model)
        assert abs(20 * np.log10(enhanced @ clean / (clean @ clean))) < 0.8  # dB


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


@pytest.mark.parametrize("name", GRAPHS)
def test_a_bundled_graph_was_made_of_the_bundled_checkpoint(name) -> None:
    about = OnnxGraph(weights.graphs()[name], threads=1).description
    model, window = GRAPHS[name]
    assert about.checkpoint == hashlib.sha256(weights.bundled()[model].read_bytes()).hexdigest(), "run make graphs"
    assert (about.preset, about.precision, about.licence) == (model, "float32", "Apache-2.0")
    assert (about.kind == "step") == (model == "live" and not window)


@pytest.mark.parametrize("name", ["compact", "compact-hamilton", "compact-shared", "live"])
def test_the_kept_scores_are_those_of_the_bundled_checkpoint(name) -> None:
    """Reports that are older than the entry do not say whose scores they are."""
    kept = read_report(Path(__file__).parents[1] / "results" / f"evaluate-{name}.json").checkpoint
    assert kept in ("", hashlib.sha256(weights.bundled()[name].read_bytes()).hexdigest()), "score the new weights"


def test_no_other_graphs_are_bundled() -> None:
    assert sorted(weights.graphs()) == sorted(GRAPHS)


@pytest.mark.parametrize("name", GRAPHS)
def test_graph_and_checkpoint_give_the_same_samples(name) -> None:
    noisy = soundfile.read(EXAMPLE, 32_000, dtype="float32")[0]
    with_graph = hamiltone.enhance(noisy, 16_000, model=weights.graphs()[name])
    expected = hamiltone.enhance(noisy, 16_000, model=models.load(GRAPHS[name][0]))
    assert np.abs(with_graph - noisy).max() > 0.01
    np.testing.assert_allclose(with_graph, expected, atol=1e-4)


def test_the_list_of_presets_is_up_to_date() -> None:
    assert weights.PRESETS_FILE.read_text() == presets_text(), "run make graphs"


@pytest.mark.parametrize("share", [0.0, 0.5, 0.999])
def test_a_bundled_graph_that_was_cut_short_is_one_line(share, tmp_path) -> None:
    content = weights.graphs()["live"].read_bytes()
    path = tmp_path / "live.onnx"
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(InputError, match=r"live\.onnx is ") as error:
        hamiltone.Stream(16_000, path)
    assert "\n" not in str(error.value)


def test_a_damaged_list_of_presets_is_one_line(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(weights, "PRESETS_FILE", tmp_path / "presets.json")
    for content in (None, "[{"):
        if content is not None:
            (tmp_path / "presets.json").write_text(content)
        with pytest.raises(InputError, match=r"presets\.json is damaged or missing; reinstall hamiltone"):
            weights.preset_rows()
