import numpy as np
import torch

from hamiltone.training.state import random_states, restore_random_states, seed_process

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
