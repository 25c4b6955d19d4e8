// Arithmetic by its short names, and search in what is sorted.
export const { abs, ceil, floor, max, min, round } = Math;

/** v, but no less than lo and no more than hi. @param {number} v @param {number} lo @param {number} hi */
export const clamp = (v, lo, hi) => min(max(v, lo), hi);

/** The first index of a sorted array with a[i] >= v. @param {ArrayLike<number>} a @param {number} v @returns {number} */
export const lowerBound = (a, v, from = 0, to = a.length) => {
  while (from < to) {
    const mid = (from + to) >>> 1;
    if (a[mid] < v) from = mid + 1;
    else to = mid;
  }
  return from;
};

/** How many of the first values are <= x. @param {ArrayLike<number>} a whole numbers, never decreasing @param {number} x @returns {number} */
export const upperBound = (a, x, lo = 0, hi = a.length) => lowerBound(a, floor(x) + 1, lo, hi);
