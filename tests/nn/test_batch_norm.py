import pytest
import torch
from torch.testing import assert_close

import oracle
from cases import randomise_
from hamiltone.nn import QBatchNorm

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


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_gradients_are_right(training: bool) -> None:
    layer = randomise_(QBatchNorm(2).double()).train(training)
    x = torch.randn(3, 4, 2, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, *_: layer(x), (x, *layer.parameters()))


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


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_squares_do_not_overflow(dtype: torch.dtype) -> None:
    layer, x = QBatchNorm(3), 1000 * torch.randn(5, 4, 3)
    y = layer(x.to(dtype))
    assert y.dtype == dtype
    assert_close(y.float(), layer(x), atol=0.05, rtol=0.05)
