"""Metrics of speech enhancement: numpy in, float out, one file per family; `compute` runs them by name.

The families are `pesq`, `stoi`, `sisdr`, `segsnr`, `composite` (CSIG, CBAK, COVL) and `dnsmos`. `framing` and `checks`
are shared by several; `bootstrap` computes intervals of means and differences.

No metric aligns the output with the sign or loudness of the reference. What each is blind to by its own definition:

| metric | level of the output | its sign | delay |
|---|---|---|---|
| pesq | blind | blind | blind |
| stoi, estoi | blind | blind | sees |
| sisdr | blind | blind | sees |
| ssnr | sees | sees | sees |
| csig, covl | blind | blind | sees |
| cbak | sees (SSNR) | sees (SSNR) | sees |
| dnsmos_sig, dnsmos_bak, dnsmos_ovrl, dnsmos_p808 | sees | no reference | no reference |
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec

import numpy as np
from numpy.typing import ArrayLike

from hamiltone.errors import InputError
from hamiltone.metrics.bootstrap import Difference, Interval, mean_interval, paired_difference
from hamiltone.metrics.checks import UndefinedScoreError
from hamiltone.metrics.composite import cbak, covl, csig, log_likelihood_ratio, weighted_slope
from hamiltone.metrics.dnsmos import DNSMOS, dnsmos_ratings
from hamiltone.metrics.pesq import wb_pesq
from hamiltone.metrics.segsnr import segmental_snr
from hamiltone.metrics.sisdr import si_sdr
from hamiltone.metrics.stoi import stoi_score

__all__ = [
    "DNSMOS",
    "METRICS",
    "WITHOUT_REFERENCE",
    "Difference",
    "Interval",
    "Scores",
    "UndefinedScoreError",
    "cbak",
    "check_metrics",
    "compute",
    "covl",
    "csig",
    "dnsmos_ratings",
    "log_likelihood_ratio",
    "mean_interval",
    "paired_difference",
    "segmental_snr",
    "si_sdr",
    "stoi_score",
    "wb_pesq",
    "weighted_slope",
]


class Scores(dict[str, float]):
    """Scores by metric. One that is undefined is NaN, and `reasons` says why."""

    def __init__(self) -> None:
        super().__init__()
        self.reasons: dict[str, str] = {}


@dataclass(frozen=True)
class _Pair:
    """One file, with what several metrics share measured once."""

    estimate: ArrayLike
    target: ArrayLike
    sample_rate: int

    @cached_property
    def pesq(self) -> float:
        return wb_pesq(self.estimate, self.target, self.sample_rate)

    @cached_property
    def llr(self) -> float:
        return log_likelihood_ratio(self.estimate, self.target, self.sample_rate)

    @cached_property
    def wss(self) -> float:
        return weighted_slope(self.estimate, self.target, self.sample_rate)

    @cached_property
    def ssnr(self) -> float:
        return segmental_snr(self.estimate, self.target, self.sample_rate)

    @cached_property
    def dnsmos(self) -> DNSMOS:
        return dnsmos_ratings(self.estimate, self.sample_rate)


WITHOUT_REFERENCE = ("dnsmos_sig", "dnsmos_bak", "dnsmos_ovrl", "dnsmos_p808")
"""Metrics that need no reference."""

METRICS: dict[str, Callable[[_Pair], float]] = {
    "pesq": lambda pair: pair.pesq,
    "stoi": lambda pair: stoi_score(pair.estimate, pair.target, pair.sample_rate),
    "estoi": lambda pair: stoi_score(pair.estimate, pair.target, pair.sample_rate, extended=True),
    "sisdr": lambda pair: si_sdr(pair.estimate, pair.target),
    "ssnr": lambda pair: pair.ssnr,
    "csig": lambda pair: csig(pair.pesq, pair.llr, pair.wss),
    "cbak": lambda pair: cbak(pair.pesq, pair.wss, pair.ssnr),
    "covl": lambda pair: covl(pair.pesq, pair.llr, pair.wss),
    "dnsmos_sig": lambda pair: pair.dnsmos.sig,
    "dnsmos_bak": lambda pair: pair.dnsmos.bak,
    "dnsmos_ovrl": lambda pair: pair.dnsmos.ovrl,
    "dnsmos_p808": lambda pair: pair.dnsmos.p808,
}
"""Every metric by name; higher is better for all."""

_DNSMOS_PACKAGES = ("speechmos", "librosa", "onnx", "onnxruntime", "requests")
_PACKAGES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("pesq", "csig", "cbak", "covl"), ("pesq",)),
    **dict.fromkeys(("stoi", "estoi"), ("pystoi",)),
    **dict.fromkeys(("dnsmos_sig", "dnsmos_bak", "dnsmos_ovrl", "dnsmos_p808"), _DNSMOS_PACKAGES),
}


def check_metrics(names: Iterable[str]) -> None:
    """Raise an `InputError` for unknown metrics, and for those whose package is not installed."""
    names = list(names)
    _check_names(names)
    lacking = {name: [package for package in _PACKAGES.get(name, ()) if not find_spec(package)] for name in names}
    packages = dict.fromkeys(package for missing in lacking.values() for package in missing)
    if packages:
        rest = ",".join(name for name in names if not lacking[name])
        choice = f", or ask for {rest} only" if rest else ""
        stopped = ", ".join(name for name in names if lacking[name])
        raise InputError(f'{stopped}: needs {", ".join(packages)}: pip install "hamiltone[metrics]"{choice}')


def _check_names(names: Iterable[str]) -> None:
    if unknown := [name for name in names if name not in METRICS]:
        raise InputError(f"no metric called {', '.join(unknown)}; choose from {', '.join(METRICS)}")


def compute(names: Iterable[str], estimate: ArrayLike, target: ArrayLike | None, sample_rate: int) -> Scores:
    """The named metrics of one file; without a `target` those `WITHOUT_REFERENCE`.

    A metric that is undefined for it (silence, too short, not finite) is NaN with a reason; the others are still
    computed. A mistake that concerns every file is an error: an unknown name, a missing package, a wrong sample rate,
    different lengths.

    Shape:
        estimate, target: ``(L,)``, floating point in [-1, 1]

    >>> scores = compute(["sisdr", "pesq"], np.ones(100), np.zeros(100), 16_000)
    >>> scores, scores.reasons["sisdr"]
    ({'sisdr': nan, 'pesq': nan}, 'the target is silent')
    """
    names = list(names)
    _check_names(names)
    if target is None and (blind := [name for name in names if name not in WITHOUT_REFERENCE]):
        raise InputError(
            f"{', '.join(blind)}: needs a clean reference; without one choose from {', '.join(WITHOUT_REFERENCE)}"
        )
    pair = _Pair(estimate, estimate if target is None else target, sample_rate)
    scores = Scores()
    for name in names:
        try:
            scores[name] = METRICS[name](pair)
        except UndefinedScoreError as error:
            scores[name] = np.nan
            scores.reasons[name] = str(error)
    return scores
