from pathlib import Path

import numpy as np
import pytest

from hamiltone.errors import InputError
from hamiltone.metrics import DNSMOS, UndefinedScoreError, dnsmos_ratings
from hamiltone.metrics.dnsmos import SlidingNetwork
from speech import RATE, synthetic_speech

SPEECH = synthetic_speech(1.0)


@pytest.fixture(scope="module")
def package():
    return pytest.importorskip("speechmos.dnsmos", reason='needs the networks: pip install "hamiltone[metrics]"')


@pytest.mark.parametrize(
    "seconds",
    [
        pytest.param(1.0, id="repeated to 16 s, eight windows"),
        pytest.param(2.4, id="repeated to 9.6 s, one window"),
        pytest.param(11.3, id="three windows"),
    ],
)
def test_ratings_are_those_of_the_package(package, seconds: float) -> None:
    samples = synthetic_speech(seconds).astype(np.float32)
    expected = package.run(samples, RATE)
    ratings = dnsmos_ratings(samples, RATE)
    assert ratings == pytest.approx([expected[f"{name}_mos"] for name in DNSMOS._fields], abs=1e-5)


def test_a_recording_after_another_starts_anew(package) -> None:
    first, second = synthetic_speech(10.1, seed=1), synthetic_speech(10.1, seed=2)
    alone = dnsmos_ratings(second, RATE)
    dnsmos_ratings(first, RATE)
    assert dnsmos_ratings(second, RATE) == alone


def test_a_window_that_goes_on_from_the_last_costs_its_new_part_only_and_has_the_same_features(package) -> None:
    network = SlidingNetwork(Path(package.__file__).parent / "dnsmos_models" / "sig_bak_ovr.onnx", threads=1)
    front, lengths = network._front, []
    network._front = lambda samples: (lengths.append(samples.shape[1]), front(samples))[1]
    samples, whole = synthetic_speech(11.2).astype(np.float32)[None], 144_160
    for start in (0, RATE, 2 * RATE + 1):
        window = samples[:, start : start + whole]
        network.run(None, {"input_1": window})
        np.testing.assert_allclose(network._features, front(window), atol=1e-4)
    assert lengths == [whole, 9 * 160, 109 * 160, whole]


def test_samples_beyond_full_scale_are_clipped_and_nothing_is_rescaled(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = []

    def rate(samples, sample_rate, is_personalized_MOS):
        heard.append(samples)
        return dict.fromkeys(["sig_mos", "bak_mos", "ovrl_mos", "p808_mos"], 1.0)

    monkeypatch.setattr("hamiltone.metrics.dnsmos._rater", lambda threads: rate)
    dnsmos_ratings(np.array([0.5, -3.0, 1.5]), RATE)
    np.testing.assert_array_equal(heard[0], [0.5, -1.0, 1.0])


@pytest.mark.parametrize("samples", [np.zeros(0), np.zeros(RATE), np.full(RATE, np.nan)])
def test_nothing_to_hear_has_no_rating(samples: np.ndarray) -> None:
    with pytest.raises(UndefinedScoreError):
        dnsmos_ratings(samples, RATE)


def test_other_sample_rates_are_refused() -> None:
    with pytest.raises(InputError, match="16000 Hz, got 48000 Hz"):
        dnsmos_ratings(SPEECH, 48_000)
