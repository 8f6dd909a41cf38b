"""Where the weights of a run begin."""

from typing import TypeVar

from torch import nn

from hamiltone.errors import InputError

Model = TypeVar("Model", bound=nn.Module)


def start_from(start: nn.Module | None, model: Model, name: str | None) -> Model:
    """The model with the weights of `start`, which the recipe calls `name`; with its own if there is none."""
    if start is not None:
        try:
            model.load_state_dict(start.state_dict())
        except RuntimeError:
            raise InputError(f"init = {name} has other weights than the recipe's [model]") from None
    return model
