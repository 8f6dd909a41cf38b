import hashlib
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

import hamiltone.export.graph
import hamiltone.export.write
from cases import randomise_
from hamiltone.export import export
from hamiltone.export.check import MismatchError
from hamiltone.export.int8 import quantised
from hamiltone.models import CompactConfig, Config, Enhancer, EnhancerConfig, Header, RowConfig, build, save_checkpoint
from hamiltone.nn import QBatchNorm
from hamiltone.runtime import Stream, enhance
from hamiltone.runtime.onnx_graph import OnnxGraph

REASON = "ONNX export needs the extra: pip install 'hamiltone[export]'"
onnx = pytest.importorskip("onnx", reason=REASON)
pytest.importorskip("onnxscript", reason=REASON)
pytest.importorskip("onnxruntime", reason=REASON)

pytestmark = pytest.mark.usefixtures("no_trace")

ROWS = RowConfig(channels=2, dim=4, memory=4, rows=6, blocks=1, heads=2, residuals=1, n_fft=64, hop=32)
COMPACT = CompactConfig(channels=(2,), dilations=(1,), feed_forward=4, heads=2, layers=1, bands=0, n_fft=64, hop=32)
COMPACT = replace(COMPACT, channels=(4,), kernel_size=3, norm="layer")
CONFIGS: dict[str, Config] = {
    "step": ROWS,
    "window of rows": replace(ROWS, causal=False),
    "layer norms, the level of the recording": COMPACT,
    "batch norms, a running level, bands, pooled keys": replace(COMPACT, norm="batch", decay=0.98, bands=17, pooling=3),
    "another score rule": replace(COMPACT, norm="batch", attention="hamilton"),
    "the paper's": EnhancerConfig("conformer", "shared", 4, (1,), (1,), 4, 2, 1, 3, n_fft=64, hop=32),
}


def model(config: Config) -> Enhancer:
    """With statistics, gains and a phase correction that are not those of the start."""
    enhancer = build(config).eval()
    for name, module in enhancer.named_modules():
        if isinstance(module, QBatchNorm) or name.endswith(("head.read", "combine", "query_norm", "key_norm")):
            randomise_(module)
    return enhancer


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[Enhancer, Path, Path]]:
    """A model, its checkpoint and its ONNX file, made once; an export takes seconds."""

    @cache
    def make(name: str, *, window: bool = False) -> tuple[Enhancer, Path, Path]:
        torch.manual_seed(0)
        folder = tmp_path_factory.mktemp("export")
        enhancer, checkpoint, target = model(CONFIGS[name]), folder / "model.safetensors", folder / "model.onnx"
        save_checkpoint(checkpoint, enhancer, Header(CONFIGS[name], "mine"))
        assert export(checkpoint, target, licence="CC0-1.0", window=window).difference < 1e-4
        return enhancer, checkpoint, target

    return make


def spectrum(frames: int) -> Tensor:
    return 3 * torch.randn(1, frames, 33, dtype=torch.complex64, generator=torch.Generator().manual_seed(frames))


@pytest.mark.parametrize("name", CONFIGS)
def test_the_graph_gives_the_gain_of_the_model_at_any_length(name: str, exported) -> None:
    enhancer, _, target = exported(name)
    graph = OnnxGraph(target, threads=1)
    for frames in (1, 2, 5, 61):
        with torch.no_grad():
            expected = enhancer.gain(spectrum(frames)).numpy()
        np.testing.assert_allclose(graph.gain(spectrum(frames).numpy()), expected, atol=1e-4)


def test_steps_go_on_from_the_states_of_the_model(exported) -> None:
    enhancer, _, target = exported("step")
    graph = OnnxGraph(target, threads=1)
    states, theirs = graph.first_states(), ()
    for frame in spectrum(6).split(1, dim=1):
        gain, states = graph.step(frame.numpy(), states)
        with torch.no_grad():
            expected, theirs = enhancer.step(frame, theirs)
        np.testing.assert_allclose(gain, expected.numpy(), atol=1e-4)
        for ours, other in zip(states, theirs, strict=True):
            np.testing.assert_allclose(ours, other.numpy(), atol=1e-4)


def test_a_model_that_streams_can_become_a_graph_of_windows(exported) -> None:
    enhancer, _, target = exported("step", window=True)
    graph = OnnxGraph(target, threads=1)
    assert (graph.streams, graph.causal, graph.description.latency) == (False, True, None)
    frames = spectrum(20)
    with torch.no_grad():
        expected = enhancer.gain(frames).numpy()
    np.testing.assert_allclose(graph.gain(frames.numpy()), expected, atol=1e-4)


def test_such_a_graph_goes_on_where_it_stopped(exported) -> None:
    enhancer, _, target = exported("step", window=True)
    graph, frames = OnnxGraph(target, threads=1), spectrum(20).numpy()
    gains, states = [], ()
    for part in np.split(frames, [2, 9, 10], axis=1):
        gain, states = graph.gain_after(part, states)
        gains.append(gain)
    with torch.no_grad():
        expected = enhancer.gain(torch.from_numpy(frames)).numpy()
    np.testing.assert_allclose(np.concatenate(gains, axis=1), expected, atol=1e-4)


def test_a_stream_through_the_file_sounds_as_through_the_model(exported) -> None:
    enhancer, _, target = exported("step")
    waveform = np.random.default_rng(0).standard_normal(4000).astype(np.float32)
    ours, theirs = (Stream(16_000, model) for model in (str(target), enhancer))
    for chunk in np.split(waveform, [100, 101, 900, 2500]):
        np.testing.assert_allclose(ours.process(chunk), theirs.process(chunk), atol=1e-4)


@pytest.mark.parametrize(("name", "kind", "latency"), [("step", "step", 64), ("another score rule", "window", None)])
def test_the_file_says_what_it_is(name: str, kind: str, latency: int | None, exported) -> None:
    _, checkpoint, target = exported(name)
    about = OnnxGraph(target).description
    assert (about.kind, about.latency, about.sample_rate, about.n_fft, about.hop) == (kind, latency, 16_000, 64, 32)
    assert (about.licence, about.preset, about.precision) == ("CC0-1.0", "mine", "float32")
    assert about.checkpoint == hashlib.sha256(checkpoint.read_bytes()).hexdigest()
    assert about.config["attention"] == CONFIGS[name].attention
    shapes = {state.name: state.shape for state in about.states}
    assert shapes == ({"level": (1, 2), "memory_0": (6, 4, 4)} if kind == "step" else {})


def test_attention_and_recurrence_are_single_nodes(exported) -> None:
    for name, wanted in (("step", {"MultiHeadAttention": 1, "GRU": 1}), ("window of rows", {"GRU": 1})):
        nodes = [node.op_type for node in onnx.load(exported(name)[2]).graph.node]
        assert {operator: nodes.count(operator) for operator in wanted} == wanted


def test_a_recording_sounds_as_through_the_model(exported) -> None:
    enhancer, _, target = exported("batch norms, a running level, bands, pooled keys")
    waveform = np.random.default_rng(0).standard_normal((2, 12_000)).astype(np.float32)
    ours, theirs = (enhance(waveform, 22_050, model=which) for which in (target, enhancer))
    np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_a_mismatch_is_an_error_and_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(mask: Tensor, phase: Tensor) -> Tensor:
        return torch.stack([mask * phase.cos(), -mask * phase.sin()], -1)

    monkeypatch.setattr(hamiltone.export.graph, "pair_gain", wrong)
    save_checkpoint(tmp_path / "model.safetensors", model(ROWS), Header(ROWS))
    with pytest.raises(MismatchError, match="the exported graph differs"):
        export(tmp_path / "model.safetensors", tmp_path / "model.onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["model.safetensors"]


def test_a_window_graph_whose_next_state_is_wrong_is_refused(
    exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its gains from the first states are right."""

    class Wrong(hamiltone.export.graph.StateGraph):
        def forward(self, spectrum: Tensor, *states: Tensor) -> tuple[Tensor, ...]:
            gain, *after, last = super().forward(spectrum, *states)
            return gain, *after, 0.5 * last

    _, checkpoint, _ = exported("step")
    monkeypatch.setattr(hamiltone.export.write, "StateGraph", Wrong)
    with pytest.raises(MismatchError, match="the exported graph in two parts differs"):
        export(checkpoint, tmp_path / "window.onnx", window=True)
    assert not list(tmp_path.iterdir())


def test_eight_bits_are_near_and_say_so(exported) -> None:
    enhancer, _, target = exported("another score rule")
    about = replace(OnnxGraph(target).description, precision="int8")
    small = OnnxGraph(quantised(target.read_bytes(), about), threads=1)
    assert small.description == about
    with torch.no_grad():
        expected = enhancer.gain(spectrum(20)).numpy()
    difference = np.abs(small.gain(spectrum(20).numpy()) - expected)
    assert 0 < difference.mean() < 0.1
