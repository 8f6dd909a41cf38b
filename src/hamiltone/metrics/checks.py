"""Checks that every metric makes of its waveforms, and the error for an undefined score."""

import importlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hamiltone.errors import InputError

Waveform = NDArray[np.float64]


class UndefinedScoreError(InputError):
    """The metric has no value for these signals, for example because of silence; the message says why."""


def as_waveform(name: str, samples: ArrayLike) -> Waveform:
    """One channel of finite samples in float64, or an error that calls it `name`.

    Shape:
        samples: ``(L,)``, L >= 1, floating point
        returns: the same
    """
    waveform = np.asarray(samples)
    if waveform.ndim != 1 or not np.issubdtype(waveform.dtype, np.floating):
        raise InputError(
            f"expected the {name} as one channel of floating-point samples, "
            f"got {waveform.dtype} of shape {waveform.shape}"
        )
    if waveform.size == 0:
        raise UndefinedScoreError(f"the {name} is empty")
    if not np.isfinite(waveform).all():
        raise UndefinedScoreError(f"the {name} has samples that are not finite")
    return waveform.astype(np.float64)


def as_pair(estimate: ArrayLike, target: ArrayLike) -> tuple[Waveform, Waveform]:
    """Estimate and target of the same length; the target must not be silent, or there is nothing to compare with.

    Shape:
        estimate, target: ``(L,)``
        returns: the same
    """
    if np.shape(estimate) != np.shape(target):
        raise InputError(
            f"expected estimate and target of the same length, got {np.shape(estimate)} and {np.shape(target)}; "
            "cut or pad one of them first"
        )
    pair = as_waveform("estimate", estimate), as_waveform("target", target)
    if not pair[1].any():
        raise UndefinedScoreError("the target is silent")
    return pair


def check_audible(estimate: Waveform) -> None:
    """Raise an error for a silent estimate, for metrics that divide by its level."""
    if not estimate.any():
        raise UndefinedScoreError("the estimate is silent")


def check_rate(metric: str, sample_rate: int, wanted: int = 16_000) -> None:
    """Raise an error for any sample rate but the one that the metric is defined for."""
    if sample_rate != wanted:
        raise InputError(f"{metric} is defined at {wanted} Hz, got {sample_rate} Hz; resample the files first")


def require(module: str) -> Any:
    """Import a module of the `metrics` extra, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise InputError(f'this metric needs {error.name}: pip install "hamiltone[metrics]"') from error
