import os
import threading
import time
import tracemalloc
from itertools import cycle
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
from hamiltone.runtime.backend import resolve_model, resolve_step
from hamiltone.runtime.enhancement import gains_of_windows
from hamiltone.weights import graphs
from streams import SMALL, Counting, streaming_model, untrained

EXAMPLE = Path(__file__).parents[2] / "examples" / "noisy.wav"
HOUR = 3600


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


@pytest.mark.parametrize("rate", [8_000, 11_025, 16_000, 44_100, 48_000])
def test_a_recording_in_many_windows_sounds_as_the_stream(rate):
    """The memory of a model that never looks ahead lasts from one window to the next."""
    samples = speech(rate, 4.0)
    result = run(Stream(rate), samples, [4000])
    expected = hamiltone.enhance(samples, rate, model="live", window_seconds=1.0)
    np.testing.assert_allclose(result, expected, atol=1e-4)


def test_so_does_a_model_in_torch_and_every_channel_has_its_own_memory():
    left, right = speech(16_000, 3.0, channels=2)
    model, samples = streaming_model(), np.stack([left, right, left[::-1]])  # three channels are three groups
    result = run(Stream(16_000, model, 3, separate=True), samples, [4000])
    expected = hamiltone.enhance(samples, 16_000, model=model, window_seconds=1.0)
    np.testing.assert_allclose(result, expected, atol=1e-4)


def test_two_unrelated_channels_of_a_file_are_those_of_separate_streams():
    voice = speech(16_000, 2.0)
    samples = np.stack([voice, np.roll(voice, 9000)])
    expected = hamiltone.enhance(samples, 16_000, model="live")
    separate, shared = (run(Stream(16_000, "live", 2, separate=each), samples, [4000]) for each in (True, False))
    np.testing.assert_allclose(separate, expected, atol=1e-4)
    assert np.abs(shared - expected).max() > 0.01


@pytest.mark.parametrize("kind", ["window graph", "step graph", "torch"])
@pytest.mark.parametrize("rate", [8_000, 16_000, 48_000])
def test_so_does_a_recording_of_any_number_of_samples(rate, kind):
    """Fewer samples than a hop of the model, one hop, and a few."""
    model = {"window graph": "live", "step graph": graphs()["live"], "torch": streaming_model()}[kind]
    backend, stream = resolve_model(model), Stream(rate, model)
    for length in (1, 100, 255, 256, 257, 513, 768):
        samples = (0.3 * np.random.default_rng(length).standard_normal(length)).astype(np.float32)
        result = hamiltone.enhance(samples, rate, model=backend)
        assert result.shape == samples.shape and np.isfinite(result).all()
        np.testing.assert_allclose(result, run(stream, samples, [100]), atol=1e-4)


@pytest.mark.parametrize("frames", [18, 19, 24, 25, 26, 33, 46, 47])
def test_windows_have_the_gains_of_all_frames_at_once(frames):
    """Windows of 12 + 6 frames, as many as needed, the last of them of any length; a single one passes whole."""
    model, rng = resolve_model(streaming_model()), np.random.default_rng(frames)
    spectrum = (rng.standard_normal((1, frames, 257)) + 1j * rng.standard_normal((1, frames, 257))).astype(np.complex64)
    count = -(-(frames - 6) // 12)
    gains, shown = gains_of_windows(model, count, 12, 6), []
    for start in range(0, 12 * count, 12):
        shown.append(gains(spectrum[:, start : start + 18]))
    expected = model.gain(spectrum)
    for number, gain in enumerate(shown):
        np.testing.assert_allclose(gain, expected[:, 12 * number :][:, :18], atol=1e-5)


@pytest.mark.parametrize("level", [1e-6, 1e4])
def test_a_recording_of_any_level_sounds_as_one_of_a_usual_level(level):
    samples = speech(16_000)
    usual, other = (hamiltone.enhance(samples * factor, 16_000, model="live") for factor in (1.0, level))
    usual_gain, other_gain = np.linalg.norm(usual), np.linalg.norm(other / level)
    assert abs(20 * np.log10(other_gain / usual_gain)) < 0.5


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


def test_a_graph_of_windows_is_refused_in_one_line_that_says_what_to_do():
    window = graphs()["live.window"]
    with pytest.raises(InputError, match=r"^the model .* takes whole windows, .*; export it without --window$"):
        Stream(16_000, window)


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


def test_after_an_error_the_stream_begins_anew():
    """Half a chunk would leave it short of samples, and every later chunk would fail or come too early."""

    class Failing(Counting):
        def step(self, spectrum):
            self.factor = np.nan if self.seen == 3 else 0.5
            return super().step(spectrum)

    for rate in (16_000, 48_000):
        stream, sound = Stream(rate, Failing()), speech(rate, 0.3)
        with pytest.raises(InputError, match="diverged"):
            stream.process(sound)
        expected = run(Stream(rate, Counting(0.5)), sound, [480])
        stream._backends[0] = Counting(0.5)
        np.testing.assert_array_equal(run(stream, sound, [480]), expected)


def test_threads_may_share_a_stream():
    """One feeds it, another resets it at any moment; no sample is lost, and afterwards the stream works as usual."""
    sound = speech(48_000, 0.5)
    stream, expected = Stream(48_000), run(Stream(48_000), sound, [777])
    done, errors = threading.Event(), []

    def feed_it() -> None:
        try:
            for _ in range(3):
                run_of_chunks = [stream.process(sound[start : start + 777]) for start in range(0, sound.size, 777)]
                assert sum(map(len, run_of_chunks)) == sound.size
        except Exception as error:
            errors.append(error)
        done.set()

    feeders = [threading.Thread(target=feed_it) for _ in range(2)]
    for feeder in feeders:
        feeder.start()
    while not done.wait(0.001):
        stream.reset()
    for feeder in feeders:
        feeder.join()
    assert errors == []
    stream.reset()
    np.testing.assert_array_equal(run(stream, sound, [777]), expected)


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


def feed(stream: Stream, seconds: float) -> None:
    """Sound in chunks of eight sizes up to two seconds, as fast as it goes."""
    rng, chunk = np.random.default_rng(4), speech(stream.sample_rate, 2.0, stream.channels)
    sizes, fed = cycle(rng.integers(1, chunk.shape[-1], 8)), 0
    while fed < seconds * stream.sample_rate:
        size = int(next(sizes))
        assert np.isfinite(stream.process(chunk[..., :size])).all()
        fed += size


@pytest.mark.parametrize(
    ("rate", "model", "channels", "seconds"), [(16_000, Counting(0.5), 2, 50), (44_100, "live", 1, 10)]
)
def test_neither_the_stream_nor_resampling_nor_the_model_holds_on_to_memory(rate, model, channels, seconds):
    """Of what Python allocates, which takes several times as long to watch."""
    stream = Stream(rate, model, channels)
    tracemalloc.start()
    try:
        feed(stream, 10)
        early = tracemalloc.get_traced_memory()[0]
        feed(stream, seconds)
        assert tracemalloc.get_traced_memory()[0] - early < 50_000
    finally:
        tracemalloc.stop()


@pytest.mark.soak
@pytest.mark.parametrize("rate", [16_000, 44_100])
def test_an_hour_of_sound_takes_no_more_memory(rate, capsys):
    """As fast as it goes: some minutes. It prints how long frames take."""
    stream, started = Stream(rate), time.perf_counter()
    feed(stream, 30)
    before = resident()
    feed(stream, HOUR)
    grown = resident() - before
    with capsys.disabled():
        ms = [1000 * stream.times.percentile(percent) for percent in (50, 95, 99, 99.9)]
        print(
            f"\n{rate} Hz: {stream.times.count} frames in {time.perf_counter() - started:.0f} s, memory "
            f"{grown / 1e6:+.1f} MB, ms per frame p50 p95 p99 p99.9 {np.round(ms, 2)}, longest "
            f"{1000 * stream.times.longest:.1f}"
        )
    assert grown < 10e6


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
