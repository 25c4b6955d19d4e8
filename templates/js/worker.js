// The decoder of a track's operations. It stands once in the page and runs beside it; where that is not possible, in it.
import { decodeExact, exactBuffers } from "./exact.js";

/** @param {MessageEvent<{track: import("./exact.js").TrackMeta, blocks: Record<string, string>}>} e */
async function answer({ data }) {
  const post = /** @type {(m: object, transfer?: ArrayBuffer[]) => void} */ (postMessage);
  let told = 0;
  // An error in an async handler never reaches the page by itself.
  try {
    const exact = await decodeExact(data.track, (id) => data.blocks[id], (done) => {
      if (done - told > 0.05) post({ progress: told = done });
    });
    post({ exact }, exactBuffers(exact));
  } catch (error) {
    post({ error: error instanceof Error ? error.message : String(error) });
  }
}

if (typeof document === "undefined") onmessage = answer;
else /** @type {any} */ (globalThis).mtDecode = decodeExact;
