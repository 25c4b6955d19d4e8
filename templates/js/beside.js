// The operations of a track, decoded beside the page; in it where that is not possible.
import { decodeExact, exactBlocks } from "./exact.js";

/** @param {() => Worker|null} make @param {import("./exact.js").TrackMeta} meta @param {(id: string) => string|null} text
 *  @param {(done: number) => void} progress 0 to 1 @returns {Promise<import("./exact.js").Exact>} */
export const decodeBeside = (make, meta, text, progress) => new Promise((resolve, reject) => {
  const worker = make(), here = () => resolve(decodeExact(meta, text, async (done) => {
    progress(done);
    await new Promise((go) => setTimeout(go));
  }));
  if (!worker) return here();
  worker.onmessage = ({ data: { progress: done, error, result } }) => {
    if (done) return progress(done);
    worker.terminate();
    if (error) reject(new Error(error));
    else resolve(result);
  };
  worker.onerror = () => {
    worker.terminate();
    here();
  };
  worker.postMessage({ track: meta, blocks: Object.fromEntries(exactBlocks(meta).map((id) => [id, text(id)])) });
});
