"""The registry: every metric by name, and what each is blind to."""

import re
import sys

import numpy as np
import pytest

from hamiltone import metrics
from hamiltone.errors import InputError
from hamiltone.metrics import METRICS, compute, dnsmos
from speech import RATE, mix, synthetic_speech

SPEECH = synthetic_speech(1.0)
NOISY = mix(SPEECH, np.random.default_rng(0).standard_normal(len(SPEECH)), 10.0)
INTRUSIVE = [name for name in METRICS if name not in metrics.WITHOUT_REFERENCE]


@pytest.fixture
def packages() -> None:
    for name in ("pesq", "pystoi"):
        pytest.importorskip(name, reason='needs pip install "hamiltone[metrics]"')


@pytest.mark.usefixtures("packages")
def test_every_name_gives_the_score_of_its_function() -> None:
    scores = compute(INTRUSIVE, NOISY, SPEECH, RATE)
    pesq, ssnr = metrics.wb_pesq(NOISY, SPEECH, RATE), metrics.segmental_snr(NOISY, SPEECH, RATE)
    llr, wss = metrics.log_likelihood_ratio(NOISY, SPEECH, RATE), metrics.weighted_slope(NOISY, SPEECH, RATE)
    assert not scores.reasons and list(scores) == INTRUSIVE
    assert scores == pytest.approx(
        {
            "pesq": pesq,
            "stoi": metrics.stoi_score(NOISY, SPEECH, RATE),
            "estoi": metrics.stoi_score(NOISY, SPEECH, RATE, extended=True),
            "sisdr": metrics.si_sdr(NOISY, SPEECH),
            "ssnr": ssnr,
            "csig": metrics.csig(pesq, llr, wss),
            "cbak": metrics.cbak(pesq, wss, ssnr),
            "covl": metrics.covl(pesq, llr, wss),
        }
    )


def test_the_table_of_the_docstring_has_a_row_for_every_metric() -> None:
    rows = re.findall(r"^\| ([a-z0-9_, ]+) \|", metrics.__doc__ or "", re.MULTILINE)
    assert sorted(METRICS) == sorted(name for row in rows if row != "metric" for name in row.split(", "))


@pytest.mark.usefixtures("packages")
def test_less_noise_never_scores_lower() -> None:
    """Higher is better for every metric: validation chooses the model with the highest score."""
    noise = np.random.default_rng(0).standard_normal(len(SPEECH))
    worse, better = (compute(INTRUSIVE, mix(SPEECH, noise, snr), SPEECH, RATE) for snr in (0.0, 20.0))
    assert [name for name in INTRUSIVE if better[name] <= worse[name]] == []


def test_the_four_ratings_of_dnsmos_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "dnsmos_ratings", lambda estimate, rate: metrics.DNSMOS(1.0, 2.0, 3.0, 4.0))
    names = ["dnsmos_sig", "dnsmos_bak", "dnsmos_ovrl", "dnsmos_p808"]
    assert compute(names, NOISY, SPEECH, RATE) == dict(zip(names, [1.0, 2.0, 3.0, 4.0], strict=True))
    assert tuple(names) == metrics.WITHOUT_REFERENCE


@pytest.mark.usefixtures("packages")
@pytest.mark.parametrize("gain", [-1.0, 0.5])
def test_level_and_sign_count_where_the_definition_sees_them(gain: float) -> None:
    """Nothing is aligned to the reference: what a metric forgives, it forgives by its own definition."""
    before, after = compute(INTRUSIVE, NOISY, SPEECH, RATE), compute(INTRUSIVE, gain * NOISY, SPEECH, RATE)
    for name in ("pesq", "stoi", "estoi", "sisdr", "csig", "covl"):
        assert after[name] == pytest.approx(before[name], abs=1e-3)
    assert after["ssnr"] < before["ssnr"] - 0.5 and after["cbak"] < before["cbak"] - 0.03


@pytest.mark.usefixtures("packages")
def test_level_of_the_reference_is_not_made_up_for_either() -> None:
    before, after = compute(INTRUSIVE, NOISY, SPEECH, RATE), compute(INTRUSIVE, NOISY, 3 * SPEECH, RATE)
    assert after["ssnr"] != pytest.approx(before["ssnr"], abs=0.5)


@pytest.mark.parametrize(
    ("estimate", "target", "reason"),
    [
        (NOISY, np.zeros_like(SPEECH), "the target is silent"),
        (np.where(np.arange(len(NOISY)) == 7, np.nan, NOISY), SPEECH, "the estimate has samples that are not finite"),
        (NOISY, np.where(np.arange(len(NOISY)) == 7, np.inf, SPEECH), "the target has samples that are not finite"),
        (np.zeros(0), np.zeros(0), "the estimate is empty"),
    ],
)
def test_a_score_that_does_not_exist_is_nan_with_a_reason(
    estimate: np.ndarray, target: np.ndarray, reason: str
) -> None:
    scores = compute(INTRUSIVE, estimate, target, RATE)
    assert np.isnan(list(scores.values())).all()
    assert scores.reasons == dict.fromkeys(INTRUSIVE, reason)


def test_one_undefined_score_does_not_stop_the_others() -> None:
    scores = compute(["stoi", "sisdr"], NOISY[:1000], SPEECH[:1000], RATE)
    assert np.isnan(scores["stoi"]) and np.isfinite(scores["sisdr"])
    assert list(scores.reasons) == ["stoi"]


@pytest.mark.parametrize(
    ("estimate", "target"),
    [
        (NOISY[:-1], SPEECH),
        (NOISY[None], SPEECH[None]),
        ((32767 * NOISY).astype(np.int16), SPEECH),
        (NOISY.astype(complex), SPEECH),
    ],
)
def test_what_cannot_be_compared_is_an_error(estimate: np.ndarray, target: np.ndarray) -> None:
    for name in INTRUSIVE:
        with pytest.raises(InputError, match="expected"):
            compute([name], estimate, target, RATE)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match="no metric called mos; choose from pesq, stoi"):
        compute(["mos", "sisdr"], NOISY, SPEECH, RATE)


@pytest.mark.parametrize(
    ("name", "package"), [("pesq", "pesq"), ("stoi", "pystoi"), ("dnsmos_sig", "speechmos.dnsmos")]
)
def test_a_missing_package_names_the_install_command(name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    dnsmos._rater.cache_clear()  # another test may have loaded it
    with pytest.raises(InputError, match=rf'{package}: pip install "hamiltone\[metrics\]"'):
        compute([name], NOISY, SPEECH, RATE)
