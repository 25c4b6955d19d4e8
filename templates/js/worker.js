// What reads the packed blocks of a page. It stands once in the page; the operations of a track it decodes beside it, where that is not possible, in it.
import { decodeBeside } from "./beside.js";
import { decodeExact, exactBuffers } from "./exact.js";
import { readTables } from "./tables.js";

/** @param {MessageEvent<{track: import("./exact.js").TrackMeta, blocks: Record<string, string>}>} e */
const answer = async ({ data }) => {
  const post = /** @type {(m: object, transfer?: ArrayBuffer[]) => void} */ (postMessage);
  let told = 0;
  // An error in an async handler never reaches the page by itself.
  try {
    const exact = await decodeExact(data.track, (id) => data.blocks[id], (done) => {
      if (done - told > 0.05) post({ progress: told = done });
    });
    post({ result: exact }, exactBuffers(exact));
  } catch (error) {
    post({ error: error instanceof Error ? error.message : String(error) });
  }
};

/** Makes workers of this script. The first one begins before the page is read, where C says that there are operations: later the page has no time to
 *  begin it.
 *  @returns {() => Worker|null} */
const workers = () => {
  const { textContent: code, dataset } = /** @type {any} */ (document.currentScript) ?? { dataset: {} };
  const make = () => {
    if (typeof Worker === "undefined") return null;
    const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    try {
      return new Worker(url);
    } catch {
      return null;
    } finally {
      setTimeout(() => URL.revokeObjectURL(url), 60000);
    }
  };
  let first = dataset.now ? make() : null;
  if (first) first.onerror = () => { first = null; };
  return () => {
    const w = first ?? make();
    first = null;
    return w;
  };
};

if (typeof document === "undefined") onmessage = answer;
else Object.assign(globalThis, { mtRead: { tables: readTables, decode: decodeBeside.bind(null, workers()) } });
