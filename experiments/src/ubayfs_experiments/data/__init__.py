"""The paper's data sets: what each of them is (``datasets``), where it comes from and how it is read (``catalogue``).

``synthetic`` generates those of experiment 1; ``splits`` divides rows into training and test rows.
"""
