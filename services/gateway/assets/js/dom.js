// Elements are made here; text always enters as text, never as HTML.

const SVG = 'http://www.w3.org/2000/svg';

/**
 * Makes an HTML element.
 * @param {string} tag its name, with classes: `p.dim`
 * @param {Object<string, any>} [attributes] listeners are functions (`onclick`); `null`, `undefined` and `false` are left out
 * @param {...(Node|string|null|undefined|false|Array)} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
  return build(document.createElement(tag.split('.')[0]), tag, attributes, children);
}

/** Makes an SVG element, as {@link h}. */
export function svg(tag, attributes = {}, ...children) {
  return build(document.createElementNS(SVG, tag.split('.')[0]), tag, attributes, children);
}

function build(element, tag, attributes, children) {
  const classes = tag.split('.').slice(1);
  if (classes.length > 0) element.classList.add(...classes);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...present(children));
  return element;
}

/** The children that are there: a condition that does not hold leaves `false`, `null` or nothing in their place. */
function present(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

/** The element with an id, which the page has. */
export function byId(id) {
  return document.getElementById(id);
}

/**
 * Fills and opens a dialog. Escape, its button and a click beside it close it.
 * @param {HTMLDialogElement} dialog
 * @param {string} title
 * @param {...Node} content
 */
export function openDialog(dialog, title, ...content) {
  const head = h('div.row.head', {},
    h('h2', { id: `${dialog.id}-title` }, title),
    h('button', { type: 'button', onclick: () => dialog.close() }, 'Close'));
  dialog.replaceChildren(head, ...present(content));
  dialog.onclick = (event) => {
    if (event.target === dialog) dialog.close();
  };
  if (!dialog.open) dialog.showModal();
  // What had the focus is gone with what the dialog showed before.
  else head.querySelector('button').focus();
}
