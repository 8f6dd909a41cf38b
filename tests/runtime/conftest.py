from collections.abc import Iterator

import pytest
import torch

from enhancers import Backends


@pytest.fixture(params=["torch", "onnx"])
def backends(request: pytest.FixtureRequest) -> Backends:
    """Small enhancers in torch and as graphs: what is claimed of one holds for the other."""
    return Backends(request.param)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
