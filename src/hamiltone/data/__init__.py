"""Training data: corpora on disk, mixtures made from them, and synthetic signals.

From the file to the sample: `pairs` finds and checks, `files` decodes, `audio_store` caches what is decoded, `sources`
draws speech and noise, `mixing` joins them, `datasets` returns segments by key. Noises are in `noise` and `tonal`,
rooms in `rooms`, a voice in `synthetic`, and effects on a signal in `augment`; `signals` and `overlap` hold the filters
and frames that these share, and `randomness` the generator of each sample.

Images are read by `vision` and sentences by `text`, which also hold out a part; `vision_samples` and `text_samples`
return them by key.
"""
