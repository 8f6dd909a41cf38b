import errno
import json

import pytest
import safetensors.torch
import torch

from hamiltone.errors import InputError
from hamiltone.models import CompactConfig, Header, build, load, load_checkpoint, preset, save_checkpoint
from hamiltone.models import checkpoint as module

CONFIG = CompactConfig(channels=(2, 2), dilations=(1, 2), heads=1, feed_forward=2, layers=1)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "model.safetensors"
    save_checkpoint(path, build(CONFIG), Header(CONFIG, "tiny", {"hours": 0.5}))
    return path


def _rewrite(path, header=lambda content: content, tensors=lambda content: content):
    with safetensors.safe_open(path, "pt") as file:
        content = json.loads(file.metadata()["hamiltone"])
        values = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    safetensors.torch.save_file(tensors(values), path, {"hamiltone": json.dumps(header(content))})


def test_a_checkpoint_gives_back_model_and_header(tmp_path):
    for config in (CONFIG, preset("qtn-dns")):
        path = tmp_path / "model.safetensors"
        model = build(config).eval()
        save_checkpoint(path, model, Header(config, "name", {"steps": 3}))
        again, header = load_checkpoint(path)
        assert header == Header(config, "name", {"steps": 3})
        x = torch.randn(1, 1000)
        with torch.no_grad():
            assert torch.equal(model(x), again(x))
            torch.testing.assert_close(load(path)(x), model(x), atol=1e-5, rtol=1e-4)


def test_saving_is_all_or_nothing(path, monkeypatch):
    before = path.read_bytes()

    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module, "save_file", full)
    with pytest.raises(OSError, match="No space left"):
        save_checkpoint(path, build(CONFIG), Header(CONFIG))
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_differences_of_names_and_shapes_are_named(path):
    name = next(iter(build(CONFIG).state_dict()))
    _rewrite(path, tensors=lambda values: {k: v for k, v in values.items() if k != name} | {"extra": torch.ones(1)})
    with pytest.raises(InputError, match=f"does not fit its model: it has an unknown extra, lacks {name}"):
        load(path)
    _rewrite(path, tensors=lambda values: {k: v for k, v in values.items() if k != "extra"} | {name: torch.ones(7)})
    with pytest.raises(InputError, match=rf"has {name} of shape \(7,\) instead of"):
        load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tensor: tensor.fill_(float("nan")), "has NaN or infinite values in {}"),
        (lambda tensor: tensor.fill_(float("-inf")), "has NaN or infinite values in {}"),
        (lambda tensor: tensor.index_fill(0, torch.tensor(0), float("nan")), "has NaN or infinite values in {}"),
        (lambda tensor: tensor.half(), "has {} in torch.float16 instead of torch.float32"),
        (lambda tensor: tensor.to(torch.float8_e4m3fn), "has {} in torch.float8_e4m3fn instead of torch.float32"),
        (lambda tensor: tensor.long(), "has {} in torch.int64 instead of torch.float32"),
    ],
)
def test_weights_that_are_not_finite_or_of_another_type_are_refused(path, change, message):
    name = next(name for name in build(CONFIG).state_dict() if name.endswith("weight"))
    _rewrite(path, tensors=lambda values: values | {name: change(values[name])})
    with pytest.raises(InputError, match=message.format(name)):
        load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 99}, "checkpoint format is 99, this version reads 1"),
        ({"config": {"family": "compact", "colour": 3}}, "unknown settings: colour"),
        ({"config": {"family": "giant"}}, "family must be one of paper, compact, rows, vision, text, got 'giant'"),
        ({"config": {"family": "compact", "attention": "telepathy"}}, "attention must be one of shared, hamilton"),
        ({"config": {"family": "compact", "attention": "not_there:Rule"}}, "use hamiltone --rule not_there:Rule"),
    ],
)
def test_unknown_headers_are_refused_in_one_line(path, change, message):
    _rewrite(path, header=lambda content: content | change)
    with pytest.raises(InputError, match=message) as error:
        load(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"attention": 0}, "attention must be the name of a rule, got 0"),
        ({"attention": None}, "attention must be the name of a rule, got None"),
        ({"layers": 1_000_000}, "layers must lie between 1 and 64, got 1000000"),
        ({"channels": [5000, 5000]}, "channels must lie between 1 and 1024, got 5000"),
        ({"hop": 1}, "a hop of 1/16 to 1/2 of it, got 512 and 1"),
        ({"n_fft": 2**30}, "n_fft must lie between 16 and 16384"),
        ({"n_fft": 0}, "n_fft must lie between 16 and 16384"),
        ({"heads": 5}, "heads must divide the 2 quaternions"),
        ({"sample_rate": 10**9}, "sample_rate must lie between 1000 and 192000"),
        ({"kernel_size": 4}, "describes a model that cannot be built: kernel_size must be odd"),
        ({"bands": 3}, "bands must be 0, or from 4 to the 257 bins, got 3"),
        ({"bands": 513}, "bands must be 0, or from 4 to the 257 bins, got 513"),
        ({"channels": [], "dilations": []}, "expected a dilation for every stage"),
        ({"channels": [1024, 1024], "feed_forward": 16_384, "layers": 64, "heads": 1}, "does not fit its model"),
    ],
)
def test_no_model_is_built_that_the_file_does_not_hold(path, change, message, monkeypatch):
    _rewrite(path, header=lambda content: content | {"config": content["config"] | change})
    built = []
    monkeypatch.setattr(module, "build", lambda config: built.append(build(config)) or built[-1])
    with pytest.raises(InputError, match=message) as error:
        load(path)
    assert "\n" not in str(error.value)
    assert all(parameter.is_meta for model in built for parameter in model.parameters())


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "[1]", "null", '{"format": 1}', '{"format": 1, "config": [1]}', '{"format": ' + "9" * 5000]
)
def test_a_header_may_hold_any_json(path, text):
    tensors, _ = module.read_tensors(path)
    safetensors.torch.save_file(tensors, path, {"hamiltone": text})
    with pytest.raises(InputError, match=r"has a damaged header|cannot be read") as error:
        load(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("change", [{"classes": 5}, {"words": [1]}, {"training": [1]}, {"preset": 3}])
def test_facts_of_another_type_are_refused(path, change):
    _rewrite(path, header=lambda content: content | change)
    with pytest.raises(InputError, match="has a damaged header"):
        load(path)


def test_what_is_not_a_checkpoint_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no model 'nowhere'"):
        load("nowhere")
    with pytest.raises(InputError, match="untrained preset"):
        load("qconformer")
    text = tmp_path / "text.safetensors"
    text.write_text("hello")
    with pytest.raises(InputError, match="not a readable safetensors file"):
        load(text)
    foreign = tmp_path / "foreign.safetensors"
    safetensors.torch.save_file({"a": torch.ones(1)}, foreign)
    with pytest.raises(InputError, match="not a hamiltone checkpoint"):
        load(foreign)
