"""The state of a run in one safetensors file: weights, their average, moments, random states and progress."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import TypeAdapter
from torch import Tensor, nn
from torch.optim import Optimizer

from hamiltone.errors import InputError
from hamiltone.models.checkpoint import read_tensors, write_tensors
from hamiltone.training.ema import MovingAverage

FORMAT = 2
KEY = "hamiltone-run"


@dataclass
class RunProgress:
    """The progress of a run. The epoch and the position in it follow from `step`, so they are not stored."""

    samples: int
    step: int = 0
    elapsed: float = 0.0
    validated: int = 0
    best: float | None = None
    best_step: int = 0
    sums: dict[str, float] = field(default_factory=dict)
    """Sums since the last line of the log, so that a resumed run logs the same as an uninterrupted one."""


def save_state(
    path: Path,
    model: nn.Module,
    average: MovingAverage,
    optimiser: Optimizer,
    progress: RunProgress,
    random: dict[str, Tensor],
) -> None:
    """Write everything that a run needs to resume exactly; the file appears whole or not at all."""
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    tensors |= {f"average.{name}": tensor for name, tensor in average.model.state_dict().items()}
    tensors |= {f"random.{name}": tensor for name, tensor in random.items()}
    outline = _take_tensors(optimiser.state_dict(), "optimiser", tensors)
    own = {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format) for name, tensor in tensors.items()
    }  # safetensors refuses shared memory
    content = {"format": FORMAT, "progress": asdict(progress), "optimiser": outline}
    write_tensors(path, own, {KEY: json.dumps(content)})


def load_state(
    path: Path, model: nn.Module, average: MovingAverage, optimiser: Optimizer
) -> tuple[RunProgress, dict[str, Tensor]]:
    """Undo `save_state`; the random states are returned, for each process to take its own."""
    tensors, metadata = read_tensors(path)
    try:
        content = json.loads(metadata[KEY])
        if content["format"] != FORMAT or "random.torch" not in tensors:
            raise ValueError
        progress = TypeAdapter(RunProgress).validate_python(content["progress"])
    except (ValueError, KeyError, TypeError, RecursionError):  # JSON may hold anything
        raise InputError(
            f"{path} is not the state of a run that this version can resume; choose another run.folder"
        ) from None
    try:
        model.load_state_dict(_under("model.", tensors))
        average.model.load_state_dict(_under("average.", tensors))
        optimiser.load_state_dict(_put_tensors(content["optimiser"], tensors))
    except (RuntimeError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{path} does not fit the recipe's model; choose another run.folder ({reason})") from None
    return progress, _under("random.", tensors)


def seed_process(seed: int, rank: int) -> None:
    """Give every process different random numbers, for dropout and the like."""
    own = int(np.random.SeedSequence((seed, rank)).generate_state(1)[0])
    torch.manual_seed(own)
    np.random.seed(own)


def random_states(device: torch.device) -> dict[str, Tensor]:
    """The global generators of torch, of the device and of numpy, as tensors."""
    numpy = np.random.get_state(legacy=False)
    words = [*numpy["state"]["key"], numpy["state"]["pos"], numpy["has_gauss"], numpy["gauss"]]
    states = {"torch": torch.get_rng_state(), "numpy": torch.tensor(words, dtype=torch.float64)}
    if device.type != "cpu":
        states["device"] = torch.get_device_module(device).get_rng_state()
    return states


def restore_random_states(states: dict[str, Tensor], device: torch.device) -> None:
    """Undo `random_states`."""
    torch.set_rng_state(states["torch"].clone())  # torch misreads a view that does not start its memory
    *key, position, has_gauss, gauss = states["numpy"].tolist()
    words = {"key": np.array(key, dtype=np.uint32), "pos": int(position)}
    np.random.set_state({"bit_generator": "MT19937", "state": words, "has_gauss": int(has_gauss), "gauss": gauss})
    if device.type != "cpu" and "device" in states:
        torch.get_device_module(device).set_rng_state(states["device"])


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _take_tensors(value: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    """A nested value whose tensors are replaced by their names; the tensors go to `tensors`.

    Dictionaries become lists of pairs, since JSON would turn numbers that are keys into text.
    """
    if isinstance(value, Tensor):
        tensors[name] = value
        return {"tensor": name}
    if isinstance(value, dict):
        return {"items": [[key, _take_tensors(entry, f"{name}.{key}", tensors)] for key, entry in value.items()]}
    if isinstance(value, list | tuple):
        return [_take_tensors(entry, f"{name}.{index}", tensors) for index, entry in enumerate(value)]
    return value


def _put_tensors(outline: Any, tensors: dict[str, Tensor]) -> Any:
    """Undo `_take_tensors`; tuples come back as lists."""
    if isinstance(outline, dict) and "tensor" in outline:
        return tensors[outline["tensor"]]
    if isinstance(outline, dict):
        return {key: _put_tensors(entry, tensors) for key, entry in outline["items"]}
    if isinstance(outline, list):
        return [_put_tensors(entry, tensors) for entry in outline]
    return outline
