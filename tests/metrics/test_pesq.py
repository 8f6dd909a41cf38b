import numpy as np
import pytest

from hamiltone.errors import InputError
from hamiltone.metrics import UndefinedScoreError, wb_pesq
from speech import RATE, mix, synthetic_speech

package = pytest.importorskip("pesq", reason='needs the reference: pip install "hamiltone[metrics]"')
SPEECH = synthetic_speech(1.0)
NOISY = mix(SPEECH, np.random.default_rng(0).standard_normal(len(SPEECH)), 15.0)


def test_score_is_that_of_the_package_with_the_clean_signal_first() -> None:
    assert wb_pesq(NOISY, SPEECH, RATE) == package.pesq(RATE, SPEECH, NOISY, "wb")
    assert wb_pesq(NOISY, SPEECH, RATE) != package.pesq(RATE, NOISY, SPEECH, "wb")


def test_single_precision_is_enough() -> None:
    single = wb_pesq(NOISY.astype(np.float32), SPEECH.astype(np.float32), RATE)
    assert single == pytest.approx(wb_pesq(NOISY, SPEECH, RATE), abs=1e-3)


def test_a_silent_estimate_has_no_score() -> None:
    with pytest.raises(UndefinedScoreError, match="estimate is silent"):
        wb_pesq(np.zeros_like(SPEECH), SPEECH, RATE)


@pytest.mark.parametrize("length", [1, 3000])
def test_too_little_speech_has_no_score(length: int) -> None:
    with pytest.raises(UndefinedScoreError, match="1/4 of a second"):
        wb_pesq(NOISY[:length], SPEECH[:length], RATE)


def test_a_burst_too_short_to_be_an_utterance_has_no_score() -> None:
    burst = np.concatenate([SPEECH[:200], np.zeros(RATE // 2)])
    with pytest.raises(UndefinedScoreError, match="No utterances"):
        wb_pesq(burst, burst, RATE)


def test_recordings_beyond_30_s_are_refused_before_they_crash_the_package() -> None:
    with pytest.raises(UndefinedScoreError, match="up to 30 s"):
        wb_pesq(np.ones(31 * RATE), np.ones(31 * RATE), RATE)


def test_other_sample_rates_are_refused() -> None:
    with pytest.raises(InputError, match="16000 Hz, got 8000 Hz"):
        wb_pesq(NOISY, SPEECH, 8000)
