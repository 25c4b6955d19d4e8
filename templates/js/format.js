// Numbers as people read them; the same words as render/format.c.
import { abs, floor, round } from "./math.js";

export const FMT_UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/** @param {number} n bytes @returns {string} "1.5 MiB", "2.25 GiB" */
export const fmtBytes = (n) => {
  let v = abs(n), u = 0, text = v.toFixed(0);
  for (; u < 6 && +text >= 1024; text = v.toFixed(u < 3 ? 1 : 2)) {
    v /= 1024;
    u++;
  }
  return `${n < 0 ? "-" : ""}${text} ${FMT_UNITS[u]}`;
};

/** A change: "+1.5 MiB", "\u22121.5 MiB". @param {number} n */
export const fmtSigned = (n) => `${n < 0 ? "\u2212" : "+"}${fmtBytes(abs(n))}`;

/** @param {number} n @returns {string} "1,234,567" */
export const fmtCount = (n) => String(round(n)).replace(/\B(?=(\d{3})+$)/g, ",");

/** "1 block", "2 blocks". @param {number} n @param {string} what @returns {string} */
export const fmtMany = (n, what) => `${fmtCount(n)} ${what}${n === 1 ? "" : "s"}`;

/** @param {number} part @param {number} whole @returns {string} 100 % is said only of all */
export const fmtPercent = (part, whole) => {
  if (!(whole > 0)) return "-";
  const v = round(part / whole * 1000);
  if (v === 0 && part !== 0) return "< 0.1 %";
  return `${(v === 1000 && part < whole ? 99.9 : v / 10).toFixed(1)} %`;
};

/** @param {number} s seconds @returns {string} "12.3 ms", "4.250 s", "12 min 05 s" */
export const fmtDuration = (s) => {
  const two = (/** @type {number} */ n) => String(floor(n)).padStart(2, "0");
  if (s < 0) return `-${fmtDuration(-s)}`; // before the start of a track
  if (!s) return "0 s";
  if (s < 1e-6) return `${floor(s * 1e9)} ns`;
  if (s < 1e-3) return `${(s * 1e6).toFixed(1)} \u00b5s`;
  if (s < 1) return `${(s * 1e3).toFixed(1)} ms`;
  if (s < 600) return `${s.toFixed(3)} s`;
  if (s < 3600) return `${floor(s / 60)} min ${two(s % 60)} s`;
  return `${floor(s / 3600)} h ${two(s / 60 % 60)} min ${two(s % 60)} s`;
};
