// HTML that changes in place: only what differs is replaced, so that an open list stays open and a box keeps the focus.
const key_of = (node) => node.dataset?.feature;

function change(old, fresh) {
  const nodes = [...fresh.childNodes], keys = new Set(nodes.map(key_of));
  for (const row of [...old.children]) if (key_of(row) && !keys.has(key_of(row))) row.remove();
  nodes.forEach((node, i) => {
    let there = old.childNodes[i];
    if (!there || key_of(there) !== key_of(node)) {
      const moved = key_of(node) && [...old.children].find((row) => key_of(row) === key_of(node));
      old.insertBefore(moved || node, there || null);
      there = moved;
    }
    if (!there || there.isEqualNode(node)) return;
    if (there.nodeType !== Node.ELEMENT_NODE || there.nodeName !== node.nodeName) return there.replaceWith(node);
    // What a person has opened stays open.
    for (const { name } of [...there.attributes]) if (name !== "open" && !node.hasAttribute(name)) there.removeAttribute(name);
    for (const { name, value } of node.attributes) if (there.getAttribute(name) !== value) there.setAttribute(name, value);
    const value = node.value;
    change(there, node);
    if (node.nodeName === "SELECT") there.value = value;
  });
  while (old.childNodes.length > nodes.length) old.lastChild.remove();
}

export default {
  template: `<component :is="tag"></component>`,
  props: { innerHTML: String, sanitize: Boolean, tag: String },
  mounted() { this.$el.innerHTML = this.innerHTML; },
  watch: {
    innerHTML(content) {
      const fresh = this.$el.cloneNode(false);
      fresh.innerHTML = content;
      change(this.$el, fresh);
    },
  },
};
