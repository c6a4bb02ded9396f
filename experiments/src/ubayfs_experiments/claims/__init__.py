"""The paper's statements on experiment 1, each with a rule that our tables fulfil or not (``sentences``).

``rules`` says what counts as a difference, ``cells`` which results a rule looks at; the others hold the rules.
"""
