// Elements of the page. Names from a scene are inserted as text, never as markup.

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

export const by_id = (id) => document.getElementById(id);

// write text only if it changes, because the browser lays out the page again even for equal text
export function write_text(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// a number with a few significant digits
export function short_number(value, digits = 4) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const long = size >= 1e5 || (size > 0 && size < 1e-3);
  const text = long ? value.toExponential(Math.max(digits - 2, 0)) : String(Number(value.toPrecision(digits)));
  return text.replace(/-/g, "−");
}
