"""Whole corpora: a folder, a manifest or tar shards in, enhanced clips and a manifest out, on Ray or in a plain loop.

How a corpus is processed, file by file:

- `inputs` lists the rows of a folder, a JSONL manifest or WebDataset shards: a `Clip` each, or its fault;
- `stage` is `EnhanceStage`, which enhances a clip, or a batch of them inside ``ray.data.Dataset.map_batches``;
- `parts` turns clips that are parts of files into files, and `columns` turns clips and results into batches;
- `measures` says what was taken out, and rates with DNSMOS, in constant memory;
- `ledger` is the list of clips that are done, from which a killed run resumes;
- `output` is the folder of a run, and writes its manifests in the order of the input;
- `keep` reads expressions such as ``dnsmos_ovrl > 2.8``;
- `run` puts these together around an engine: `cluster` is Ray Data, `run.in_process` a plain loop;
- `cuts` enhances lhotse's cuts.
"""

from hamiltone.corpus.columns import Result
from hamiltone.corpus.cuts import enhance_cuts
from hamiltone.corpus.inputs import Clip
from hamiltone.corpus.run import CorpusJob, Summary, in_process, run_corpus
from hamiltone.corpus.stage import EnhanceStage

__all__ = ["Clip", "CorpusJob", "EnhanceStage", "Result", "Summary", "enhance_cuts", "in_process", "run_corpus"]
