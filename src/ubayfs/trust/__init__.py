"""Trust: what other samples would say, found by repeating the whole procedure on shuffled, halved or left-out data.

`procedure` has what is repeated, `ensembles` the repeated ensembles. `noise` and `reproducibility` are made of these
without the data, so that after a changed decision only decisions are repeated.
"""
