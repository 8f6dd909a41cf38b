import math

import pytest
import torch

from cases import BATCH, HEADS, LENGTH, MASKS
from hamiltone.nn.masks import check_mask, combine_masks
from hamiltone.nn.scores import causal_mask
from oracle import additive_bias

SHAPE = (BATCH, HEADS, LENGTH, LENGTH)
LIKE = torch.zeros(())


def combined_bias(options: dict, shape: tuple[int, int, int, int]) -> torch.Tensor:
    """The mask that the rules get, as a float to add; dead rows closed again."""
    combined = combine_masks(
        options.get("mask"), options.get("key_padding_mask"), options.get("causal", False), shape, LIKE
    )
    bias = torch.zeros(shape)
    if combined.causal:
        bias = bias.masked_fill(torch.ones(shape[2:]).triu(1).bool(), -math.inf)
    if combined.mask is not None:
        bias = (
            bias.masked_fill(~combined.mask, -math.inf) if combined.mask.dtype == torch.bool else bias + combined.mask
        )
    assert (bias > -math.inf).any(-1).all(), "every row the softmax sees has a key"
    return bias if combined.live is None else bias.masked_fill(~combined.live, -math.inf)


@pytest.mark.parametrize("name", MASKS)
def test_combined_mask_says_what_its_parts_say(name: str) -> None:
    expected = additive_bias(SHAPE, MASKS[name])
    actual = combined_bias(MASKS[name], SHAPE)
    for at in torch.cartesian_prod(*map(torch.arange, SHAPE)).tolist():
        assert actual[tuple(at)].item() == pytest.approx(expected(*at))


@pytest.mark.parametrize("n", range(1, 6))
def test_causal_queries_are_the_last_of_the_keys(n: int) -> None:
    actual = combined_bias({"causal": True}, (1, 1, n, 5))[0, 0]
    for i in range(n):
        assert (actual[i] == 0).tolist() == [j <= i + 5 - n for j in range(5)]
    assert torch.equal(causal_mask(n, 5, torch.device("cpu")), actual == 0)


def test_plain_causality_builds_no_mask() -> None:
    assert combine_masks(None, None, True, SHAPE, LIKE) == (None, True, None)
    assert combine_masks(None, None, True, (1, 1, 1, 5), LIKE) == (None, False, None)
    assert combine_masks(None, None, False, SHAPE, LIKE) == (None, False, None)


def test_float_masks_take_the_dtype_of_the_scores() -> None:
    mask = combine_masks(torch.zeros(LENGTH, LENGTH), None, False, SHAPE, LIKE.double()).mask
    assert mask.dtype == torch.float64


@pytest.mark.parametrize(
    "shape", [(LENGTH + 1, LENGTH), (3, 1, LENGTH, LENGTH), (1, BATCH, HEADS, LENGTH, LENGTH), (2,)]
)
def test_a_mask_of_the_wrong_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"mask must be broadcastable to \(B, H, N, M\) = \(2, 2, 5, 5\), got \("):
        check_mask(torch.zeros(shape), SHAPE)


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.complex64])
def test_a_mask_of_the_wrong_dtype_is_refused(dtype: torch.dtype) -> None:
    with pytest.raises(ValueError, match=rf"boolean \(True = may attend\) or floating \(added\), got {dtype}"):
        check_mask(torch.zeros(LENGTH, LENGTH, dtype=dtype), SHAPE)


@pytest.mark.parametrize(
    "padding", [torch.ones(BATCH, LENGTH + 1).bool(), torch.ones(LENGTH).bool(), torch.ones(BATCH, LENGTH)]
)
def test_a_wrong_key_padding_mask_is_refused(padding: torch.Tensor) -> None:
    with pytest.raises(
        ValueError, match=r"key_padding_mask must be boolean .* of shape \(B, M\) = \(2, 5\), got torch\."
    ):
        combine_masks(None, padding, False, SHAPE, LIKE)
