from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from cases import randomise_
from hamiltone.errors import InputError
from hamiltone.models import Enhancer, RowConfig, build, folded, preset
from hamiltone.models.rows import RowMap, row_hats
from hamiltone.nn import QBatchNorm

SMALL = RowConfig(channels=3, dim=4, memory=4, rows=6, blocks=2, heads=2, residuals=1, n_fft=64, hop=32)


def model(**changes: object) -> Enhancer:
    """As initialised, but with a phase correction and statistics that are not those of the start."""
    enhancer = build(replace(SMALL, **changes)).eval()
    randomise_(enhancer.network.head.read)
    for norm in enhancer.modules():
        if isinstance(norm, QBatchNorm):
            randomise_(norm)
    return enhancer


@pytest.mark.parametrize("cuts", [[1] * 63, [63], [1, 5, 2, 30, 25]])
def test_any_chunking_of_a_stream_gives_the_gain_of_the_whole(cuts: list[int]) -> None:
    enhancer = model()
    spectrum = torch.randn(2, 63, 33, dtype=torch.complex64)
    with torch.no_grad():
        state, gains = (), []
        for frames in spectrum.split(cuts, dim=1):
            gain, state = enhancer.step(frames, state)
            gains.append(gain)
        assert_close(torch.cat(gains, 1), enhancer.gain(spectrum), atol=1e-5, rtol=1e-5)


def test_a_causal_network_never_looks_ahead_and_the_other_does() -> None:
    spectrum = torch.randn(1, 40, 33, dtype=torch.complex64)
    changed = spectrum.clone()
    changed[:, 25:] = torch.randn(1, 15, 33, dtype=torch.complex64)
    with torch.no_grad():
        for causal in (True, False):
            enhancer = model(causal=causal)
            before, after = (enhancer.gain(x)[:, :25] for x in (spectrum, changed))
            assert torch.equal(before, after) is causal


@pytest.mark.parametrize("causal", [True, False])
def test_the_result_follows_the_level_of_the_input_exactly(causal: bool) -> None:
    enhancer, waveform = model(causal=causal), torch.randn(1, 4000)
    with torch.no_grad():
        assert_close(enhancer(1e-3 * waveform) * 1e3, enhancer(waveform), atol=2e-3, rtol=1e-3)
        quiet, loud = (enhancer.gain(scale * enhancer.stft(waveform)) for scale in (0.1, 10.0))
    assert_close(quiet, loud, atol=2e-3, rtol=1e-3)


@pytest.mark.parametrize("causal", [True, False])
def test_folding_keeps_the_function(causal: bool) -> None:
    enhancer, waveform = model(causal=causal), torch.randn(2, 3000)
    with torch.no_grad():
        assert_close(folded(enhancer)(waveform), enhancer(waveform), atol=1e-5, rtol=1e-4)


def test_a_network_that_looks_ahead_cannot_step() -> None:
    enhancer = model(causal=False)
    assert not enhancer.streams
    with pytest.raises(ValueError, match="looks ahead"):
        enhancer.step(torch.zeros(1, 1, 33, dtype=torch.complex64))


def test_the_phase_correction_starts_at_zero() -> None:
    gain = build(SMALL).eval().gain(torch.randn(1, 9, 33, dtype=torch.complex64))
    assert_close(gain.imag, torch.zeros_like(gain.imag))


def test_rows_spread_and_squeeze_smoothly() -> None:
    hats = row_hats(6, 16)
    assert_close(hats.sum(1), torch.ones(16))  # a constant stays one
    assert RowMap(16, 6)(torch.randn(2, 3, 16, 4, 5)).shape == (2, 3, 6, 4, 5)


def test_the_preset_for_streams_keeps_its_promises() -> None:
    enhancer = build(preset("live"))
    assert enhancer.streams
    assert (enhancer.stft.n_fft, enhancer.stft.hop) == (512, 256)  # 32 ms
    assert sum(parameter.numel() for parameter in enhancer.parameters()) <= 100_000


@pytest.mark.parametrize("changes", [{"stride": 7}, {"kernel_size": 7}, {"heads": 3}, {"decay": 1.0}, {"decay": 0.0}])
def test_sizes_that_do_not_fit_are_refused(changes: dict[str, float]) -> None:
    with pytest.raises(InputError):
        replace(SMALL, **changes)
