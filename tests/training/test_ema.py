import pytest
import torch
from torch import nn

from hamiltone.nn import QBatchNorm
from hamiltone.training.ema import MovingAverage


def test_the_average_follows_its_formula():
    model = nn.Linear(3, 2).double()
    expected = model.weight.detach().clone()
    average = MovingAverage(model, decay=0.9)
    for step in range(120):
        nn.init.normal_(model.weight)
        average.update(model, step)
        decay = min(0.9, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * model.weight.detach()
    torch.testing.assert_close(average.model.weight, expected)


def test_a_decay_of_zero_is_the_model_itself():
    model = nn.Linear(3, 2)
    average = MovingAverage(model, decay=0.0)
    nn.init.normal_(model.weight)
    average.update(model, 5)
    assert torch.equal(average.model.weight, model.weight)


def test_running_statistics_are_averaged_and_counters_copied():
    model = QBatchNorm(2)
    average = MovingAverage(model, decay=0.5)
    before = model.running_mean.clone()
    model(torch.randn(8, 4, 2))
    average.update(model, 100)
    torch.testing.assert_close(average.model.running_mean, 0.5 * before + 0.5 * model.running_mean)
    assert average.model.num_batches_tracked == 1


def test_the_copy_is_frozen_and_in_evaluation_mode():
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout()).train()
    average = MovingAverage(model, decay=0.9)
    assert not average.model.training
    assert not any(parameter.requires_grad for parameter in average.model.parameters())
    assert model.training
    with pytest.raises(RuntimeError, match="does not require grad"):
        average.model(torch.ones(1, 2)).sum().backward()
