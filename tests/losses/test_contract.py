"""What holds for every loss."""

from collections.abc import Callable
from dataclasses import asdict
from functools import cache

import pytest
import torch
from torch import Tensor

from hamiltone.losses import (
    PAPER_WEIGHTS,
    EnhancementLoss,
    LossWeights,
    PESQLoss,
    complex_l1_loss,
    compressed_spectrum_loss,
    multi_resolution_stft_loss,
    rms_loss,
    sisdr_loss,
)
from speech import synthetic_speech

TOTAL = EnhancementLoss()
Loss = Callable[[Tensor, Tensor], Tensor]
LOSSES: dict[str, Loss] = {
    "mstft": multi_resolution_stft_loss,
    "sisdr": sisdr_loss,
    "rms": rms_loss,
    "complex_l1": complex_l1_loss,
    "pesq": PESQLoss(),
    "compressed": compressed_spectrum_loss,
    "total": lambda estimate, target: TOTAL(estimate, target)[0],
}


@cache
def speech(batch: int = 2, length: int = 8000) -> Tensor:
    return torch.stack([torch.from_numpy(synthetic_speech(length / 16_000, seed)).float() for seed in range(batch)])


def noisy(target: Tensor) -> Tensor:
    return target + 0.02 * torch.randn_like(target)


@cache
def hard_cases() -> dict[str, tuple[Tensor, Tensor]]:
    clean = speech()
    silence = torch.zeros_like(clean)
    tone = torch.sin(torch.arange(8000) * 2.0).repeat(2, 1)
    return {
        "silent estimate": (silence, clean),
        "silent target": (noisy(clean), silence),
        "silent both": (silence, silence),
        "one silent item": (noisy(clean), clean * torch.tensor([[1.0], [0.0]])),
        "perfect": (clean, clean),
        "clipping": ((50 * clean).clamp(-1, 1), clean),
        "opposite sign": (-clean, clean),
        "constant": (torch.ones_like(clean), clean),
        "outside the speech band": (tone, clean),
        "target outside the speech band": (noisy(clean), tone),
        "one hop": (noisy(clean)[:, :100], clean[:, :100]),
        "shorter than the longest window": (noisy(clean)[:, :1500], clean[:, :1500]),
        "one sample": (noisy(clean)[:, 4000:4001], clean[:, 4000:4001]),
        "huge": (1e6 * noisy(clean), 1e6 * clean),
        "tiny": (1e-9 * noisy(clean), 1e-9 * clean),
        "huge against tiny": (1e6 * noisy(clean), 1e-9 * clean),
        "almost silent estimate": (1e-30 * clean, clean),
        "almost perfect": (clean * (1 + 1e-7), clean),
        "16-bit integers as floats": ((32768 * noisy(clean)).round(), (32768 * clean).round()),
    }


def test_every_term_of_the_total_is_in_the_table_above() -> None:
    assert asdict(PAPER_WEIGHTS).keys() <= LOSSES.keys()


@pytest.mark.parametrize("name", asdict(PAPER_WEIGHTS))
def test_a_weight_switches_on_the_loss_of_its_name(name: str) -> None:
    target = speech()
    estimate = noisy(target)
    _, terms = EnhancementLoss(LossWeights(**{name: 1.0}))(estimate, target)
    torch.testing.assert_close(terms, {name: LOSSES[name](estimate, target)})


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("case", hard_cases())
def test_value_and_gradient_are_finite(name: str, case: str) -> None:
    estimate, target = hard_cases()[case]
    estimate = estimate.clone().requires_grad_()
    value = LOSSES[name](estimate, target)
    value.backward()
    assert value.shape == () and value.isfinite()
    assert estimate.grad is not None and estimate.grad.isfinite().all()


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_broken_estimate_is_never_rewarded(name: str, bad: float) -> None:
    target = speech()
    estimate = noisy(target)
    estimate[0, 4000] = bad
    value = LOSSES[name](estimate, target)
    assert value.isnan() or value == float("inf")


@pytest.mark.parametrize("name", LOSSES)
def test_the_loss_of_a_batch_is_the_mean_over_its_items(name: str) -> None:
    target = speech(3)
    estimate = noisy(target)
    items = [LOSSES[name](estimate[i : i + 1], target[i : i + 1]) for i in range(3)]
    torch.testing.assert_close(LOSSES[name](estimate, target), torch.stack(items).mean())


@pytest.mark.parametrize("name", LOSSES)
def test_no_estimate_beats_the_target(name: str) -> None:
    target = speech()
    assert LOSSES[name](target, target) < LOSSES[name](target + 1e-3 * torch.randn_like(target), target)


@pytest.mark.parametrize("name", LOSSES)
def test_more_noise_costs_more(name: str) -> None:
    target = speech()
    noise = torch.randn_like(target)
    losses = [LOSSES[name](target + level * noise, target).item() for level in (0.001, 0.003, 0.01, 0.03, 0.1)]
    assert losses == sorted(losses)


@pytest.mark.parametrize("name", LOSSES)
def test_gradient_is_that_of_finite_differences(name: str) -> None:
    target = speech(1, 1200).double()
    estimate = noisy(target).requires_grad_()
    direction = torch.randn_like(target)
    (gradient,) = torch.autograd.grad(LOSSES[name](estimate, target), estimate)
    step = 1e-7
    ahead, behind = (LOSSES[name](estimate.detach() + sign * step * direction, target) for sign in (1, -1))
    torch.testing.assert_close((gradient * direction).sum(), (ahead - behind) / (2 * step), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_widened(name: str, dtype: torch.dtype) -> None:
    target = speech()
    estimate = noisy(target)
    wide = LOSSES[name](estimate.to(dtype).float(), target.to(dtype).float())
    torch.testing.assert_close(LOSSES[name](estimate.to(dtype), target.to(dtype)), wide)


@pytest.mark.parametrize("name", LOSSES)
def test_autocast_changes_nothing(name: str) -> None:
    target = speech()
    estimate = noisy(target)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        value = LOSSES[name](estimate, target)
    torch.testing.assert_close(value, LOSSES[name](estimate, target))


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize(
    "shapes", [((8000,), (8000,)), ((2, 8000), (2, 7999)), ((2, 8000), (1, 8000)), ((2, 0), (2, 0))]
)
def test_other_shapes_are_refused(name: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    with pytest.raises(ValueError, match=r"\(B, L\)"):
        LOSSES[name](torch.zeros(shapes[0]), torch.zeros(shapes[1]))
