"""Formulas as MathML, which every browser draws by itself: nothing is loaded from anywhere, and no script is run."""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx


def _inline(self: nodes.NodeVisitor, node: nodes.math) -> None:
    self.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def _block(self: nodes.NodeVisitor, node: nodes.math_block) -> None:
    anchor = f' id="{node["ids"][0]}"' if node["ids"] else ""
    self.body.append(
        f'<div class="formula"{anchor}>{tex2mathml(node.astext(), as_block=True)}</div>'
    )
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer under the name "mathml"."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
