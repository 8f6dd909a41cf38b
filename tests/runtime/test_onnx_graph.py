import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from graphs import STEP, WINDOW, content, halving, integers, onnx, value
from hamiltone.errors import InputError
from hamiltone.runtime import Stream, enhance
from hamiltone.runtime.description import from_json
from hamiltone.runtime.onnx_graph import OnnxGraph
from hamiltone.runtime.onnx_step import OnnxStep

pytest.importorskip("onnxruntime", reason="running ONNX graphs needs the extra: pip install 'hamiltone[export]'")


def spectrum(frames: int, bins: int = 33) -> np.ndarray:
    rng = np.random.default_rng(0)
    return (rng.standard_normal((1, frames, bins)) + 1j * rng.standard_normal((1, frames, bins))).astype(np.complex64)


@pytest.mark.parametrize("frames", [1, 2, 50])
def test_a_window_graph_takes_any_number_of_frames(frames: int, tmp_path: Path) -> None:
    path = tmp_path / "half.onnx"
    path.write_bytes(halving())
    graph = OnnxGraph(path)
    assert not graph.streams
    np.testing.assert_array_equal(graph.gain(spectrum(frames)), 0.5 * spectrum(frames))


def test_a_step_graph_carries_its_state_from_frame_to_frame() -> None:
    graph, x = OnnxGraph(halving(STEP)), spectrum(4)
    expected = x * np.arange(1, 5, dtype=np.float32)[:, None]
    np.testing.assert_array_equal(graph.gain(x), expected)
    states = graph.first_states()
    for frame in range(4):
        gain, states = graph.step(x[:, frame : frame + 1], states)
        np.testing.assert_array_equal(gain, expected[:, frame : frame + 1])
    np.testing.assert_array_equal(states[0], [[4, 4]])


def test_a_step_remembers_forgets_and_has_independent_copies() -> None:
    first, frame = OnnxStep(OnnxGraph(halving(STEP))), spectrum(1)[0, 0]
    assert (first.sample_rate, first.n_fft, first.hop) == (16_000, 64, 32)
    np.testing.assert_array_equal(first.step(frame), frame)
    np.testing.assert_array_equal(first.step(frame), 2 * frame)
    np.testing.assert_array_equal(first.fresh().step(frame), frame)
    np.testing.assert_array_equal(first.step(frame), 3 * frame)
    first.reset()
    np.testing.assert_array_equal(first.step(frame), frame)


def test_a_window_graph_cannot_step() -> None:
    graph = OnnxGraph(halving())
    with pytest.raises(ValueError, match="takes whole windows, not the frames of a stream"):
        graph.step(spectrum(1), ())
    with pytest.raises(InputError, match="looks ahead"):
        OnnxStep(graph)


def test_a_step_graph_of_another_hop_enhances_recordings_but_no_stream() -> None:
    graph, sound = OnnxGraph(halving(replace(STEP, hop=16))), np.full(640, 0.1, np.float32)
    assert np.isfinite(enhance(sound, 16_000, model=graph)).all()
    with pytest.raises(InputError, match=r"^expected a model with a hop of half a frame, got 64 and 16$"):
        Stream(16_000, OnnxStep(graph))


@pytest.mark.parametrize("description", [WINDOW, replace(STEP, preset="live", config={"rows": 24})])
def test_a_description_survives_the_round_trip(description) -> None:
    assert from_json(description.to_json()) == description


def without(name: str) -> str:
    return json.dumps({key: value for key, value in json.loads(WINDOW.to_json()).items() if key != name})


BAD = {
    "not ONNX": (b"RIFF" + bytes(100), "is not an ONNX file"),
    "empty": (b"", "is not an ONNX file"),
    "cut short": (halving()[:-40], "is not an ONNX file|not from hamiltone export"),
    "not ours": (halving(metadata=""), "not from hamiltone export"),
    "no JSON": (halving(metadata="{"), "description is damaged"),
    "other JSON": (halving(metadata="[1]"), "description is damaged: it is not a JSON object"),
    "lacks a field": (halving(metadata=without("hop")), "description is damaged"),
    "another format": (halving(metadata=WINDOW.to_json().replace('"format": 1', '"format": 2')), "format is not 1"),
    "deep JSON": (halving(metadata="[" * 200_000), "description is damaged"),
    "a huge rate": (halving(metadata=replace(WINDOW, sample_rate=10**9).to_json()), "description is damaged"),
    "a hop of one": (halving(metadata=replace(WINDOW, hop=1).to_json()), "a hop of 1/16 to 1/2"),
    "too many frames": (
        halving(metadata=replace(WINDOW, n_fft=16, hop=1, sample_rate=2001).to_json()),
        "2,000 frames per second",
    ),
    "true as hop": (halving(metadata=replace(WINDOW, hop=True).to_json()), "description is damaged"),
    "another kind": (halving(metadata=replace(WINDOW, kind="other").to_json()), "description is damaged"),
    "other bins": (halving(bins=65), r"should take spectrum \(1, T, 33, 2\), but has spectrum \(1, T, 65, 2\)"),
    "no states": (halving(WINDOW, metadata=STEP.to_json()), "should take spectrum .* level"),
    "a huge state": (
        halving(STEP, metadata=STEP.to_json().replace("[1, 2]", "[1000000, 1000000]")),
        "description is damaged: states of 1000000000000 numbers",
    ),
    "a state of less than nothing": (
        halving(STEP, metadata=STEP.to_json().replace("[1, 2]", "[-1, 2]")),
        "description is damaged: states",
    ),
    "another state": (
        halving(STEP, metadata=STEP.to_json().replace("[1, 2]", "[1, 3]")),
        r"level \(1, 3\), but has .* level \(1, 2\)",
    ),
}


@pytest.mark.parametrize(("content", "message"), BAD.values(), ids=BAD)
def test_a_bad_file_is_one_clear_line(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.onnx"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as error:
        OnnxGraph(path)
    assert str(path) in str(error.value) and "\n" not in str(error.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no file .*absent\.onnx"):
        OnnxGraph(tmp_path / "absent.onnx")


def test_a_graph_that_fails_when_it_runs_is_one_clear_line() -> None:
    shape = [1, "T", 33, 2]
    nodes = [
        onnx.helper.make_node("Reshape", ["spectrum", "seven"], ["rows"]),
        onnx.helper.make_node("Reshape", ["rows", "shape"], ["gain"]),
    ]
    constants = [integers("seven", -1, 7), integers("shape", 1, -1, 33, 2)]
    graph = OnnxGraph(content(nodes, [value("spectrum", shape)], [value("gain", shape)], constants, WINDOW.to_json()))
    with pytest.raises(InputError, match="the graph is damaged: it cannot be run") as error:
        graph.gain(spectrum(3))
    assert "\n" not in str(error.value)


def test_onnxruntime_leaves_no_trace_of_its_own(tmp_path: Path) -> None:
    """By default it keeps an identifier of the device in the home folder, for its reports."""
    (tmp_path / "half.onnx").write_bytes(halving())
    code = "from hamiltone.runtime.onnx_graph import OnnxGraph; OnnxGraph('half.onnx')"
    places = dict.fromkeys(("HOME", "TMPDIR", "XDG_CACHE_HOME"), str(tmp_path))
    environment = {name: text for name, text in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"} | places
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True)
    assert [path.name for path in tmp_path.iterdir()] == ["half.onnx"]
