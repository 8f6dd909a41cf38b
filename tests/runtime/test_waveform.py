import numpy as np
import pytest
import torch

from enhancers import Backends
from hamiltone.errors import InputError
from hamiltone.runtime import enhance
from sounds import noise


@pytest.mark.parametrize("shape", [(4000,), (1, 4000), (3, 4000), (1,), (2, 1)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int16", "int32"])
def test_arrays_and_tensors_come_back_alike(backends: Backends, shape: tuple[int, ...], dtype: str) -> None:
    scale = 1 if dtype.startswith("float") else np.iinfo(dtype).max
    array = (noise(*shape).astype(np.float64) * scale).astype(dtype)
    output = enhance(array, 16_000, model=backends.fixed_mask(0.5))
    assert (type(output), output.dtype, output.shape) == (np.ndarray, array.dtype, shape)
    np.testing.assert_allclose(output / scale, array / scale / 2, atol=2e-4 if dtype == "float16" else 2e-5)
    tensor = enhance(torch.from_numpy(array), 16_000, model=backends.fixed_mask(0.5))
    assert (tensor.dtype, tensor.device) == (torch.from_numpy(array).dtype, torch.device("cpu"))
    np.testing.assert_array_equal(tensor.numpy(), output)


@pytest.mark.parametrize("kind", ["i2", "i4", "f4"])
def test_the_byte_order_does_not_matter(backends: Backends, kind: str) -> None:
    waveform = (noise(4000) * (1 if kind == "f4" else 20_000)).astype(f"<{kind}")
    little, big = (enhance(waveform.astype(f"{order}{kind}"), 16_000, model=backends.fixed_mask(0.5)) for order in "<>")
    assert big.dtype == f">{kind}"
    np.testing.assert_array_equal(big, little)


@pytest.mark.parametrize("waveform", [[0.0, 0.1], None, "noisy.wav"])
def test_what_is_no_array_is_named(backends: Backends, waveform: object) -> None:
    with pytest.raises(InputError, match=f"a numpy array or a tensor, got a {type(waveform).__name__}$"):
        enhance(waveform, 16_000, model=backends.fixed_mask(0.5))


def test_strength_blends_input_and_result(backends: Backends) -> None:
    signal = noise(2 * 44_100)
    enhanced = enhance(signal, 44_100, model=backends.random_convolutions())
    blend = enhance(signal, 44_100, model=backends.random_convolutions(), strength=0.3)
    np.testing.assert_allclose(blend, 0.7 * signal + 0.3 * enhanced, atol=1e-7)
    untouched = enhance(signal.astype(np.float64) / 3, 44_100, model=backends.random_convolutions(), strength=0)
    np.testing.assert_array_equal(untouched, signal.astype(np.float64) / 3)


@pytest.mark.parametrize("rate", [8000, 16_000, 48_000])
def test_silence_stays_silence(backends: Backends, rate: int) -> None:
    assert not enhance(np.zeros(rate, np.float32), rate, model=backends.random_convolutions()).any()


@pytest.mark.parametrize("scale", [1e-15, 1e-3, 1e15])
def test_result_scales_with_the_input(backends: Backends, scale: float) -> None:
    signal, model = noise(16_000), backends.random_convolutions()
    scaled = enhance((signal * scale).astype(np.float32), 16_000, model=model) / scale
    np.testing.assert_allclose(scaled, enhance(signal, 16_000, model=model), atol=1e-5)


@pytest.mark.parametrize(
    ("waveform", "rate", "arguments", "message"),
    [
        (np.zeros((2, 2, 2)), 16_000, {}, r"shape \(L,\) or \(channels, L\), got \(2, 2, 2\)"),
        (np.zeros((48_000, 2)), 16_000, {}, r"shape \(L,\) or \(channels, L\), got \(48000, 2\)"),
        (np.zeros(0), 16_000, {}, "the waveform: holds no samples"),
        (np.array([0, np.nan]), 16_000, {}, "the waveform: contains NaN or infinite samples"),
        (np.array([0, 1e300]), 16_000, {}, "the waveform: contains NaN or infinite samples"),
        (np.array([0, 3e38]), 16_000, {}, r"the waveform: has samples of 3e\+38, too large to compute with"),
        (np.zeros(9, np.uint8), 16_000, {}, "floating point, int16 or int32, got uint8"),
        (np.zeros(9, np.complex64), 16_000, {}, "floating point, int16 or int32, got complex64"),
        (np.zeros(9), 0, {}, "sample rate from 1000 to 768000 Hz, got 0"),
        (np.zeros(9), 10**12, {}, "sample rate from 1000 to 768000 Hz, got 1000000000000"),
        (np.zeros(9), 16_000.5, {}, r"the sample rate in whole Hz, got 16000\.5"),
        (np.zeros(9), "16000", {}, "the sample rate in whole Hz, got '16000'"),
        (np.zeros(9), float("inf"), {}, "the sample rate in whole Hz, got inf"),
        (np.zeros((257, 9)), 16_000, {}, "the waveform: expected at most 256 channels, got 257"),
        (np.zeros(9), 16_000, {"strength": 1.1}, r"strength from 0 to 1, got 1\.1"),
        (np.zeros(9), 16_000, {"strength": float("nan")}, "strength from 0 to 1, got nan"),
        (np.zeros(9), 16_000, {"strength": "1"}, "strength from 0 to 1, got '1'"),
        (np.zeros(9), 16_000, {"strength": None}, "strength from 0 to 1, got None"),
        (np.zeros(9), 16_000, {"window_seconds": 0.5}, r"at least one second, got 0\.5"),
    ],
)
def test_wrong_arguments_are_named(
    backends: Backends, waveform: np.ndarray, rate: int, arguments: dict[str, float], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        enhance(waveform, rate, model=backends.fixed_mask(1.0), **arguments)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_result_that_is_not_finite_is_refused(backends: Backends, value: float) -> None:
    with pytest.raises(InputError, match="the waveform: the model's result holds NaN or infinite samples"):
        enhance(noise(16_000), 16_000, model=backends.fixed_mask(value))


class OneBadFrame:
    sample_rate, n_fft, hop = 16_000, 512, 256

    def gain(self, spectrum: np.ndarray) -> np.ndarray:
        gain = np.ones_like(spectrum)
        gain[:, 10] = np.nan
        return gain


def test_a_single_frame_that_is_not_finite_is_refused_too() -> None:
    with pytest.raises(InputError, match="the waveform: the model's result holds NaN or infinite samples"):
        enhance(noise(16_000), 16_000, model=OneBadFrame())


@pytest.mark.parametrize("peak", [1e25, 9e29])
@pytest.mark.parametrize("rate", [16_000, 48_000])
def test_samples_up_to_the_limit_give_finite_results(backends: Backends, peak: float, rate: int) -> None:
    signal = np.full(rate, peak, np.float32) * np.sign(noise(rate))
    assert np.isfinite(enhance(signal, rate, model=backends.random_convolutions())).all()
