// Packed blocks to numbers: docs/report-data.md. Nothing here trusts a length or a number of the input.

/** No such operation, block or index. */
export const NONE = 0xffffffff;

/** A block that breaks the rules of docs/report-data.md. @param {string} what @returns {Error} */
export const badBlock = (what) => new Error(`The data in this page is damaged: ${what}.`);

/** @param {string} text base64 @returns {Uint8Array} */
export const fromBase64 = (text) => {
  const native = /** @type {{fromBase64?: (s: string) => Uint8Array}} */ (/** @type {unknown} */ (Uint8Array)).fromBase64;
  try {
    if (native) return native.call(Uint8Array, text);
    const s = atob(text), out = new Uint8Array(s.length);
    for (let i = 0; i < s.length; i++) out[i] = s.charCodeAt(i);
    return out;
  } catch {
    throw badBlock("it is not base64");
  }
};

/**
 * @param {Uint8Array} u8 a zlib stream
 * @param {number} [most] more bytes than that are refused: no block of this version is so large
 * @returns {Promise<Uint8Array>}
 */
export const inflate = async (u8, most = 2 ** 28) => {
  if (typeof DecompressionStream === "undefined") throw new Error("This browser is too old to decompress the page's data.");
  const stream = new DecompressionStream("deflate"), writer = stream.writable.getWriter(), reader = stream.readable.getReader();
  /** @type {Uint8Array[]} */
  const parts = [];
  let size = 0;
  // Written, not piped from a Blob: WebKit cannot read a Blob's stream in the worker of a local page.
  const written = writer.write(/** @type {Uint8Array<ArrayBuffer>} */ (u8)).then(() => writer.close());
  written.catch(() => {});
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      size += value.length;
      if (size > most) throw new Error();
      parts.push(value);
    }
    await written;
  } catch {
    reader.cancel().catch(() => {});
    throw badBlock(size > most ? "a block is larger than any that memtrace writes" : "a block cannot be decompressed");
  }
  if (parts.length === 1) return parts[0];
  const out = new Uint8Array(size);
  let at = 0;
  for (const p of parts) {
    out.set(p, at);
    at += p.length;
  }
  return out;
};

/** @param {number} v zigzag @returns {number} */
export const unzig = (v) => v % 2 ? -(v + 1) / 2 : v / 2;

/** Numbers one after the other. */
export class VarReader {
  /** @param {Uint8Array} u8 */
  constructor(u8) {
    this.u8 = u8;
    this.pos = 0;
  }

  get end() { return this.pos >= this.u8.length; }

  /** @returns {number} */
  next() {
    const u8 = this.u8, n = u8.length;
    let p = this.pos, b = 128, shift = 0, v = 0;
    // Up to 28 bits in integers, which is nearly every number; the rest in doubles.
    while (b > 127 && shift < 28) {
      if (p >= n) throw badBlock("a column ends inside a number");
      b = u8[p++];
      v |= (b & 127) << shift;
      shift += 7;
    }
    if (b < 128) {
      this.pos = p;
      return v;
    }
    let big = v;
    for (let m = 2 ** 28; b > 127; m *= 128) {
      if (p >= n || m > 2 ** 49) throw badBlock("a number is too long");
      b = u8[p++];
      big += (b & 127) * m;
    }
    if (big > Number.MAX_SAFE_INTEGER) throw badBlock("a number is too large");
    this.pos = p;
    return big;
  }

  /** @returns {number} */
  zig() { return unzig(this.next()); }

  /** An index below n. @param {number} n @returns {number} */
  below(n) {
    const v = this.next();
    if (v >= n) throw badBlock("a reference points to nothing");
    return v;
  }
}

/** How many numbers a column holds. @param {Uint8Array} u8 @returns {number} */
export const countVars = (u8) => {
  let n = 0;
  for (let i = 0; i < u8.length; i++) n += u8[i] >> 7 ^ 1;
  return n;
};

/** A number of more than two bytes. @param {VarReader} r @param {number[]|null} long @returns {number} */
const wideVar = (r, long) => {
  const v = r.next() + 0xff00;
  if (v < NONE) return v;
  if (!long) throw badBlock("a number is too large");
  long.push(v);
  return NONE;
};

/**
 * Numbers whose two bytes lie in columns of their own; larger ones are in a third.
 * @param {Uint8Array[]} c @param {number} at the first of the three @param {Uint32Array} out room for at least as many
 * @param {number[]|null} [long] gets those of more than 32 bits, for which NONE stands; without it there may be none
 * @returns {Uint32Array} the beginning of `out`
 */
export const wideVars = (c, at, out, long = null) => {
  const lo = c[at], hi = c[at + 1], n = lo.length, more = new VarReader(c[at + 2]);
  if (hi.length !== n || out.length < n) throw badBlock("its columns differ in length");
  for (let i = 0; i < n; i++) out[i] = hi[i] < 255 ? lo[i] | hi[i] << 8 : wideVar(more, long);
  if (!more.end) throw badBlock("its columns differ in length");
  return out.subarray(0, n);
};

/** All numbers of a column. @param {Uint8Array} u8 @returns {Float64Array} */
export const allVars = (u8) => {
  const out = new Float64Array(countVars(u8)), r = new VarReader(u8);
  for (let i = 0; i < out.length; i++) out[i] = r.next();
  if (!r.end) throw badBlock("a column ends inside a number");
  return out;
};

/** Differences that are never negative, summed up. @param {Uint8Array} u8 @returns {Float64Array} */
export const allSteps = (u8) => {
  const out = allVars(u8);
  for (let i = 1; i < out.length; i++) out[i] += out[i - 1];
  return out;
};

/** All numbers of a column of zigzag differences, summed up. @param {Uint8Array} u8 @returns {Float64Array} */
export const allSums = (u8) => {
  const out = allVars(u8).map(unzig);
  for (let i = 1; i < out.length; i++) out[i] += out[i - 1];
  return out;
};

/**
 * The columns of an inflated block; those that are missing at the end are empty.
 * @param {Uint8Array} u8 @param {number} want how many the reader knows
 * @returns {Uint8Array[]}
 */
export const columns = (u8, want) => {
  const r = new VarReader(u8), n = r.next();
  /** @type {number[]} */
  const sizes = [];
  /** @type {Uint8Array[]} */
  const out = [];
  if (n > 4096) throw badBlock("a block has too many columns");
  for (let i = 0; i < n; i++) sizes.push(r.next());
  let at = r.pos;
  for (const size of sizes) {
    if (size > u8.length - at) throw badBlock("a column is longer than its block");
    out.push(u8.subarray(at, at + size));
    at += size;
  }
  while (out.length < want) out.push(new Uint8Array(0));
  return out;
};
