// Arithmetic by its short names.
export const { abs, ceil, floor, max, min, round } = Math;

/** v, but no less than lo and no more than hi. @param {number} v @param {number} lo @param {number} hi */
export const clamp = (v, lo, hi) => min(max(v, lo), hi);
