"""Checkpoints, graphs and recipes, and what can be done to them and to sounds; all of it follows from a seed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save

from hamiltone.models import CompactConfig, Header, build, save_checkpoint
from hamiltone.runtime.description import KEY
from hamiltone.weights import graphs

RECIPE = """
task = "speech"
seed = 1
budget = { steps = 1 }
batches = { size = 1 }
optimiser = { lr = 1e-3, betas = [0.9, 0.99] }
schedule = { kind = "cosine", warmup = 1 }
model = { family = "compact", channels = [2, 2], dilations = [1, 1], heads = 1, layers = 1, kernel_size = 3 }
data = { kind = "synthetic", segment = 2000, length = 2, held_out = 1, held_out_segment = 2000 }
loss = { compressed = 1.0 }
validation = { metrics = ["sisdr"], select_by = "sisdr", limit = 1 }
run = { accelerator = "cpu", log_steps = 1 }
"""


def make_checkpoint(path: Path) -> None:
    """A tiny compact model."""
    torch.manual_seed(0)
    config = CompactConfig(channels=(2, 2), dilations=(1, 2), heads=1, feed_forward=2, layers=1)
    save_checkpoint(path, build(config), Header(config, "tiny", {"hours": 0.5}))


def mutate_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """A few of: flipped bits, overwritten, inserted, removed and repeated runs, large numbers, a cut."""
    data = bytearray(content)
    for _ in range(1 if rng.random() < 0.5 else int(rng.integers(2, 9))):
        header = rng.random() < 0.6
        place = int(rng.integers(min(len(data), 256) if header else len(data))) if data else 0
        length = int(rng.integers(1, 9)) if rng.random() < 0.8 else int(rng.integers(1, 2000))
        match int(rng.integers(7)):
            case 0:
                if data:
                    data[place] ^= 1 << int(rng.integers(8))
            case 1:
                data[place : place + length] = rng.bytes(length)
            case 2:
                data[place:place] = rng.bytes(length)
            case 3:
                del data[place : place + length]
            case 4:
                data[place:place] = data[place : place + length]
            case 5:
                value = int(rng.choice([0, 1, 0x7F, 0xFF])).to_bytes(1, "little")
                data[place : place + 4] = value * 4
            case _:
                if rng.random() < 0.2:
                    del data[place:]
    return bytes(data)


_ODD: list[object] = [
    0, 1, -1, 2, 3, 5, 7, 255, 10**6, 2**31, 2**63, 10**30, 0.5, -1.0, 1e300, 1e-300, float("nan"), float("inf"),
    True, False, None, "", "x", "shared", "hamilton", "none", [], [1], [1, 2, 3], [[1]], {}, {"a": 1},
]  # fmt: skip


def mutate_checkpoint(path: Path, rng: np.random.Generator) -> bytes:
    """Another header, other tensors, or other bytes."""
    from safetensors import safe_open

    if rng.random() < 0.3:
        return mutate_bytes(path.read_bytes(), rng)
    with safe_open(path, "pt") as file:
        header = json.loads(file.metadata()["hamiltone"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    for _ in range(int(rng.integers(1, 4))):
        choice = rng.random()
        if choice < 0.6:
            table = header["config"] if rng.random() < 0.8 and isinstance(header["config"], dict) else header
            table[str(rng.choice(list(table) or ["empty"]))] = _ODD[int(rng.integers(len(_ODD)))]
        else:
            name = str(rng.choice(list(tensors)))
            tensors |= {name: _odd_tensor(tensors[name], rng)}
    return save(tensors, {"hamiltone": json.dumps(header)})


def _odd_tensor(tensor: torch.Tensor, rng: np.random.Generator) -> torch.Tensor:
    tensor = tensor.clone()
    changes: list[Callable[[], torch.Tensor]] = [
        lambda: torch.full_like(tensor, float("nan")) if tensor.is_floating_point() else tensor + 1,
        lambda: tensor * 1e30 if tensor.is_floating_point() else tensor,
        lambda: tensor.double(),
        lambda: tensor.half(),
        lambda: torch.zeros(3),
        lambda: torch.zeros(0),
        lambda: torch.zeros_like(tensor),
    ]
    return changes[int(rng.integers(len(changes)))]()


def mutate_graph(rng: np.random.Generator) -> bytes:
    """A bundled graph with another description, other weights, nodes or shapes, or other bytes."""
    import onnx

    path = list(graphs().values())[int(rng.integers(len(graphs())))]
    if rng.random() < 0.3:
        return mutate_bytes(path.read_bytes(), rng)
    model = onnx.load(path)
    for _ in range(int(rng.integers(1, 4))):
        choice = int(rng.integers(5))
        if choice < 2:
            entry = next(entry for entry in model.metadata_props if entry.key == KEY)
            table = json.loads(entry.value)
            table[str(rng.choice(list(table)))] = _ODD[int(rng.integers(len(_ODD)))]
            entry.value = json.dumps(table)
        elif choice == 2:
            _change_weight(model.graph.initializer[int(rng.integers(len(model.graph.initializer)))], rng)
        elif choice == 3:
            _change_node(model.graph.node, rng)
        else:
            values = [*model.graph.input, *model.graph.output]
            shape = values[int(rng.integers(len(values)))].type.tensor_type.shape.dim
            shape[int(rng.integers(len(shape)))].dim_value = int(rng.choice([0, 1, 2, 3, 7, 2**20]))
    return model.SerializeToString()


def _change_weight(weight: Any, rng: np.random.Generator) -> None:
    from onnx import numpy_helper

    array = np.atleast_1d(numpy_helper.to_array(weight)).copy()
    odd = [array.ravel(), array[..., :1], np.zeros_like(array), -array, array.astype(np.float64)]
    if array.dtype.kind == "f":
        odd += [np.full_like(array, value) for value in (np.nan, np.inf, 1e30)]
    weight.CopyFrom(numpy_helper.from_array(odd[int(rng.integers(len(odd)))], weight.name))


def _change_node(nodes: Any, rng: np.random.Generator) -> None:
    place = int(rng.integers(len(nodes)))
    node, other = nodes[place], nodes[int(rng.integers(len(nodes)))]
    match int(rng.integers(4)):
        case 0:
            node.op_type = other.op_type
        case 1 if node.input and other.output:
            node.input[0] = other.output[0]
        case 2 if node.attribute:
            node.attribute[0].i = int(rng.choice([-1, 0, 2, 7, 2**40]))
        case _:
            del nodes[place]


def mutate_recipe(rng: np.random.Generator) -> bytes:
    """Another value for a key, or other bytes."""
    if rng.random() < 0.4:
        return mutate_bytes(RECIPE.encode(), rng)
    lines = RECIPE.strip().splitlines()
    number = int(rng.integers(1, len(lines)))
    key, _, value = lines[number].partition(" = ")
    odd = _ODD[int(rng.integers(len(_ODD)))]
    text = "nan" if odd != odd else json.dumps(odd).replace("null", '"null"').replace("Infinity", "inf")
    if value.startswith("{"):
        name = value.strip("{} ").split(" = ")[0]
        rest = value.strip("{} ").split(", ")
        rest[int(rng.integers(len(rest)))] = f"{name} = {text}"
        value = "{ " + ", ".join(rest) + " }"
    else:
        value = text
    lines[number] = f"{key} = {value}"
    return "\n".join(lines).encode()
