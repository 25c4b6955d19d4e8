// Packed blocks to typed arrays: docs/report-data.md.

/** @param {string} text base64 @returns {Uint8Array} */
export function fromBase64(text) {
  const s = atob(text.trim()), out = new Uint8Array(s.length);
  for (let i = 0; i < s.length; i++) out[i] = s.charCodeAt(i);
  return out;
}
