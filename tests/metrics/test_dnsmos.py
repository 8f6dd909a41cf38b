from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hamiltone.errors import InputError
from hamiltone.metrics import DNSMOS, UndefinedScoreError, dnsmos_ratings
from speech import RATE, synthetic_speech

SPEECH = synthetic_speech(1.0)


def test_ratings_are_those_of_the_package() -> None:
    package = pytest.importorskip("speechmos.dnsmos", reason='needs the networks: pip install "hamiltone[metrics]"')
    expected = package.run(SPEECH.astype(np.float32), RATE)
    assert dnsmos_ratings(SPEECH, RATE) == DNSMOS(
        expected["sig_mos"], expected["bak_mos"], expected["ovrl_mos"], expected["p808_mos"]
    )


def test_samples_beyond_full_scale_are_clipped_and_nothing_is_rescaled(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = []

    def run(samples: Any, rate: int) -> dict[str, float]:
        heard.append(samples)
        return dict.fromkeys(["sig_mos", "bak_mos", "ovrl_mos", "p808_mos"], 1.0)

    monkeypatch.setattr("hamiltone.metrics.dnsmos.require", lambda _: SimpleNamespace(run=run))
    dnsmos_ratings(np.array([0.5, -3.0, 1.5]), RATE)
    np.testing.assert_array_equal(heard[0], [0.5, -1.0, 1.0])


@pytest.mark.parametrize("samples", [np.zeros(0), np.zeros(RATE), np.full(RATE, np.nan)])
def test_nothing_to_hear_has_no_rating(samples: np.ndarray) -> None:
    with pytest.raises(UndefinedScoreError):
        dnsmos_ratings(samples, RATE)


def test_other_sample_rates_are_refused() -> None:
    with pytest.raises(InputError, match="16000 Hz, got 48000 Hz"):
        dnsmos_ratings(SPEECH, 48_000)
