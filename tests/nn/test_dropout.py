import pytest
import torch
from torch.testing import assert_close

from hamiltone.nn import QDropout


@pytest.mark.parametrize(("dim", "shape"), [(-2, (50, 4, 20)), (1, (5, 4, 20, 10))])
def test_dropout_takes_whole_quaternions(dim: int, shape: tuple[int, ...]) -> None:
    kept = QDropout(0.3, dim)(torch.ones(shape))
    first = kept.select(dim, 0)
    assert torch.equal(kept, first.unsqueeze(dim).expand(shape))
    assert_close(first.unique(), torch.tensor([0.0, 1 / 0.7]))
    assert 0.25 < (first == 0).float().mean() < 0.35


def test_dropout_keeps_the_expectation() -> None:
    x = torch.randn(4, 3)
    y = QDropout(0.4)(x.expand(20_000, 4, 3)).mean(0)
    assert_close(y, x, atol=0.06, rtol=0)


def test_dropout_is_the_identity_in_evaluation_and_without_probability() -> None:
    x = torch.randn(2, 4, 3)
    assert QDropout(0.9).eval()(x) is x
    assert QDropout(0.0)(x) is x


def test_dropout_of_everything_is_zero() -> None:
    assert QDropout(1.0)(torch.randn(2, 4, 3)).count_nonzero() == 0


def test_dropout_gradients_are_right() -> None:
    layer = QDropout(0.5)

    def repeatable(x: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(3)
        return layer(x)

    assert torch.autograd.gradcheck(repeatable, (torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True),))


@pytest.mark.parametrize("p", [-0.1, 1.1])
def test_dropout_needs_a_probability(p: float) -> None:
    with pytest.raises(ValueError, match=rf"must lie in \[0, 1\], got {p}"):
        QDropout(p)


@pytest.mark.parametrize("training", [True, False])
def test_dropout_needs_a_component_axis(training: bool) -> None:
    layer = QDropout().train(training)
    with pytest.raises(ValueError, match=r"component axis of length 4 .* at dim -2, got shape \(2, 3, 4\)"):
        layer(torch.zeros(2, 3, 4))
    assert repr(layer) == "QDropout(p=0.5, dim=-2)"
