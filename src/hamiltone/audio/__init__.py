"""Waveforms, files and spectra.

`io` opens files: those of libsndfile (`sound_file`, with the tags of `mp3`), and media that PyAV reads and writes
(`media_reader`, `media_writer`); `formats` has their names, and `partial` keeps them whole. `stft` and `features` make
spectra, and `upper_band` looks after what lies above a model's.
"""
