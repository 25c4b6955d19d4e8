// Where the page's script starts: index, tracks, view, every panel. What fails leaves the static page as it was.
import { initTimeline } from "./controls.js";
import { initHash } from "./hash.js";
import { PANELS } from "./panel_all.js";
import { Track } from "./track.js";
import { View } from "./view.js";

/** Says at the end of the page what the script could not do. @param {string} what @param {unknown} error */
function sayTrouble(what, error) {
  const p = document.createElement("p");
  p.textContent = `${what}: ${/** @type {Error} */ (error).message}`;
  (document.querySelector("footer") || document.body).append(p);
}

/** @param {import("./panel_dom.js").PanelCtx} ctx */
function startPanels(ctx) {
  for (const p of PANELS) {
    if (p.slot && !ctx.view) continue;
    try {
      p.init(ctx);
    } catch (error) {
      sayTrouble(`The part "${p.slot}" of this page stays as it is without its script`, error);
    }
  }
}

/** @returns {import("./track.js").Index|null} null where there is none, or nothing that this browser can read */
function readIndex() {
  const text = document.getElementById("mt-index");
  try {
    return text && typeof DecompressionStream !== "undefined" ? JSON.parse(text.textContent || "") : null;
  } catch (error) {
    sayTrouble("The data in this page is damaged", error);
    return null;
  }
}

async function startPage() {
  const index = readIndex();
  const tracks = index ? index.tracks.map((meta) => new Track(index, meta)) : [];
  const first = tracks.find((t) => t.meta.primary) || tracks[0], ctx = /** @type {any} */ ({ index, tracks, view: null, root: document });
  if (!first || !index) return startPanels(ctx);
  if (!/[#&]r=/.test(location.hash)) first.startExact(); // an address may ask for another one
  await first.load();
  const view = (ctx.view = new View(first)), progress = initTimeline(ctx);
  await new Promise((go) => setTimeout(go)); // the picture comes first
  startPanels(ctx);
  const fetchTrack = async () => {
    const { track } = view;
    await track.load();
    if (view.track === track) view.tell(new Set(["data"]));
    await track.loadExact((done) => { if (view.track === track) progress?.(done); });
    if (view.track === track) view.tell(new Set(["data"]));
  };
  view.on((changed) => { if (changed.has("track")) fetchTrack(); });
  await initHash(view, tracks, first);
  await fetchTrack();
  document.documentElement.classList.add("js-exact");
}

startPage().catch((error) => sayTrouble("This page stays as it is without its script", error));
