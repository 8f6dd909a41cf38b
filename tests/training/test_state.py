import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from hamiltone.errors import InputError
from hamiltone.models.checkpoint import read_tensors, write_tensors
from hamiltone.training.ema import MovingAverage
from hamiltone.training.state import (
    KEY,
    RunProgress,
    load_state,
    random_states,
    restore_random_states,
    save_state,
    seed_process,
)

CPU = torch.device("cpu")


def test_random_numbers_go_on_from_the_second_row_of_saved_states() -> None:
    rows, expected = [], []
    for rank in range(2):
        seed_process(3, rank)
        rows.append(random_states(CPU))
        expected.append((torch.rand(5), np.random.random(5)))
    saved = {name: torch.stack([row[name] for row in rows]) for name in rows[0]}
    for rank in (1, 0):
        restore_random_states({name: states[rank] for name, states in saved.items()}, CPU)
        assert torch.equal(torch.rand(5), expected[rank][0])
        assert np.array_equal(np.random.random(5), expected[rank][1])


def test_gaussian_numbers_come_in_pairs_and_the_second_is_restored_too() -> None:
    seed_process(0, 0)
    np.random.standard_normal()  # draws two and keeps one
    states = random_states(CPU)
    expected = np.random.standard_normal(3)
    seed_process(1, 0)
    restore_random_states(states, CPU)
    assert np.array_equal(np.random.standard_normal(3), expected)


@pytest.mark.parametrize("key", ["", "format", "progress", "samples", "sums", "optimiser"])
@pytest.mark.parametrize(
    "value", ["5", "[]", "null", '"x"', '{"items": [[1]]}', '{"items": {}, "x": "y"}', "[" * 100_000]
)
def test_a_state_with_other_json_is_one_line(tmp_path: Path, key: str, value: str) -> None:
    """Whatever stands in place of a value, or of the whole."""
    path, model = tmp_path / "last.safetensors", nn.Linear(3, 2)
    parts = model, MovingAverage(model, 0.9), torch.optim.AdamW(model.parameters(), lr=0.1)
    save_state(path, *parts, RunProgress(samples=7, step=3), random_states(CPU))
    tensors, metadata = read_tensors(path)
    content = json.loads(metadata[KEY])
    (content["progress"] if key in content["progress"] else content)[key] = "HERE"
    text = json.dumps(content).replace('"HERE"', value) if key else value
    write_tensors(path, tensors, {KEY: text})
    if key == "samples" and value == "5":
        assert load_state(path, *parts)[0].samples == 5
        return
    with pytest.raises(InputError, match=r"choose another run\.folder") as caught:
        load_state(path, *parts)
    assert "\n" not in str(caught.value)


def test_model_average_moments_and_progress_come_back_each_as_it_was(tmp_path: Path) -> None:
    def parts() -> tuple[nn.Module, MovingAverage, torch.optim.Optimizer]:
        model = nn.Linear(3, 2)
        return model, MovingAverage(model, 0.9), torch.optim.AdamW(model.parameters(), lr=0.1)

    model, average, optimiser = parts()
    for step in range(3):
        model(torch.randn(4, 3)).square().mean().backward()
        optimiser.step()
        average.update(model, step)
    progress = RunProgress(samples=7, step=3, elapsed=1.5, best=0.25, best_step=2, sums={"loss": 0.5})
    save_state(tmp_path / "last.safetensors", model, average, optimiser, progress, random_states(CPU))
    others = parts()
    again, random = load_state(tmp_path / "last.safetensors", *others)
    assert again == progress
    assert random.keys() == random_states(CPU).keys()
    assert not torch.equal(model.weight, average.model.weight)
    assert torch.equal(others[0].weight, model.weight)
    assert torch.equal(others[1].model.weight, average.model.weight)
    moments, expected = others[2].state_dict()["state"], optimiser.state_dict()["state"]
    assert moments.keys() == expected.keys() == {0, 1}
    for number in expected:
        assert all(torch.equal(moments[number][name], expected[number][name]) for name in expected[number])
