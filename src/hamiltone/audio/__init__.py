"""Waveforms, files and spectra.

`io` opens files: those of libsndfile (`sound_file`, with the tags of `mp3` and the `metadata` of other formats), and
media that PyAV reads and writes (`media_reader`, `media_writer`, and `media_copy` for what is not sound); `formats` has
their names, `completeness` tells whether a file was cut off, and `partial` writes files atomically. What a file holds
besides its samples is copied by `chunks` (wav and its relatives), `flac_blocks`, `au_annotation` and `outer_tags`, or
named if it would be lost (`ogg_comments`); `in_place` inserts bytes into a finished file.

`soxr_resampling` changes the sample rate. `stft` (in torch) and `spectra` (in numpy) compute spectra, `features` turns
them into quaternions, and `upper_band` handles the band above the model's.
"""
