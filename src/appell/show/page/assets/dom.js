// Making elements of the page. Names from a scene come in as text, never as markup.

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

// write text only where it changes, because the browser lays out anew even for the same
export function write_text(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// a number as people write it: a few digits, no noise
export function short_number(value, digits = 4) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const long = size >= 1e5 || (size > 0 && size < 1e-3);
  const text = long ? value.toExponential(Math.max(digits - 2, 0)) : String(Number(value.toPrecision(digits)));
  return text.replace(/-/g, "−");
}
