/** What may stand in an element: text goes in as text, never as markup. */
export type Child = Node | string | undefined;

/** `true` sets an empty attribute; `undefined` and `false` leave it out. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** Makes an HTML element. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  setAttributes(node, attributes);
  append(node, children);
  return node;
}

const SVG = "http://www.w3.org/2000/svg";

/** Makes an SVG element. */
export function drawing<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[K] {
  const node = document.createElementNS(SVG, tag);
  setAttributes(node, attributes);
  append(node, children);
  return node;
}

function setAttributes(node: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) node.removeAttribute(name);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
}

/** Puts the children in place of all that was there. */
export function fill(node: Element, ...children: readonly Child[]): void {
  node.replaceChildren(...children.filter((child) => child !== undefined));
}

function append(node: Element, children: readonly Child[]): void {
  node.append(...children.filter((child) => child !== undefined));
}

/** The element with this id in index.html. Throws where there is none: the page and its script belong together. */
export function byId<T extends HTMLElement>(id: string, kind: new () => T): T {
  const node = document.getElementById(id);
  if (node instanceof kind) return node;
  throw new Error(`index.html has no ${kind.name} #${id}`);
}

/** A button that says what it does. */
export function button(label: string, press: () => void, attributes: Attributes = {}): HTMLButtonElement {
  const node = element("button", { type: "button", ...attributes }, label);
  node.addEventListener("click", press);
  return node;
}
