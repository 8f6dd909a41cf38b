"""The exponential moving average of a model's weights, which is what is validated and kept."""

import copy

import torch
from torch import nn


class MovingAverage:
    """A frozen copy that follows a model: average ← d · average + (1 - d) · model after every step.

    At step t the decay is d = min(decay, (1 + t) / (10 + t)), so that the first weights are soon forgotten; a decay of
    zero makes the copy equal to the model. Floating-point buffers, such as running statistics, are averaged too, others
    copied.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.model = copy.deepcopy(model).eval().requires_grad_(False)

    @torch.no_grad()
    def update(self, model: nn.Module, step: int) -> None:
        """Update the average with the model, which has taken `step` steps before this one."""
        weight = 1 - min(self.decay, (1 + step) / (10 + step))
        current = model.state_dict()
        for name, average in self.model.state_dict().items():
            if average.is_floating_point():
                average.lerp_(current[name], weight)
            else:
                average.copy_(current[name])
