import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from enhancers import fixed_mask, random_convolutions
from hamiltone.errors import InputError
from hamiltone.inference import enhance, enhance_file, enhance_paths, stream
from hamiltone.inference.bands import high_band_gain, resample
from hamiltone.inference.survey import survey_recording
from hamiltone.inference.windows import Windows, cut, fade_in, join, plan_windows

RATES = [8000, 11_025, 16_000, 22_050, 44_100, 44_101, 48_000, 96_000]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def noise(*shape: int, level: float = 0.1, seed: int = 0) -> np.ndarray:
    return (level * np.random.default_rng(seed).standard_normal(shape)).astype(np.float32)


def band_energy(signal: np.ndarray, rate: int, low: float, high: float) -> float:
    spectrum = np.abs(np.fft.rfft(signal)) ** 2
    frequency = np.fft.rfftfreq(signal.shape[-1], 1 / rate)
    return float(spectrum[..., (frequency >= low) & (frequency < high)].sum())


# Windows


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("hop", [100, 256])
def test_windows_start_on_samples_and_frames_of_the_model(rate: int, hop: int) -> None:
    for seconds in (25.1, 31, 600):
        windows = plan_windows(int(seconds * rate), sample_rate=rate, model_rate=16_000, hop=hop, seconds=10)
        assert windows.stride * 16_000 % (rate * hop) == 0
        assert windows.stride + windows.overlap <= 10 * rate
        assert windows.overlap <= rate


@pytest.mark.parametrize("frames", [1, 80_000, 160_000])
def test_a_short_recording_is_one_window(frames: int) -> None:
    windows = plan_windows(frames, sample_rate=16_000, model_rate=16_000, hop=256, seconds=6)
    assert (windows.count, windows.stride, windows.overlap) == (1, frames, 0)


@pytest.mark.parametrize("frames", [1, 99, 100, 101, 190, 191, 1000, 1234])
def test_windows_cut_and_joined_are_the_recording(frames: int) -> None:
    signal = noise(frames, 2)
    windows = Windows(frames, stride=90, overlap=10)
    rest = [signal]

    def read(count: int) -> np.ndarray:
        block, rest[0] = rest[0][:count], rest[0][count:]
        return block

    pieces = list(cut(read, windows))
    assert len(pieces) == windows.count
    assert all(len(piece) == 100 for piece in pieces[:-1])
    np.testing.assert_allclose(np.concatenate(list(join(pieces, windows))), signal, atol=1e-7)


def test_fades_add_up_to_one_and_leave_the_edges_to_one_window() -> None:
    fade = fade_in(1000)
    np.testing.assert_allclose(fade + fade[::-1], 1, atol=1e-6)
    assert not fade[:250].any()
    assert (fade[-250:] == 1).all()


@pytest.mark.parametrize("rate", [8000, 16_000, 44_100, 48_000])
def test_seams_cannot_be_told_from_whole_file_processing(rate: int) -> None:
    """Everywhere, seams included, windows differ from the whole by less than 2e-7 of a signal whose peak is one half.

    The model's reach (four frames and half an STFT window) is shorter than the guard at the edge of a window.
    """
    signal = noise(13 * rate)
    model = random_convolutions()
    whole = enhance(signal, rate, model=model, window_seconds=100)
    windowed = enhance(signal, rate, model=model, window_seconds=4)
    assert np.abs(whole - signal).max() > 0.1
    assert np.abs(windowed - whole).max() < 2e-7


def test_seams_at_an_odd_rate_cannot_be_told_either() -> None:
    signal = noise(11 * 44_101)
    model = random_convolutions(400, 100)
    whole = enhance(signal, 44_101, model=model, window_seconds=100)
    assert np.abs(enhance(signal, 44_101, model=model, window_seconds=6) - whole).max() < 2e-6


def test_one_window_at_the_models_rate_is_the_model() -> None:
    model, signal = random_convolutions().eval(), torch.from_numpy(noise(30_001))
    with torch.inference_mode():
        torch.testing.assert_close(enhance(signal, 16_000, model=model), model(signal[None])[0])


def test_all_windows_are_shown_at_the_level_of_the_file() -> None:
    signal = noise(20 * 16_000)
    signal[: 10 * 16_000] *= 0.01
    model = fixed_mask(1.0)
    enhance(signal, 16_000, model=model)
    loud = float(np.sqrt((signal[10 * 16_000 :] ** 2).mean() / (signal**2).mean()))
    frames = model.network.features[0, 1, 0, -400:-2]  # magnitudes of the last window
    window_energy = float(model.stft.window.square().sum())
    assert frames.square().mean() / window_energy == pytest.approx(loud**2, rel=0.02)


# Bands


@pytest.mark.parametrize("rate", RATES)
def test_gain_of_one_returns_the_input_with_its_high_band(rate: int) -> None:
    signal = noise(2, rate)
    np.testing.assert_allclose(enhance(signal, rate, model=fixed_mask(1.0)), signal, atol=1e-6)


@pytest.mark.parametrize("rate", RATES)
def test_gain_of_zero_leaves_nothing(rate: int) -> None:
    assert np.abs(enhance(noise(rate), rate, model=fixed_mask(0.0))).max() < 1e-6


@pytest.mark.parametrize("rate", [44_100, 48_000, 96_000])
def test_high_band_follows_the_top_octave_of_the_model(rate: int) -> None:
    signal = noise(2 * rate)
    bins = torch.arange(257) / 256 * 8000
    for mask, kept in [(torch.where(bins < 3900, 1.0, 0.1), 0.01), (torch.where(bins < 3900, 0.1, 1.0), 1.0)]:
        output = enhance(signal, rate, model=fixed_mask(mask))
        ratio = band_energy(output, rate, 8100, rate / 2) / band_energy(signal, rate, 8100, rate / 2)
        assert ratio == pytest.approx(kept, rel=0.05)


def test_high_band_gain_is_weighted_by_energy_and_never_above_one() -> None:
    spectrum, gain = torch.zeros(1, 3, 257, dtype=torch.complex64), torch.ones(1, 3, 257, dtype=torch.complex64)
    spectrum[0, 0, 200], gain[0, 0, 200] = 10, 0.3
    gain[0, 1] = 0.5
    gain[0, 2] = 2
    torch.testing.assert_close(high_band_gain(spectrum, gain), torch.tensor([0.3, 0.5, 1.0]))


def test_high_band_gain_has_no_steps() -> None:
    rate = 48_000
    tone = (0.1 * np.sin(2 * np.pi * 15_000 * np.arange(3 * rate) / rate)).astype(np.float32)
    signal = tone + noise(3 * rate, level=0.02)
    output = enhance(signal, rate, model=random_convolutions())
    spectrum = np.abs(np.fft.rfft(output * np.hanning(len(output))))
    tone_power = (spectrum[44_900:45_101] ** 2).sum()  # 1/3 Hz bins: 33 Hz to either side
    assert (spectrum[48_500:50_000] ** 2).sum() < 1e-2 * tone_power  # no splatter more than 1 kHz away


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("length", [1, 2, 3, 1000])
def test_resampling_keeps_time_and_asked_length(rate: int, length: int) -> None:
    block = np.ones((length, 2), np.float32)
    down = resample(block, rate, 16_000)
    assert down.shape == (-(-length * 16_000 // rate), 2)
    assert resample(down, 16_000, rate, length).shape == block.shape


# Channels


def test_image_of_a_stereo_pair_is_kept() -> None:
    voice = noise(2 * 48_000)
    output = enhance(np.stack([0.8 * voice, 0.3 * voice]), 48_000, model=random_convolutions())
    np.testing.assert_allclose(output[0] * 0.3, output[1] * 0.8, atol=1e-6)
    mono = enhance(voice, 48_000, model=random_convolutions())
    np.testing.assert_allclose(output[0], 0.8 * mono, atol=1e-5)


@pytest.mark.parametrize("kind", ["opposite", "one silent", "unrelated"])
def test_channels_that_do_not_belong_together_are_enhanced_alone(kind: str) -> None:
    left = noise(16_000)
    right = {"opposite": -left, "one silent": 0 * left, "unrelated": noise(16_000, seed=1)}[kind]
    output = enhance(np.stack([left, right]), 16_000, model=random_convolutions())
    for channel, signal in zip(output, (left, right), strict=True):
        np.testing.assert_allclose(channel, enhance(signal, 16_000, model=random_convolutions()), atol=1e-6)


def test_pair_is_decided_once_per_recording() -> None:
    def groups(right: np.ndarray) -> list[tuple[int, ...]]:
        frames = np.stack([left, right], axis=1)
        survey = survey_recording(
            lambda count: frames[:count], name="", sample_rate=16_000, channels=2, model_rate=16_000
        )
        return [group.channels for group in survey.groups]

    left, other = noise(16_000), noise(16_000, seed=1)
    assert groups(left + other) == [(0, 1)]  # a voice under noise as loud that differs between the channels
    assert groups(other) == [(0,), (1,)]


def test_memory_of_a_window_does_not_grow_with_the_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    largest: list[int] = []

    def enhance_nothing(window: np.ndarray, sample_rate: int, model: object, **_: object) -> np.ndarray:
        return window

    def look(read: Callable[[int], np.ndarray], windows: Windows) -> Iterator[np.ndarray]:
        for window in cut(read, windows):
            largest.append(window.size)
            yield window

    monkeypatch.setattr(stream, "enhance_window", enhance_nothing)
    monkeypatch.setattr(stream, "cut", look)
    signal = np.zeros((256, 4 * 48_000), np.float32)
    enhance(signal, 48_000, model=fixed_mask(1.0))
    assert max(largest) <= 2**25 < signal.size
    largest.clear()
    enhance(signal[:64], 48_000, model=fixed_mask(1.0))
    assert largest == [signal[:64].size]  # as ever


def test_eight_channels_are_enhanced_each_by_itself() -> None:
    signal = noise(8, 4000) * np.arange(1, 9, dtype=np.float32)[:, None]
    output = enhance(signal, 16_000, model=random_convolutions())
    for channel in range(8):
        np.testing.assert_allclose(
            output[channel], enhance(signal[channel], 16_000, model=random_convolutions()), atol=1e-5
        )


# Waveforms


@pytest.mark.parametrize("shape", [(4000,), (1, 4000), (3, 4000), (1,), (2, 1)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int16", "int32"])
def test_arrays_and_tensors_come_back_alike(shape: tuple[int, ...], dtype: str) -> None:
    scale = 1 if dtype.startswith("float") else np.iinfo(dtype).max
    array = (noise(*shape).astype(np.float64) * scale).astype(dtype)
    output = enhance(array, 16_000, model=fixed_mask(0.5))
    assert (type(output), output.dtype, output.shape) == (np.ndarray, array.dtype, shape)
    np.testing.assert_allclose(output / scale, array / scale / 2, atol=2e-4 if dtype == "float16" else 2e-5)
    tensor = enhance(torch.from_numpy(array), 16_000, model=fixed_mask(0.5))
    assert (tensor.dtype, tensor.device) == (torch.from_numpy(array).dtype, torch.device("cpu"))
    np.testing.assert_array_equal(tensor.numpy(), output)


def test_strength_blends_input_and_result() -> None:
    signal = noise(2 * 44_100)
    enhanced = enhance(signal, 44_100, model=random_convolutions())
    blend = enhance(signal, 44_100, model=random_convolutions(), strength=0.3)
    np.testing.assert_allclose(blend, 0.7 * signal + 0.3 * enhanced, atol=1e-7)
    untouched = enhance(signal.astype(np.float64) / 3, 44_100, model=random_convolutions(), strength=0)
    np.testing.assert_array_equal(untouched, signal.astype(np.float64) / 3)


@pytest.mark.parametrize("rate", [8000, 16_000, 48_000])
def test_silence_stays_silence(rate: int) -> None:
    assert not enhance(np.zeros(rate, np.float32), rate, model=random_convolutions()).any()


@pytest.mark.parametrize("scale", [1e-15, 1e-3, 1e15])
def test_result_scales_with_the_input(scale: float) -> None:
    signal, model = noise(16_000), random_convolutions()
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
        (np.array([0, 3e38]), 16_000, {}, r"the waveform: has samples of 3e\+38, more than can be computed with"),
        (np.zeros(9, np.uint8), 16_000, {}, "floating point, int16 or int32, got uint8"),
        (np.zeros(9, np.complex64), 16_000, {}, "floating point, int16 or int32, got complex64"),
        (np.zeros(9), 0, {}, "sample rate from 1000 to 768000 Hz, got 0"),
        (np.zeros(9), 10**12, {}, "sample rate from 1000 to 768000 Hz, got 1000000000000"),
        (np.zeros(9), 16_000.5, {}, r"the sample rate as a number in whole Hz, got 16000\.5"),
        (np.zeros(9), "16000", {}, "the sample rate as a number in whole Hz, got '16000'"),
        (np.zeros(9), float("inf"), {}, "the sample rate as a number in whole Hz, got inf"),
        (np.zeros((257, 9)), 16_000, {}, "the waveform: expected at most 256 channels, got 257"),
        (np.zeros(9), 16_000, {"strength": 1.1}, r"strength from 0 to 1, got 1\.1"),
        (np.zeros(9), 16_000, {"strength": float("nan")}, "strength from 0 to 1, got nan"),
        (np.zeros(9), 16_000, {"window_seconds": 0.5}, r"at least one second, got 0\.5"),
    ],
)
def test_wrong_arguments_are_named(waveform: np.ndarray, rate: int, arguments: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        enhance(waveform, rate, model=fixed_mask(1.0), **arguments)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_result_that_is_not_finite_is_refused(value: float) -> None:
    with pytest.raises(InputError, match="the waveform: the model's result holds NaN or infinite samples"):
        enhance(noise(16_000), 16_000, model=fixed_mask(value))


@pytest.mark.parametrize("peak", [1e25, 9e29])
@pytest.mark.parametrize("rate", [16_000, 48_000])
def test_samples_up_to_the_limit_give_finite_results(peak: float, rate: int) -> None:
    signal = np.full(rate, peak, np.float32) * np.sign(noise(rate))
    assert np.isfinite(enhance(signal, rate, model=random_convolutions())).all()


# Files


@pytest.mark.parametrize(
    ("name", "subtype"),
    [
        ("a.wav", "PCM_U8"),
        ("a.wav", "PCM_16"),
        ("a.wav", "PCM_24"),
        ("a.wav", "PCM_32"),
        ("a.wav", "FLOAT"),
        ("a.wav", "DOUBLE"),
        ("a.wav", "ULAW"),
        ("a.flac", "PCM_24"),
    ],
)
def test_strength_zero_is_bit_exact(tmp_path: Path, name: str, subtype: str) -> None:
    source, target = tmp_path / name, tmp_path / f"out_{name}"
    extremes = np.array([[-1.0, 1.0], [1.0, -1.0]], np.float32)
    soundfile.write(source, np.concatenate([noise(70_000, 2), extremes]), 44_100, subtype=subtype)
    enhance_file(source, target, model=random_convolutions(), strength=0)
    dtype = "float64" if subtype in {"FLOAT", "DOUBLE"} else "int32"
    np.testing.assert_array_equal(soundfile.read(target, dtype=dtype)[0], soundfile.read(source, dtype=dtype)[0])
    assert soundfile.info(target).subtype == subtype


@pytest.mark.parametrize(
    ("name", "subtype"), [("a.wav", "PCM_16"), ("a.wav", "PCM_24"), ("a.flac", "PCM_16"), ("a.wav", "FLOAT")]
)
def test_file_gives_what_the_waveform_gives(tmp_path: Path, name: str, subtype: str) -> None:
    source, target = tmp_path / name, tmp_path / f"out_{name}"
    soundfile.write(source, noise(5 * 44_100, 2), 44_100, subtype=subtype)
    enhance_file(source, target, model=random_convolutions(), window_seconds=2)
    waveform = soundfile.read(source, dtype="float32")[0].T
    expected = enhance(waveform, 44_100, model=random_convolutions(), window_seconds=2)
    half_step = {"PCM_16": 2**-16, "PCM_24": 2**-24, "FLOAT": 0}[subtype]
    np.testing.assert_allclose(soundfile.read(target)[0].T, expected, atol=half_step + 1e-7)
    found, wanted = soundfile.info(target), soundfile.info(source)
    for field in ("samplerate", "channels", "frames", "format", "subtype"):
        assert getattr(found, field) == getattr(wanted, field)


@pytest.mark.parametrize("name", ["a.ogg", "a.mp3"])
def test_lossy_formats_keep_format_rate_and_length(tmp_path: Path, name: str) -> None:
    source, target = tmp_path / name, tmp_path / f"out_{name}"
    tones = 0.2 * np.sin(2 * np.pi * np.array([440, 3000]) * np.arange(44_100)[:, None] / 44_100)
    soundfile.write(source, tones, 44_100)
    enhance_file(source, target, model=fixed_mask(0.5))
    found, wanted = soundfile.info(target), soundfile.info(source)
    for field in ("samplerate", "channels", "frames", "format", "subtype"):
        assert getattr(found, field) == getattr(wanted, field)
    ratio = soundfile.read(target)[0].std() / soundfile.read(source)[0].std()
    assert ratio == pytest.approx(0.5, rel=0.05)


@pytest.mark.parametrize("name", ["b.wav", "b.mp3", "b.ogg"])
def test_a_result_that_is_not_finite_leaves_no_file(tmp_path: Path, name: str) -> None:
    soundfile.write(tmp_path / "a.wav", noise(16_000), 16_000, subtype="FLOAT")
    with pytest.raises(InputError, match=r"a\.wav: the model's result holds NaN or infinite samples"):
        enhance_file(tmp_path / "a.wav", tmp_path / name, model=fixed_mask(float("nan")))
    assert [path.name for path in tmp_path.iterdir()] == ["a.wav"]


def test_level_is_kept_and_loud_peaks_are_clipped_not_wrapped(tmp_path: Path) -> None:
    source, target = tmp_path / "a.wav", tmp_path / "b.wav"
    soundfile.write(source, np.array([0.9, -0.9] * 8000), 16_000)
    enhance_file(source, target, model=fixed_mask(2.0))
    np.testing.assert_array_equal(soundfile.read(target, dtype="int16")[0], [32767, -32768] * 8000)


def test_progress_runs_over_the_seconds_of_all_files(tmp_path: Path) -> None:
    for name, seconds in [("a.wav", 3), ("b.wav", 1)]:
        soundfile.write(tmp_path / name, noise(seconds * 16_000), 16_000)
    (tmp_path / "broken.wav").write_text("no audio")
    calls: list[tuple[float, float]] = []
    reports = list(
        enhance_paths(
            [tmp_path],
            tmp_path / "out",
            model=fixed_mask(1.0),
            window_seconds=1,
            progress=lambda done, total: calls.append((done, total)),
        )
    )
    assert [report.error is None for report in reports] == [True, True, False]
    assert [total for _, total in calls] == [4.0] * len(calls)
    done = [done for done, _ in calls]
    assert (done[0], done[-1]) == (0, 4)
    assert done == sorted(done)
    assert any(0 < seconds < 3 for seconds in done)


MEMORY = """
import resource, sys
import numpy as np, soundfile, torch
from enhancers import fixed_mask
from hamiltone.inference import enhance_file

def peak_after(minutes):
    minute = (0.1 * np.random.default_rng(0).standard_normal(60 * 16_000)).astype(np.float32)
    with soundfile.SoundFile(f"{sys.argv[1]}/a.wav", "w", 16_000, 1) as file:
        for _ in range(minutes):
            file.write(minute)
    enhance_file(f"{sys.argv[1]}/a.wav", f"{sys.argv[1]}/b.wav", model=fixed_mask(0.5), overwrite=True)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

torch.set_num_threads(1)
one = peak_after(1)
print(peak_after(10) - one)
"""


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """Ten minutes take less than 60 MB more than one; as float32 samples they are 38 MB, and several copies of them."""
    command = [sys.executable, "-c", MEMORY, str(tmp_path)]
    child = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
    assert float(child.stdout) < 60
