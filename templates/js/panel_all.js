// What scripts add to the page, by the slot of the panel it is added to (render/panels.def); "" = all over the page.

import { initCopy, initCsv } from "./copy.js";
import { initCursor } from "./panel_cursor.js";
import { initScroll } from "./panel_dom.js";
import { initLinks } from "./panel_links.js";
import { initSegments } from "./panel_segmap.js";
import { initTables } from "./panel_sort.js";
import { initTheme } from "./theme.js";

/** @type {{slot: string, init: (ctx: import("./panel_dom.js").PanelCtx) => void}[]} */
export const PANELS = [
  { slot: "", init: initCopy },
  { slot: "", init: initTheme },
  { slot: "", init: initTables },
  { slot: "", init: initScroll },
  { slot: "timeline", init: initLinks },
  { slot: "timeline", init: initCsv },
  { slot: "owners", init: initCursor },
  { slot: "segments", init: initSegments },
];
