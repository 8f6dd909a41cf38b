import numpy as np
import pytest
import torch

from enhancers import fixed_mask, random_convolutions
from graphs import halving
from hamiltone import models
from hamiltone.errors import InputError
from hamiltone.runtime import enhance, resolve_model
from hamiltone.runtime.onnx_graph import OnnxGraph
from hamiltone.runtime.torch_backend import TorchGain
from sounds import noise


@pytest.mark.parametrize("name", [None, "compact", "live"])
def test_a_bundled_model_runs_as_its_graph_of_whole_windows(name) -> None:
    backend = resolve_model(name)
    assert isinstance(backend, OnnxGraph) and not backend.streams


def test_a_file_of_either_kind_is_known_by_its_name(tmp_path) -> None:
    path = tmp_path / "half.ONNX"
    path.write_bytes(halving())
    assert isinstance(resolve_model(path), OnnxGraph)
    assert isinstance(resolve_model(models.bundled()["toy"]), TorchGain)


def test_another_device_is_for_torch(tmp_path) -> None:
    assert isinstance(resolve_model("compact", "meta"), TorchGain)
    with pytest.raises(InputError, match=r"half\.onnx only runs on the cpu, not on meta"):
        resolve_model(tmp_path / "half.onnx", "meta")


def test_a_model_that_is_handed_in_stays_put_and_is_put_in_evaluation_mode() -> None:
    model, signal = random_convolutions().train(), noise(4000)
    result = enhance(signal, 16_000, model=model)
    assert not model.training
    np.testing.assert_array_equal(result, enhance(signal, 16_000, model=TorchGain(model)))
    backend = TorchGain(fixed_mask(1.0))
    assert resolve_model(backend) is backend


def test_threads_are_those_of_torch_where_torch_runs(monkeypatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    resolve_model(fixed_mask(1.0), threads=3)
    resolve_model(fixed_mask(1.0))
    assert asked == [3]


def test_a_name_that_leads_nowhere_is_an_error_before_torch_is_needed() -> None:
    with pytest.raises(InputError, match=r"there is no model 'nowhere': give a file or one of .*compact, live"):
        resolve_model("nowhere")
    with pytest.raises(InputError, match="untrained preset"):
        resolve_model("qconformer")
