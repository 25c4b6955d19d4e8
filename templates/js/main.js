// Where the page's script starts: index, tracks, view, every panel. What fails leaves the static page as it was.
import { initTimeline } from "./controls.js";
import { initHash, isViewHash } from "./hash.js";
import { initCopy } from "./copy.js";
import { initCursor } from "./panel_cursor.js";
import { initScroll, pEl, pFind } from "./panel_dom.js";
import { initFolds } from "./panel_fold.js";
import { initLinks } from "./panel_links.js";
import { initSegments } from "./panel_segmap.js";
import { initTables } from "./panel_sort.js";
import { initTheme } from "./theme.js";
import { Track } from "./track.js";
import { View } from "./view.js";

/** Says at the end of the page what the script could not do. @param {Error} error */
const sayTrouble = ({ message }) => (pFind("footer") || document.body).append(pEl("p", `A part of this page is as without its script, perhaps the file is damaged: ${message}`));

/** The timeline, where the page has data that this browser can read. @param {any} ctx */
const startView = async (ctx) => {
  const text = pFind("#mt-index")?.textContent;
  if (!text || typeof DecompressionStream === "undefined") return;
  const index = (ctx.index = /** @type {import("./track.js").Index} */ (JSON.parse(text)));
  index.roles = [...index.roles, ...index.holders]; // what an allocation of the driver is for
  const tracks = index.tracks.map((meta) => new Track(index, meta));
  const first = tracks.find((t) => t.meta.primary) || tracks[0];
  if (!first) return;
  if (!/[#&]r=/.test(location.hash)) first.startExact(); // an address may ask for another one
  await first.load();
  ctx.tracks = tracks;
  ctx.view = new View(first);
  initTimeline(ctx);
  await new Promise((go) => setTimeout(go)); // the picture comes first
};

/** Reads what the track in view needs; the address says which that is. @param {import("./panel_dom.js").PanelCtx} ctx */
const followView = async ({ view, tracks }) => {
  const read = async () => {
    const { track } = view;
    await track.loadExact();
    if (view.track === track) view.tell(new Set(["data"]));
  };
  view.on((changed) => { if (changed.has("track")) read(); });
  await initHash(view, tracks, view.track);
  if (isViewHash(location.hash)) pFind("#timeline")?.scrollIntoView(); // who follows a link to a moment wants to see it
  await read();
  document.documentElement.classList.add("js-exact");
};

const startPage = async () => {
  const ctx = /** @type {import("./panel_dom.js").PanelCtx} */ ({});
  await startView(ctx).catch(sayTrouble);
  for (const init of [initFolds, initCopy, initTheme, initTables, initScroll, ...ctx.view ? [initLinks, initCursor, initSegments, followView] : []]) {
    try {
      await init(ctx);
    } catch (error) {
      sayTrouble(/** @type {any} */ (error));
    }
  }
};

startPage();
