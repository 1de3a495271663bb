// Colours that are safe for colour-blind readers (Okabe and Ito, without yellow), as in all figures, and the lights.

const COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d"];
export const CURVES = COLORS.length; // number of colours before they repeat
const DARK_COLORS = ["#4aa8e0", "#f07f2f", "#2fc498", "#e09bc3", "#f0b429", "#8fd0f5", "#b4bac2"]; // the same, lighter

const dark_theme = matchMedia("(prefers-color-scheme: dark)");

const is_dark = () => dark_theme.matches;

export function when_theme_changes(callback) {
  dark_theme.addEventListener("change", callback);
}

// the colour of curve or actor k, as #rrggbb
export function curve_color(k) {
  return (is_dark() ? DARK_COLORS : COLORS)[k % COLORS.length];
}

export function numbers_of(color) {
  return [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16) / 255);
}

// impacts have a fixed colour; other kinds get the next free one
const kinds = new Map([["impact", 1]]);
export function kind_number(kind) {
  if (!kinds.has(kind)) kinds.set(kind, kinds.size === 1 ? 0 : kinds.size);
  return kinds.get(kind);
}

// colours of the stage and strengths of its lights; `dark` is the strength of shadows
const LIGHT = {
  background: [0.957, 0.965, 0.975], ink: [0.33, 0.4, 0.5, 0.5],
  sky: [0.54, 0.57, 0.62], ground: [0.25, 0.25, 0.27], lamplight: 0.47, dark: 0.26,
};
const DARK = {
  background: [0.071, 0.082, 0.102], ink: [0.62, 0.7, 0.8, 0.42],
  sky: [0.44, 0.47, 0.53], ground: [0.14, 0.14, 0.17], lamplight: 0.52, dark: 0.55,
};

export const stage_light = () => (is_dark() ? DARK : LIGHT);
