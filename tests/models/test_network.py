import torch

from hamiltone.models.network import MaskHead


def test_an_untrained_head_leaves_the_phase_alone_and_can_learn_it():
    head = MaskHead(channels=3)
    mask, phase = head(torch.randn(2, 4, 3, 5, 9))
    assert not phase.any()
    assert 0 < mask.min() < mask.max() < 2
    phase.sum().backward()
    assert head.combine.weight.grad[1].abs().min() > 0
