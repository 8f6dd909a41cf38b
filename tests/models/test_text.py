import pytest
import torch

from hamiltone.data.text import Vocabulary
from hamiltone.errors import InputError
from hamiltone.models import TextConfig, build
from hamiltone.models.text import PADDING, sinusoids
from hamiltone.nn import fold

SMALL = TextConfig(vocabulary=20, dim=4, heads=2, feed_forward=8, limit=12)


@pytest.mark.parametrize("attention", ["shared", "hamilton"])
def test_both_attentions_have_the_paper_s_size_without_the_embedding(attention):
    model = build(TextConfig(attention, vocabulary=100))
    count = sum(parameter.numel() for parameter in model.parameters()) - model.embedding.table.weight.numel()
    assert 95_000 <= count <= 105_000
    assert count == 101_794


@pytest.mark.parametrize("attention", ["shared", "hamilton"])
def test_padding_changes_nothing(attention):
    model = build(TextConfig(attention, vocabulary=20, dim=4, heads=2, feed_forward=8)).eval()
    words = torch.randint(1, 20, (3, 5))
    padded = torch.cat([words, torch.zeros(3, 4, dtype=torch.long)], dim=1)
    model.embedding.table.weight.data[PADDING] = 100.0  # were padding read anywhere, this would show
    with torch.no_grad():
        torch.testing.assert_close(model(padded), model(words), atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(fold(model)(padded), model(words), atol=1e-5, rtol=1e-4)


def test_a_token_embedding_is_cut_into_four_equal_parts():
    embedding = build(SMALL).eval().embedding
    embedding.positions.zero_()
    quaternions = embedding(torch.tensor([[7]]))[0, 0]
    expected = embedding.scale * embedding.table.weight[7]
    for component in range(4):
        torch.testing.assert_close(quaternions[component], expected[4 * component : 4 * component + 4])


def test_word_order_matters():
    model = build(SMALL).eval()
    words = torch.tensor([[3, 4, 5, 6]])
    with torch.no_grad():
        assert not torch.allclose(model(words), model(words.flip(1)), atol=1e-4)
        model.embedding.positions.zero_()
        torch.testing.assert_close(model(words), model(words.flip(1)), atol=1e-5, rtol=1e-4)


def test_positions_are_vaswani_s():
    table = sinusoids(7, 6)
    for position in range(7):
        for pair in range(3):
            angle = torch.tensor(position / 10_000 ** (2 * pair / 6))
            torch.testing.assert_close(table[position, 2 * pair], angle.sin(), atol=1e-6, rtol=1e-5)
            torch.testing.assert_close(table[position, 2 * pair + 1], angle.cos(), atol=1e-6, rtol=1e-5)


def test_gradients_reach_every_parameter_but_not_the_padding():
    model = build(SMALL)
    model(torch.tensor([[2, 3, 0], [4, 5, 6]])).square().mean().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    assert (model.embedding.table.weight.grad[PADDING] == 0).all()


def test_model_and_vocabulary_agree_on_padding():
    assert Vocabulary.padding == PADDING


def test_wrong_input_and_settings_are_refused():
    with pytest.raises(ValueError, match=r"expected words \(B, 0 < N <= 12\), got shape \(1, 13\)"):
        build(SMALL)(torch.ones(1, 13, dtype=torch.long))
    with pytest.raises(InputError, match=r"attention must be one of shared, .* got 'qtn'"):
        TextConfig("qtn")
    with pytest.raises(InputError, match="heads must divide the 32 quaternions"):
        TextConfig(heads=5)
