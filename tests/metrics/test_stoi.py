import numpy as np
import pytest

from hamiltone.metrics import UndefinedScoreError, stoi_score
from speech import RATE, mix, synthetic_speech

package = pytest.importorskip("pystoi", reason='needs the reference: pip install "hamiltone[metrics]"')
SPEECH = synthetic_speech(1.5)
NOISY = mix(SPEECH, np.random.default_rng(0).standard_normal(len(SPEECH)), 0.0)


@pytest.mark.parametrize("extended", [False, True])
def test_score_is_that_of_the_package_with_the_clean_signal_first(extended: bool) -> None:
    expected = package.stoi(SPEECH, NOISY, RATE, extended=extended)
    assert stoi_score(NOISY, SPEECH, RATE, extended=extended) == pytest.approx(expected, abs=1e-9)
    assert stoi_score(SPEECH, NOISY, RATE, extended=extended) != pytest.approx(expected, abs=1e-4)


def test_a_silent_estimate_has_no_score() -> None:
    with pytest.raises(UndefinedScoreError, match="estimate is silent"):
        stoi_score(np.zeros_like(SPEECH), SPEECH, RATE)


@pytest.mark.parametrize("length", [1, 100, 6000])
def test_short_signals_have_no_score(length: int) -> None:
    with pytest.raises(UndefinedScoreError, match=r"0\.4 s of speech"):
        stoi_score(NOISY[:length], SPEECH[:length], RATE)


def test_pauses_do_not_make_a_signal_long_enough() -> None:
    target = np.zeros(2 * RATE)
    target[:3000] = SPEECH[3000:6000]
    with pytest.raises(UndefinedScoreError, match=r"0\.4 s of speech"):
        stoi_score(target, target, RATE)
