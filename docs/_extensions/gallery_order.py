"""The order of the gallery: from a first selection to special cases."""

from pathlib import Path

STORY = (
    "first_selection", "report", "expert_weights", "constraints", "penalties", "sizes", "substitutes", "related",
    "reproducibility", "validation", "posterior", "convergence", "correlation", "multi_omics", "survival",
    "grid_search", "custom_selector",
)  # fmt: skip


class ByStory:
    """Sorts examples by `STORY`; one that is not in it is an error."""

    def __init__(self, folder):
        pass

    def __call__(self, name):
        """Return the place of an example."""
        return STORY.index(Path(name).stem.removeprefix("plot_"))
