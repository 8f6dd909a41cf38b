import os
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr
import torch

import hamiltone
from hamiltone import Stream
from hamiltone.errors import InputError
from hamiltone.models import Header, build, preset, save_checkpoint
from hamiltone.runtime import StepBackend
from hamiltone.runtime.backend import resolve_step
from streams import SMALL, Counting, streaming_model, untrained

EXAMPLE = Path(__file__).parents[2] / "examples" / "noisy.wav"


def speech(rate: int, seconds: float = 1.0, channels: int = 1) -> np.ndarray:
    """Noisy speech after a moment of silence, with hiss in all bands and a second channel that is not the first."""
    voice, source = soundfile.read(EXAMPLE, int(1.1 * seconds * 16_000), dtype="float32")
    voice = soxr.resample(voice, source, rate)[: int(seconds * rate)]
    hiss = 0.003 * np.random.default_rng(0).standard_normal((channels, len(voice))).astype(np.float32)
    sides = np.linspace(1, 0.5, channels, dtype=np.float32)[:, None] * voice + hiss
    return np.pad(sides[0] if channels == 1 else sides, [(0, 0)] * (channels > 1) + [(rate // 20, 0)])


def run(stream: Stream, samples: np.ndarray, sizes: list[int]) -> np.ndarray:
    """In chunks of random sizes; what comes out without the latency."""
    rng, pieces, taken = np.random.default_rng(1), [], 0
    while taken < samples.shape[-1]:
        chunk = samples[..., taken : taken + int(rng.choice(sizes))]
        result = stream.process(chunk)
        assert (result.shape, result.dtype) == (chunk.shape, chunk.dtype)
        pieces.append(result)
        taken += chunk.shape[-1]
    whole = np.concatenate([*pieces, stream.flush()], -1)
    assert not whole[..., : stream.latency].any()
    return whole[..., stream.latency :]


@pytest.mark.parametrize("rate", [8_000, 16_000, 44_100, 48_000])
@pytest.mark.parametrize("channels", [1, 2])
def test_a_stream_equals_the_file_result_after_its_latency(rate, channels):
    model, samples = streaming_model(), speech(rate, channels=channels)
    result = run(Stream(rate, model, channels), samples, [0, 1, 3, 160, 777, 4000])
    expected = hamiltone.enhance(samples, rate, model=model)
    assert np.abs(expected - samples).max() > 0.05
    np.testing.assert_allclose(result, expected, atol=1e-4)


@pytest.mark.parametrize("rate", [8_000, 16_000, 44_100, 48_000])
def test_so_does_white_noise_through_the_bundled_model(rate):
    """Noise fills the edge of the model's band, where filters differ, and the model is not a kind one."""
    noise = (0.3 * np.random.default_rng(rate).standard_normal(rate)).astype(np.float32)
    result = run(Stream(rate), noise, [1, 100, 480, 5000])
    np.testing.assert_allclose(result, hamiltone.enhance(noise, rate, model="live"), atol=1e-4)


def test_the_preset_live_streams_what_its_forward_pass_gives():
    model, samples = streaming_model(preset("live")), speech(16_000, 0.6)
    with torch.inference_mode():
        expected = model(torch.from_numpy(samples)[None])[0].numpy()
    np.testing.assert_allclose(run(Stream(16_000, model), samples, [100, 256, 1000]), expected, atol=1e-4)


@pytest.mark.parametrize("rate", [8_000, 11_025, 16_000, 44_100, 44_101, 48_000, 96_000, 192_000])
@pytest.mark.parametrize("sizes", [[1, 1, 50], [10_000], [0, 1, 997]])
def test_the_latency_is_constant_and_the_length_kept_for_any_chunks(rate, sizes):
    length = rate // 8
    samples = (0.1 * np.random.default_rng(2).standard_normal(length)).astype(np.float32)
    stream = Stream(rate, Counting())
    np.testing.assert_allclose(run(stream, samples, sizes), samples, atol=1e-5)
    assert stream.latency < 0.07 * rate


def test_no_smaller_latency_would_do():
    for rate in (16_000, 48_000):
        stream, least = Stream(rate, Counting()), 10_000
        for _ in range(rate // 8):
            stream.process(np.zeros(1, np.float32))
            least = min(least, len(stream._ready))
        assert least == 0


def test_integers_stay_integers_and_pass_unchanged_at_strength_zero():
    samples = np.random.default_rng(3).integers(-32768, 32768, (2, 9000)).astype(np.int16)
    for rate in (16_000, 48_000):
        result = run(Stream(rate, streaming_model(), 2, strength=0), samples, [500])
        assert result.dtype == np.int16
        np.testing.assert_array_equal(result, samples)
    half = run(Stream(16_000, Counting(0.5)), samples[:1], [500])
    assert np.abs(half - samples[:1] / 2).max() <= 0.5


def test_strength_blends_and_fades_when_it_changes():
    samples = np.full(32_000, 0.5, np.float32)
    assert run(Stream(16_000, Counting(0.0), strength=0.25), samples, [700])[5000] == pytest.approx(0.375)
    stream = Stream(16_000, Counting(0.0))
    stream.process(samples)
    stream.strength = 0
    after = stream.process(samples)
    assert after[-1] == 0.5
    assert 0 < np.abs(np.diff(after)).max() < 0.003
    with pytest.raises(InputError, match="strength"):
        stream.strength = 2


def test_channels_share_a_gain_unless_they_are_to_be_separate():
    model, samples = streaming_model(), speech(16_000, 0.5, channels=2)
    samples[1] = np.roll(samples[1], 3000)
    apart = run(Stream(16_000, model, 2, separate=True), samples, [900])
    for channel in (0, 1):
        alone = run(Stream(16_000, model), samples[channel], [900])
        np.testing.assert_allclose(apart[channel], alone, atol=1e-5)
    silent = np.stack([samples[0], np.zeros_like(samples[0])])
    together = run(Stream(16_000, model, 2), silent, [900])
    assert not together[1].any() and together[0].any()


def test_a_flushed_or_reset_stream_begins_anew():
    for rate in (16_000, 44_100):
        stream, samples = Stream(rate, streaming_model()), speech(rate, 0.3)
        first = run(stream, samples, [512])
        np.testing.assert_array_equal(run(stream, samples, [512]), first)
        stream.process(speech(rate, 0.2))
        stream.reset()
        np.testing.assert_array_equal(run(stream, samples, [512]), first)


def test_damaged_samples_are_silence_with_one_warning():
    for rate in (16_000, 48_000):
        samples, silenced = speech(rate, 0.5), speech(rate, 0.5)
        for start, value in [(4000, np.nan), (5000, np.inf), (6000, -np.inf), (6500, 3e38)]:
            samples[start : start + 200], silenced[start : start + 200] = value, 0
        with pytest.warns(UserWarning, match="silence") as warned:
            result = run(Stream(rate, streaming_model()), samples, [333])
        assert len(warned) == 1
        np.testing.assert_array_equal(result, run(Stream(rate, streaming_model()), silenced, [333]))
    stream = Stream(16_000, streaming_model())
    with pytest.warns(UserWarning, match="silence"):
        stream.process(np.full(20_000, np.nan, np.float32))
    assert np.isfinite(stream.process(speech(16_000, 0.2))).all()
    with pytest.warns(UserWarning, match="silence") as warned:  # a million is infinite in float16, too
        stream.reset()
        stream.process(np.full(20_000, np.inf, np.float16))
    assert len(warned) == 1 and np.isfinite(stream.process(speech(16_000, 0.2))).all()


def test_a_model_that_looks_ahead_is_refused_in_one_line(tmp_path):
    for model in ("compact", "toy"):
        with pytest.raises(InputError, match=rf"^the model '{model}' looks ahead: .* choose live$"):
            Stream(16_000, model)
    path = tmp_path / "both.safetensors"
    config = SMALL.__class__(causal=False, dim=4, memory=4, rows=6, blocks=1, heads=2)
    save_checkpoint(path, build(config), Header(config))
    with pytest.raises(InputError, match="looks ahead"):
        Stream(16_000, path)


def test_a_checkpoint_streams(tmp_path):
    path = tmp_path / "mine.safetensors"
    save_checkpoint(path, untrained(), Header(SMALL))
    samples = speech(16_000, 0.3)
    expected = run(Stream(16_000, streaming_model()), samples, [512])
    np.testing.assert_allclose(run(Stream(16_000, path), samples, [512]), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "chunk", "message"),
    [
        ((7_999,), None, "sample rate"),
        ((192_001,), None, "sample rate"),
        ((16_000.5,), None, "whole Hz"),
        ((16_000, Counting(), 0), None, "channel"),
        ((16_000, Counting(), 10**9), None, "1 to 256 channels"),
        ((16_000, Counting(), 1, 1.5), None, "strength"),
        ((16_000, Counting()), np.zeros((2, 5), np.float32), r"\(L,\) or \(1, L\), got \(2, 5\)"),
        ((16_000, Counting(), 2), np.zeros(5, np.float32), r"\(2, L\), got \(5,\)"),
        ((16_000, Counting()), np.zeros(5, np.int32), "got int32"),
        ((16_000, Counting()), [0.0, 0.1], "expected a chunk as a numpy array, got a list"),
        ((16_000, Counting()), torch.zeros(5), "expected a chunk as a numpy array, got a Tensor"),
        ((None, Counting()), np.zeros(5), "got None"),
        ((float("inf"), Counting()), np.zeros(5), "got inf"),
        ((16_000, Counting(), 1.5), np.zeros(5), "got 1.5"),
        ((16_000, Counting(), 1, None), np.zeros(5), "got None"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, chunk, message):
    with pytest.raises(InputError, match=message):
        Stream(*arguments).process(chunk)


def test_a_diverged_model_is_an_error_and_no_sound():
    with pytest.raises(InputError, match="damaged or diverged"):
        Stream(16_000, Counting(np.nan)).process(np.zeros(600, np.float32))


def test_streams_that_share_a_backend_do_not_hear_each_other():
    backend, sound = resolve_step(streaming_model()), speech(16_000)
    alone = run(Stream(16_000, backend), sound, [480])
    first, second = Stream(16_000, backend), Stream(16_000, backend)
    pieces = []
    for start in range(0, len(sound), 480):
        pieces.append(first.process(sound[start : start + 480]))
        second.process(-0.3 * sound[::-1][start : start + 480])
    together = np.concatenate([*pieces, first.flush()])[first.latency :]
    np.testing.assert_array_equal(together, alone)


def test_the_byte_order_of_samples_does_not_matter():
    sound = (20_000 * speech(16_000, 0.3)).astype("<i2")
    little, big = (run(Stream(16_000, Counting(0.5)), sound.astype(order), [480]) for order in ("<i2", ">i2"))
    np.testing.assert_array_equal(big, little)
    assert np.abs(little).max() > 100


def test_a_whole_number_may_be_of_any_type():
    stream = Stream(np.float64(16_000), Counting(0.5), 2.0, np.float32(1))
    assert stream.process(np.zeros((2, 5), np.float32)).shape == (2, 5)


def test_a_backend_is_recognised_by_its_methods():
    assert isinstance(Counting(), StepBackend) and not isinstance("live", StepBackend)


def soak(stream: Stream, seconds: float) -> None:
    """Feed a stream and compare what memory Python holds after the first ten seconds and at the end."""
    rng, chunk = np.random.default_rng(4), speech(stream.sample_rate, 2.0, stream.channels)
    sizes, fed, early = rng.integers(0, chunk.shape[-1], 8), 0, 0
    tracemalloc.start()
    try:
        number = 0
        while fed < seconds * stream.sample_rate:
            size = int(sizes[number % len(sizes)])
            result = stream.process(chunk[..., :size])
            assert np.isfinite(result).all()
            fed, number = fed + size, number + 1
            if not early and fed > 10 * stream.sample_rate:
                early = tracemalloc.get_traced_memory()[0]
        assert early and tracemalloc.get_traced_memory()[0] - early < 50_000
    finally:
        tracemalloc.stop()


def test_a_minute_of_sound_takes_no_more_memory():
    soak(Stream(16_000, Counting(0.5), 2), 60)


def test_neither_resampling_nor_the_model_holds_on_to_memory():
    soak(Stream(44_100), 20)


@pytest.mark.soak
@pytest.mark.parametrize("rate", [16_000, 48_000])
def test_an_hour_of_sound_takes_no_more_memory(rate, capsys):
    stream, started = Stream(rate), time.perf_counter()
    soak(stream, 36)
    before = resident()
    soak(stream, 3600)
    assert resident() - before < 20e6
    with capsys.disabled():
        ms = [1000 * stream.times.percentile(percent) for percent in (50, 95, 99)]
        print(f"\n{rate} Hz: {time.perf_counter() - started:.0f} s, ms per frame p50 p95 p99", *np.round(ms, 2))


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
