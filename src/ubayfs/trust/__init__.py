"""Trust: what other samples would say, found by repeating the whole procedure on shuffled, halved or left-out data.

`procedure` has what is repeated, `repeats` does it, `ensembles` has what was found. `noise` and `reproducibility` are
made of that: after a changed decision only decisions are repeated.
"""
