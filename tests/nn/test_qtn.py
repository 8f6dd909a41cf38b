from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

import oracle
from cases import randomise_
from hamiltone.nn import QTNAttention

DIM, HEADS = 4, 2


def build(**options: Any) -> QTNAttention:
    return randomise_(QTNAttention(DIM, HEADS, **options).double()).eval()


def literal(layer: QTNAttention, x: Tensor, valid: Tensor) -> Tensor:
    """One sample ``(N, 4, C)``: quaternion convolutions, then the shared map over the keys of the window."""
    state = layer.state_dict()
    signal = (x * valid[:, None, None]).permute(1, 2, 0)

    def project(name: str) -> list[oracle.Row]:
        convolution = getattr(layer, name)
        y = oracle.convolution(signal, convolution.weight, convolution.bias, **convolution.geometry())
        gain = state.get(f"{name}_norm.gain")
        rows = oracle.rows(y.permute(2, 0, 1))
        return rows if gain is None else [oracle.rms_norm(row, gain, 1e-6) for row in rows]

    def bias(i: int, j: int) -> float:
        return 0.0 if abs(i - j) <= layer.radius and valid[j] else -float("inf")

    q, k, v = project("query"), project("key"), project("value")
    joined: list[oracle.Row] = [[] for _ in q]
    for h in range(HEADS):
        part = slice(h * DIM // HEADS, (h + 1) * DIM // HEADS)
        q_h, k_h, v_h = ([row[part] for row in rows] for rows in (q, k, v))
        for row, piece in zip(joined, oracle.apply_maps(oracle.shared_maps(q_h, k_h, bias), v_h), strict=True):
            row.extend(piece)
    return oracle.tensor([oracle.linear(row, layer.out.weight, layer.out.bias) for row in joined])


@pytest.mark.parametrize("length", [1, 2, 3, 6, 7, 11])
@pytest.mark.parametrize("options", [{}, {"kernel_size": 5, "bias": False}, {"qk_norm": False}], ids=str)
def test_local_attention_agrees_with_the_scalar_oracle(length: int, options: dict[str, Any]) -> None:
    layer = build(radius=3, **options)
    x = torch.randn(2, length, 4, DIM, dtype=torch.float64)
    valid = torch.ones(length, dtype=torch.bool)
    assert_close(layer(x), torch.stack([literal(layer, sample, valid) for sample in x]))


def test_local_attention_with_padding_agrees_with_the_scalar_oracle() -> None:
    layer = build(radius=2)
    x = torch.randn(2, 9, 4, DIM, dtype=torch.float64)
    valid = torch.tensor([[True] * 4 + [False] * 5, [False, True, True, True, True, False, True, True, True]])
    y = layer(x, key_padding_mask=valid)
    assert_close(y, torch.stack([literal(layer, *sample) for sample in zip(x, valid, strict=True)]))
    assert torch.equal(y[0, 6:], layer.out.bias.expand(3, 4, DIM)), "no real token within the radius"


def test_padding_is_the_same_as_a_shorter_sequence() -> None:
    layer, x = build(radius=2), torch.randn(1, 9, 4, DIM, dtype=torch.float64)
    padding = torch.arange(9)[None] < 5
    assert_close(layer(x, key_padding_mask=padding)[:, :5], layer(x[:, :5]))


@pytest.mark.parametrize("radius", [1, 2, 4])
def test_attention_is_local(radius: int) -> None:
    layer, x = build(radius=radius, kernel_size=3), torch.randn(1, 15, 4, DIM, dtype=torch.float64)
    changed = x.clone()
    changed[:, 7] += 1.0
    moved = (layer(x) - layer(changed)).abs().amax((0, 2, 3)) > 1e-9
    assert moved.tolist() == [abs(n - 7) <= radius + 1 for n in range(15)]


def test_local_attention_gradients_are_right() -> None:
    layer = randomise_(QTNAttention(2, 2, radius=2).double())
    x = torch.randn(1, 5, 4, 2, dtype=torch.float64, requires_grad=True)
    padding = torch.tensor([[True, True, False, False, False]])
    inputs = (x, *layer.parameters())
    assert torch.autograd.gradcheck(lambda x, *_: layer(x), inputs)
    assert torch.autograd.gradcheck(lambda x, *_: layer(x, key_padding_mask=padding), inputs)


def test_local_dropout_acts_in_training_only() -> None:
    layer, x = build(radius=2, dropout=0.5), torch.randn(1, 6, 4, DIM, dtype=torch.float64)
    assert torch.equal(layer(x), layer(x))
    layer.train()
    assert (layer(x) - layer(x)).abs().max() > 1e-2
    assert "4, heads=2, radius=2, dropout=0.5" in repr(layer)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"heads": 3}, "heads must divide dim, got 3 heads for 4 quaternions"),
        ({"dim": 0}, "heads must divide dim, got 2 heads for 0 quaternions"),
        ({"kernel_size": 2}, "expected an odd kernel and a positive radius, got 2 and 8"),
        ({"radius": 0}, "expected an odd kernel and a positive radius, got 3 and 0"),
        ({"dropout": 1.5}, r"dropout must lie in \[0, 1\), got 1.5"),
    ],
)
def test_bad_sizes_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        QTNAttention(**({"dim": DIM, "heads": HEADS} | options))


@pytest.mark.parametrize("shape", [(2, 5, 4, 3), (2, 4, 5, 4), (2, 5, 16), (2, 0, 4, 4)])
def test_bad_shapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"x must be \(B, N > 0, 4, 4\), got shape \(2, "):
        QTNAttention(DIM, HEADS)(torch.zeros(shape))


@pytest.mark.parametrize("padding", [torch.ones(2, 4).bool(), torch.ones(2, 5)])
def test_a_wrong_padding_mask_is_refused(padding: Tensor) -> None:
    with pytest.raises(ValueError, match=r"key_padding_mask must be boolean of shape \(B, N\) = \(2, 5\), got torch\."):
        QTNAttention(DIM, HEADS)(torch.zeros(2, 5, 4, DIM), key_padding_mask=padding)
