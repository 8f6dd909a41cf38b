import pytest
import torch

from hamiltone.errors import InputError
from hamiltone.models import VisionConfig, build
from hamiltone.models.vision import QResNet, pure_quaternions
from hamiltone.nn import fold
from hamiltone.nn.rules import RULES

SMALL = VisionConfig(channels=(2, 4), blocks=1, heads=2, layers=1, feed_forward=4, classes=5, size=8)
QTN = VisionConfig("qtn", feed_forward=64)


def parameters(config: VisionConfig) -> int:
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in build(config).parameters())


@pytest.mark.parametrize("config", [VisionConfig(), VisionConfig("hamilton"), QTN], ids=lambda c: c.attention)
def test_every_attention_gives_the_paper_s_size(config):
    assert 1_650_000 <= parameters(config) <= 1_800_000


def test_shared_and_hamilton_have_the_same_parameters_and_qtn_nearly():
    assert parameters(VisionConfig()) == parameters(VisionConfig("hamilton"))
    assert abs(parameters(QTN) / parameters(VisionConfig()) - 1) < 0.002


def test_colours_are_the_imaginary_parts():
    images = torch.rand(2, 3, 4, 5)
    quaternions = pure_quaternions(images)
    assert quaternions.shape == (2, 4, 1, 4, 5)
    assert (quaternions[:, 0] == 0).all()
    assert torch.equal(quaternions[:, 1:, 0], images)


def test_four_stages_make_sixteen_tokens_of_a_cifar_image():
    assert QResNet((2, 2, 4, 4))(torch.randn(1, 4, 1, 32, 32)).shape == (1, 4, 4, 4, 4)
    assert VisionConfig().grid ** 2 == 16
    strides = [m.stride for m in QResNet((2, 2, 4, 4)).modules() if getattr(m, "kernel_size", None) == (3, 3)]
    assert strides.count((2, 2)) == 3 and len(strides) == 1 + 4 * 2 * 2


@pytest.mark.parametrize("attention", ["shared", "hamilton", "qtn"])
def test_folding_keeps_the_scores(attention):
    model = build(VisionConfig(attention, channels=(2, 4), blocks=1, heads=2, layers=1, feed_forward=4, size=8))
    images = torch.rand(3, 3, 8, 8)
    model(images)  # moves the running statistics
    with torch.no_grad():
        torch.testing.assert_close(fold(model)(images), model.eval()(images), atol=1e-5, rtol=1e-4)


def test_gradients_reach_every_parameter_and_images_do_not_meet_in_evaluation():
    model = build(SMALL)
    images = torch.rand(4, 3, 8, 8)
    model(images).square().mean().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    model.eval()
    with torch.no_grad():
        torch.testing.assert_close(model(images)[1:2], model(images[1:2]), atol=1e-5, rtol=1e-4)


def test_the_place_of_a_token_matters():
    model = build(SMALL).eval()
    model.positions.data.normal_()
    x = torch.rand(1, 3, 8, 8)
    with torch.no_grad():
        before = model(x)
        model.positions.data = model.positions.data.flip(0)
        assert not torch.allclose(before, model(x), atol=1e-4)


def test_wrong_images_and_settings_are_refused():
    model = build(SMALL)
    with pytest.raises(ValueError, match=r"RGB images \(B, 3, H, W\), got shape \(1, 1, 8, 8\)"):
        model(torch.rand(1, 1, 8, 8))
    with pytest.raises(ValueError, match=r"64 tokens .* but there are 16 positions"):
        model(torch.rand(1, 3, 16, 16))
    with pytest.raises(InputError, match=f"attention must be one of {', '.join(RULES)}, qtn, or a rule"):
        VisionConfig("none")
    with pytest.raises(InputError, match="4 stages cannot halve images of 20 pixels"):
        VisionConfig(size=20)
    with pytest.raises(InputError, match="heads must divide the 64 quaternions"):
        VisionConfig(heads=3)
