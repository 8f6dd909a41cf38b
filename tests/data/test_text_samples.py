import torch

from hamiltone.data.text import Sentence, Vocabulary
from hamiltone.data.text_samples import SentenceSamples, collate, sentence_batches

SENTENCES = [Sentence(tuple("abcdefgh"[: 1 + n % 8]), n % 2) for n in range(20)]
VOCABULARY = Vocabulary.of((sentence.words for sentence in SENTENCES), least=1)


def test_a_batch_is_padded_with_zeros_to_its_longest_sentence():
    words, labels = collate([(torch.tensor([3, 4]), 1), (torch.tensor([5, 6, 7]), 0)])
    assert words.tolist() == [[3, 4, 0], [5, 6, 7]]
    assert labels.tolist() == [1, 0]


def test_dropped_words_become_unknown_and_depend_on_the_key_alone():
    data = SentenceSamples(SENTENCES, VOCABULARY, word_dropout=0.3, seed=1)
    again = SentenceSamples(SENTENCES, VOCABULARY, word_dropout=0.3, seed=1)
    dropped = total = 0
    for epoch in range(100):
        words, label = data[epoch, 7]
        assert torch.equal(words, again[epoch, 7][0]) and label == 1
        changed = words != torch.from_numpy(VOCABULARY.encode(SENTENCES[7].words))
        assert (words[changed] == VOCABULARY.unknown).all()
        dropped, total = dropped + int(changed.sum()), total + len(words)
    assert 0.25 < dropped / total < 0.35


def test_without_dropout_a_sentence_is_itself():
    data = SentenceSamples(SENTENCES, VOCABULARY)
    assert data[3, 4][0].tolist() == VOCABULARY.encode(SENTENCES[4].words).tolist()
    assert data.lengths == [len(sentence.words) for sentence in SENTENCES]


def test_batches_are_sorted_by_length_and_hold_every_sentence():
    batches = sentence_batches(SENTENCES, VOCABULARY, size=6)
    assert [len(labels) for _, labels in batches] == [6, 6, 6, 2]
    widths = [words.shape[1] for words, _ in batches]
    assert widths == sorted(widths)
    assert sum(int((words != 0).sum()) for words, _ in batches) == sum(len(s.words) for s in SENTENCES)
