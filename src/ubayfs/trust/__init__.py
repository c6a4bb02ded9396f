"""Trust: what other samples would say, by repeating the whole procedure on other rows.

Ensembles and decisions with the settings of the user on shuffled targets, on halves of the samples and in folds.
"""
