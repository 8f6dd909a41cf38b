import pytest
import torch
from hypothesis import settings

settings.register_profile("tests", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("tests")


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)
