// Light, dark, or as the system has it. Kept for this view of the page only: a file has no place of its own to store it.

import { pButton, pFind, pSet } from "./panel_dom.js";

const THEMES = ["system", "light", "dark"];
let themeAt = 0;
/** @type {HTMLButtonElement|null} */
let themeButton = null;

/** The conditions of all rules for dark colours, with what they were. @type {[MediaList, string][]} */
const themeMedia = [];

const themeWords = () => `Theme: ${THEMES[themeAt]}`;

/** The next of the three. */
export const cycleTheme = () => {
  themeAt = (themeAt + 1) % 3;
  const t = THEMES[themeAt];
  for (const [media, was] of themeMedia) media.mediaText = themeAt === 0 ? was : t === "dark" ? "all" : "not all";
  document.documentElement.style.colorScheme = themeAt === 0 ? "" : t;
  if (themeButton) pSet(themeButton, themeWords());
  document.dispatchEvent(new Event("mt-theme"));
};

export const initTheme = () => {
  for (const rule of [...document.styleSheets].flatMap(s => [...s.cssRules])) {
    const { media } = /** @type {CSSMediaRule} */ (rule);
    if (media?.mediaText.includes("color-scheme: dark")) themeMedia.push([media, media.mediaText]);
  }
  pFind(".tools").append(themeButton = pButton(themeWords(), cycleTheme, { title: "Light, dark, or as the system (key t)" }));
};
