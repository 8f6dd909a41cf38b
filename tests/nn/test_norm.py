import pytest
import torch
from torch import nn
from torch.testing import assert_close

import oracle
from cases import randomise_
from hamiltone.nn import QBatchNorm, QLayerNorm, QRMSNorm


def test_rms_norm_is_equations_17_and_18() -> None:
    layer = randomise_(QRMSNorm(3, eps=0.1).double())
    x = torch.randn(2, 5, 4, 3, dtype=torch.float64)
    expected = [oracle.tensor([oracle.rms_norm(row, layer.gain, 0.1) for row in oracle.rows(sample)]) for sample in x]
    assert_close(layer(x), torch.stack(expected))


@pytest.mark.parametrize("component", range(4))
def test_rms_norm_looks_at_one_quaternion_only(component: int) -> None:
    layer, x = QRMSNorm(8), torch.randn(4, 8)
    changed = x.clone()
    changed[component, 2] += 1.0
    moved = (layer(changed) - layer(x)).abs() > 1e-6
    assert moved[:, 2].all()
    assert moved.sum() == 4


@pytest.mark.parametrize("bias", [True, False])
def test_layer_norm_centres_each_component_and_divides_by_one_rms(bias: bool) -> None:
    layer = randomise_(QLayerNorm(3, eps=0.1, bias=bias).double())
    x = torch.randn(2, 5, 4, 3, dtype=torch.float64)
    expected = [
        oracle.tensor([oracle.layer_norm(row, layer.gain, layer.bias, 0.1) for row in oracle.rows(sample)])
        for sample in x
    ]
    assert_close(layer(x), torch.stack(expected))
    fresh = QLayerNorm(64)(3 + 5 * torch.randn(10, 4, 64))
    assert_close(fresh.mean(-1), torch.zeros(10, 4), atol=1e-5, rtol=0)
    assert_close(fresh.square().mean((-2, -1)), torch.ones(10), atol=1e-4, rtol=0)


SHAPES = [(7, 4, 3), (3, 4, 3, 5), (2, 4, 3, 2, 3)]


def channel(x: torch.Tensor, c: int) -> list[oracle.Quaternion]:
    return [tuple(q) for q in x[:, :, c].movedim(1, -1).reshape(-1, 4).tolist()]


@pytest.mark.parametrize("shape", SHAPES)
def test_batch_norm_in_training_uses_a_mean_per_component_and_one_variance_per_quaternion(
    shape: tuple[int, ...],
) -> None:
    layer = randomise_(QBatchNorm(3, eps=0.1).double())
    x = 2 * torch.randn(shape, dtype=torch.float64) + 1
    y = layer(x)
    for c in range(3):
        mean, variance = oracle.moments(channel(x, c))
        factor = layer.gain[c].item() / (variance + 0.1) ** 0.5
        bias = tuple(layer.bias[:, c].tolist())
        expected = [oracle.add([oracle.scale(q, factor), oracle.scale(mean, -factor), bias]) for q in channel(x, c)]
        assert_close(torch.tensor(channel(y.detach(), c)), torch.tensor(expected))


@pytest.mark.parametrize("shape", SHAPES)
def test_batch_norm_tracks_the_mean_and_the_unbiased_variance(shape: tuple[int, ...]) -> None:
    layer = QBatchNorm(3, momentum=0.3).double()
    mean, variance = torch.zeros(4, 3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    for _ in range(3):
        x = 2 * torch.randn(shape, dtype=torch.float64) + 1
        layer(x)
        for c in range(3):
            quaternions = channel(x, c)
            now, spread = oracle.moments(quaternions)
            spread *= len(quaternions) / (len(quaternions) - 1)
            mean[:, c] = 0.7 * mean[:, c] + 0.3 * torch.tensor(now, dtype=torch.float64)
            variance[c] = 0.7 * variance[c] + 0.3 * spread
    assert_close(layer.running_mean, mean)
    assert_close(layer.running_var, variance)
    assert layer.num_batches_tracked == 3


@pytest.mark.parametrize("shape", SHAPES)
def test_batch_norm_in_evaluation_uses_the_running_statistics(shape: tuple[int, ...]) -> None:
    layer = randomise_(QBatchNorm(3).double()).eval()
    before = {name: value.clone() for name, value in layer.state_dict().items()}
    x = torch.randn(shape, dtype=torch.float64)
    y = layer(x)
    for c in range(3):
        for a in range(4):
            root = (layer.running_var[c] + layer.eps).sqrt()
            expected = (x[:, a, c] - layer.running_mean[a, c]) / root * layer.gain[c] + layer.bias[a, c]
            assert_close(y[:, a, c], expected)
    assert all(torch.equal(value, before[name]) for name, value in layer.state_dict().items())


def test_batch_norm_keeps_the_variance_of_channels_apart() -> None:
    x = torch.randn(1000, 4, 2) * torch.tensor([1.0, 100.0])
    assert_close(QBatchNorm(2)(x).square().mean((0, 1)), torch.ones(2), atol=1e-3, rtol=0)


@pytest.mark.parametrize("layer", [QRMSNorm(3), QLayerNorm(3), QLayerNorm(3, bias=False)], ids=repr)
def test_sequence_norm_gradients_are_right(layer: nn.Module) -> None:
    layer = randomise_(layer.double())
    x = torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, *_: layer(x), (x, *layer.parameters()))


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_gradients_are_right(training: bool) -> None:
    layer = randomise_(QBatchNorm(2).double()).train(training)
    x = torch.randn(3, 4, 2, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, *_: layer(x), (x, *layer.parameters()))


@pytest.mark.parametrize("layer", [QRMSNorm(3), QLayerNorm(3)], ids=repr)
def test_norm_of_zero_is_finite_with_finite_gradients(layer: nn.Module) -> None:
    x = torch.zeros(2, 4, 3, requires_grad=True)
    layer(x).sum().backward()
    assert layer(x).isfinite().all()
    assert x.grad.isfinite().all()


@pytest.mark.parametrize("layer", [QRMSNorm(3), QLayerNorm(3), QBatchNorm(3)], ids=repr)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_squares_do_not_overflow(layer: nn.Module, dtype: torch.dtype) -> None:
    x = 1000 * torch.randn(5, 4, 3)
    y = layer(x.to(dtype))
    assert y.dtype == dtype
    assert_close(y.float(), layer(x), atol=0.05, rtol=0.05)


@pytest.mark.parametrize("layer", [QRMSNorm(3), QLayerNorm(3)], ids=repr)
@pytest.mark.parametrize("shape", [(2, 3, 3), (2, 4, 5), (3,)])
def test_sequence_norms_say_which_shape_they_expected(layer: nn.Module, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=rf"{type(layer).__name__} expected \(\.\.\., 4, 3\), got shape"):
        layer(torch.zeros(shape))


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 4, 5, 3), (4, 3)])
def test_batch_norm_says_which_shape_it_expected(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"QBatchNorm expected \(B, 4, 3, \.\.\.\), got shape"):
        QBatchNorm(3)(torch.zeros(shape))


def test_batch_norm_cannot_train_on_one_value() -> None:
    with pytest.raises(ValueError, match=r"needs two values per channel, got shape \(1, 4, 3, 1\)"):
        QBatchNorm(3)(torch.zeros(1, 4, 3, 1))
    assert QBatchNorm(3).eval()(torch.zeros(1, 4, 3, 1)).shape == (1, 4, 3, 1)


@pytest.mark.parametrize("shape", [(5, 4, 3), (2, 4, 3, 4), (2, 4, 3, 2, 3)])
def test_batch_norm_in_training_has_right_first_and_second_derivatives(shape: tuple[int, ...]) -> None:
    layer = QBatchNorm(3).double()
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, *_: layer(x), (x, *layer.parameters()))
    assert torch.autograd.gradgradcheck(lambda x, *_: layer(x), (x, *layer.parameters()))


@pytest.mark.parametrize("last", [False, True])
def test_batch_norm_keeps_its_precision_far_from_zero(last: bool) -> None:
    x = 1000 + torch.randn(4, 4, 3, 20, 30)
    x = x.permute(0, 3, 4, 1, 2).contiguous().permute(0, 3, 4, 1, 2) if last else x
    torch.testing.assert_close(QBatchNorm(3)(x), QBatchNorm(3).double()(x.double()).float(), atol=2e-3, rtol=0)
    x.requires_grad_()
    wide = x.detach().double().requires_grad_()
    weights = torch.randn_like(x)
    (QBatchNorm(3)(x) * weights).sum().backward()
    (QBatchNorm(3).double()(wide) * weights).sum().backward()
    torch.testing.assert_close(x.grad, wide.grad.float(), atol=2e-3, rtol=0)
