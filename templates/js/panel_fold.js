// Sections that wait behind their heading: a link to one opens it, and what prints is all of them.
import { pAll, pFill, pFind } from "./panel_dom.js";

/** @param {string} hash */
const openAt = (hash) => {
  const part = /** @type {HTMLDetailsElement|null} */ (/^#[a-z]+$/.test(hash) ? pFind(`${hash} > .part`) : null);
  if (part) part.open = true;
};

export const initFolds = () => {
  openAt(location.hash);
  pFill(document, { click: (/** @type {any} */ e) => { openAt(e.target.closest("a[href^='#']")?.hash ?? ""); } });
  pFill(window, { beforeprint: () => { for (const part of pAll(".part, .next > details")) part.open = true; } });
};
