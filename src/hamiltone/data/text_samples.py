"""Sentences as numbers: samples by key for training, and ready batches of similar length for validation."""

from hamiltone.torch_extra import MissingTorchError  # noqa: F401

# isort: split
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from hamiltone.data.randomness import Key, generator
from hamiltone.data.text import Sentence, Vocabulary

Sample = tuple[Tensor, int]


def collate(samples: Sequence[Sample]) -> tuple[Tensor, Tensor]:
    """Words ``(B, N)``, padded with zeros to the longest sentence, and labels ``(B,)``."""
    words = torch.nn.utils.rnn.pad_sequence([words for words, _ in samples], batch_first=True)
    return words, torch.tensor([label for _, label in samples])


class SentenceSamples:
    """Training sentences in which every word is replaced by the unknown word with a probability of `word_dropout`.

    So the model learns to cope with a missing word, and with words that it does not know.

    Args:
        sentences: The training sentences.
        vocabulary: Turns words into numbers.
        word_dropout: The probability with which a word is replaced.
        seed: Together with epoch and index it determines which words are replaced.

    Shape:
        dataset[epoch, index]: numbers of words ``(N,)``, and the label
    """

    collate = staticmethod(collate)

    def __init__(
        self, sentences: Sequence[Sentence], vocabulary: Vocabulary, *, word_dropout: float = 0.0, seed: int = 0
    ) -> None:
        self._words = [vocabulary.encode(sentence.words) for sentence in sentences]
        self._labels = [sentence.label for sentence in sentences]
        self._unknown, self._word_dropout, self._seed = vocabulary.unknown, word_dropout, seed
        self.lengths = [len(words) for words in self._words]

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, key: Key) -> Sample:
        words, label = self._words[key[1]], self._labels[key[1]]
        if self._word_dropout:
            dropped = generator(self._seed, *key).random(len(words)) < self._word_dropout
            words = np.where(dropped, self._unknown, words)
        return torch.from_numpy(words), label


def sentence_batches(
    sentences: Sequence[Sentence], vocabulary: Vocabulary, size: int = 128
) -> list[tuple[Tensor, Tensor]]:
    """Unaltered sentences, the shortest first: words ``(B, N)`` and labels ``(B,)``."""
    samples = [(torch.from_numpy(vocabulary.encode(s.words)), s.label) for s in sentences]
    samples.sort(key=lambda sample: len(sample[0]))
    return [collate(samples[first : first + size]) for first in range(0, len(samples), size)]
