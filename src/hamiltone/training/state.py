"""The state of a run in one safetensors file: weights, their average, moments, random states and progress."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from hamiltone.errors import InputError
from hamiltone.models.checkpoint import read_tensors, write_tensors
from hamiltone.training.ema import MovingAverage

FORMAT = 1
KEY = "hamiltone-run"


@dataclass
class Progress:
    """How far a run has come. Epoch and position in it follow from `step`, so they are not kept."""

    samples: int
    step: int = 0
    elapsed: float = 0.0
    validated: int = 0
    best: float | None = None
    best_step: int = 0
    sums: dict[str, float] = field(default_factory=dict)
    """Sums since the last line of the log, so that a resumed run logs what an uninterrupted one does."""


def save_state(
    path: Path,
    model: nn.Module,
    average: MovingAverage,
    optimiser: Optimizer,
    progress: Progress,
    random: dict[str, Tensor],
) -> None:
    """Write everything that a run needs to go on exactly; the file appears whole or not at all."""
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    tensors |= {f"average.{name}": tensor for name, tensor in average.model.state_dict().items()}
    tensors |= {f"random.{name}": tensor for name, tensor in random.items()}
    names = [name for name, _ in model.named_parameters()]
    for index, moments in optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser.{names[index]}.{kind}": moment for kind, moment in moments.items()}
    own = {name: tensor.detach().cpu().clone() for name, tensor in tensors.items()}  # safetensors refuses shared memory
    write_tensors(path, own, {KEY: json.dumps({"format": FORMAT, **asdict(progress)})})


def load_state(
    path: Path, model: nn.Module, average: MovingAverage, optimiser: Optimizer
) -> tuple[Progress, dict[str, Tensor]]:
    """Undo `save_state`; the random states are returned, for each process to take its own."""
    tensors, metadata = read_tensors(path)
    content = json.loads(metadata.get(KEY, "{}"))
    if content.pop("format", None) != FORMAT:
        raise InputError(f"{path} is not the state of a run that this version can resume; choose another run.folder")
    try:
        model.load_state_dict(_under("model.", tensors))
        average.model.load_state_dict(_under("average.", tensors))
        _load_moments(optimiser, [name for name, _ in model.named_parameters()], _under("optimiser.", tensors))
    except (RuntimeError, KeyError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{path} does not fit the recipe's model; choose another run.folder ({reason})") from None
    return Progress(**content), _under("random.", tensors)


def seed_process(seed: int, rank: int) -> None:
    """Give every process random numbers of its own, for dropout and the like."""
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


def _load_moments(optimiser: Optimizer, names: list[str], tensors: dict[str, Tensor]) -> None:
    moments: dict[int, dict[str, Tensor]] = {}
    index = {name: position for position, name in enumerate(names)}
    for name, tensor in tensors.items():
        parameter, _, kind = name.rpartition(".")
        moments.setdefault(index[parameter], {})[kind] = tensor
    optimiser.load_state_dict({"state": moments, "param_groups": optimiser.state_dict()["param_groups"]})
