import numpy as np
import pytest
import torch

from corpora import coloured_images, reviews
from hamiltone.data.text import Vocabulary, read_glue
from hamiltone.errors import InputError
from hamiltone.evaluation.accuracy import Accuracy, Aggregate, accuracy_of, aggregate
from hamiltone.models import CompactConfig, Header, TextConfig, VisionConfig, build, save_checkpoint

VISION = VisionConfig(channels=(2, 4), blocks=1, heads=2, layers=1, feed_forward=4, classes=3, size=8)
CLASSES = ("red", "green", "blue")


def test_images_are_counted_on_the_test_split(tmp_path):
    path, data = tmp_path / "a.safetensors", coloured_images(tmp_path / "images.npz", each=100)
    model = build(VISION).eval()
    save_checkpoint(path, model, Header(VISION, training={"recipe": {"seed": 7}}, classes=CLASSES))
    found = accuracy_of(path, data)
    with np.load(data) as content, torch.no_grad():
        images = torch.from_numpy(content["test_x"]).permute(0, 3, 1, 2) / 255
        correct = int((model(images).argmax(1).numpy() == content["test_y"]).sum())
    assert found == Accuracy(str(path), "shared", 7, correct, 300)
    assert accuracy_of(path, data, "train") != found


def test_sentences_are_counted_on_the_development_split(tmp_path):
    data = reviews(tmp_path / "reviews")
    words = Vocabulary.of(sentence.words for sentence in read_glue(data / "train.tsv"))
    config = TextConfig("hamilton", vocabulary=len(words), dim=4, heads=2, feed_forward=8)
    model = build(config).eval()
    path = tmp_path / "a.safetensors"
    save_checkpoint(path, model, Header(config, classes=("negative", "positive"), words=words.words))
    found = accuracy_of(path, data)
    correct = 0
    with torch.no_grad():
        for sentence in read_glue(data / "dev.tsv"):
            scores = model(torch.from_numpy(words.encode(sentence.words))[None])
            correct += int(scores.argmax(1)) == sentence.label
    assert found == Accuracy(str(path), "hamilton", None, correct, 240)
    with pytest.raises(InputError, match=r"test.tsv: cannot read"):
        accuracy_of(path, data, "test")


def test_seeds_are_summed_up_for_each_attention():
    rows = [Accuracy("a", "shared", 1, 80, 100), Accuracy("b", "hamilton", 1, 70, 100)]
    rows += [Accuracy("c", "shared", 2, 84, 100), Accuracy("d", "shared", 3, 82, 100)]
    assert aggregate(rows) == [Aggregate("shared", 3, 82.0, 2.0), Aggregate("hamilton", 1, 70.0, None)]


def test_what_cannot_be_judged_is_refused_in_one_line(tmp_path):
    path, data = tmp_path / "a.safetensors", coloured_images(tmp_path / "images.npz")
    save_checkpoint(path, build(VISION), Header(VISION, classes=("cat", "dog", "eel")))
    with pytest.raises(InputError, match="other classes or another image size"):
        accuracy_of(path, data)
    with pytest.raises(InputError, match="a train and a test split, not 'dev'"):
        accuracy_of(path, data, "dev")
    speech = CompactConfig(channels=(2, 2), dilations=(1, 2), heads=1, feed_forward=2, layers=1)
    save_checkpoint(path, build(speech), Header(speech))
    with pytest.raises(InputError, match="holds a speech enhancer, not a classifier"):
        accuracy_of(path, data)
