"""The paper's competitors (random forest, RENT, sparse group lasso) and their solvers, which take plain arrays.

``variants`` are other definitions of selectors that may explain a difference; ``predictors`` judge a selected set.
"""
