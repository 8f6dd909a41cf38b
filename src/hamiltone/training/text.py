"""The text task: sentences in, classes out."""

from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PlainSerializer, PlainValidator, PositiveInt

from hamiltone.data.text import Vocabulary, read_glue, split_held_out
from hamiltone.data.text_samples import SentenceSamples, sentence_batches
from hamiltone.models import Header, TextConfig
from hamiltone.training.classifier import ClassifierRecipe, ClassifierTask, parse_config
from hamiltone.training.config import Table

TextModel = Annotated[TextConfig, PlainValidator(partial(parse_config, TextConfig())), PlainSerializer(asdict)]


class TextData(Table):
    """The folder with train.tsv in GLUE's format, and how its sentences are used.

    A share `held_out` of the whole sentences is for validation. Words that occur at least `least` times in the others
    make the vocabulary, and training replaces each word with the unknown one with probability `word_dropout`.
    """

    root: Path
    """The folder with train.tsv."""
    classes: tuple[str, ...] = ("negative", "positive")
    """The names of the labels, from 0 on."""
    held_out: float = Field(default=0.1, gt=0, lt=1)
    """The share of whole sentences that is for validation."""
    least: PositiveInt = 2
    """How often a word must occur to be in the vocabulary."""
    word_dropout: float = Field(default=0.0, ge=0, lt=1)
    """The probability that training replaces a word with the unknown one."""


class TextRecipe(ClassifierRecipe):
    """A recipe that trains a classifier of sentences; vocabulary and number of classes follow from the data."""

    task: Literal["text"]
    """A classifier of sentences."""
    model: TextModel = TextConfig()
    """The network."""
    data: TextData
    """What to train on."""


class TextTask(ClassifierTask):
    """Trains a `TextClassifier`; implements `hamiltone.training.task.Task`. Only train.tsv is ever read."""

    unit = "sentences"

    def __init__(self, recipe: TextRecipe) -> None:
        super().__init__(recipe)
        self.classes = recipe.data.classes
        self.check_classes(self.classes)
        path = recipe.data.root / "train.tsv"
        sentences = read_glue(path, classes=len(self.classes), limit=recipe.model.limit)
        train, held_out = split_held_out(sentences, recipe.data.held_out)
        if self.start_header is None:
            self.vocabulary = Vocabulary.of((sentence.words for sentence in train), recipe.data.least)
        else:
            self.vocabulary = Vocabulary(self.start_header.words)
        self.config = replace(recipe.model, classes=len(self.classes), vocabulary=len(self.vocabulary))
        self.training = SentenceSamples(train, self.vocabulary, word_dropout=recipe.data.word_dropout, seed=recipe.seed)
        self.validation = sentence_batches(held_out, self.vocabulary)

    def header(self, facts: dict[str, Any]) -> Header:
        """The configuration, the names of the classes and the words."""
        return replace(super().header(facts), words=self.vocabulary.words)
