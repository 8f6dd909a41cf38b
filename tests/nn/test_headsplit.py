import pytest
import torch
from torch.nn import functional as F

from hamiltone.algebra import flatten
from hamiltone.nn import ComponentScore, QAttention


def test_one_head_is_flat_attention_with_four_heads():
    """What the released code does: flatten to [r | i | j | k], cut that axis into four heads."""
    q, k, v = torch.randn(3, 2, 1, 9, 4, 8)
    flat = [flatten(tensor[:, 0]).unflatten(-1, (4, 8)).transpose(1, 2) for tensor in (q, k, v)]
    expected = F.scaled_dot_product_attention(*flat)  # (B, 4 heads, N, 8)
    torch.testing.assert_close(ComponentScore().attend(q, k, v)[:, 0].transpose(1, 2), expected)


@pytest.mark.parametrize("masked", [False, True])
def test_both_paths_agree(masked):
    q, k, v = torch.randn(3, 2, 2, 9, 4, 3)
    mask = torch.rand(2, 1, 9, 9) > 0.3 if masked else None
    rule = ComponentScore()
    expected, _ = rule.explicit(q, k, v, mask=mask)
    torch.testing.assert_close(rule.attend(q, k, v, mask=mask), expected)


def test_a_component_sees_no_other():
    attention = QAttention(8, 1, ComponentScore())
    q, k, v = torch.randn(3, 1, 1, 6, 4, 8)
    before = attention.rule.attend(q, k, v)
    q[..., 2, :] += 1.0
    k[..., 2, :] += 1.0
    changed = (attention.rule.attend(q, k, v) - before).abs().amax((0, 1, 2, 4)) > 0
    assert changed.tolist() == [False, False, True, False]
