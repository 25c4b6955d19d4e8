// What keys do: the rows of the help say it (templates/report.timeline.html).

/** @typedef {{keys: string, do: string, focus?: string}} KeyRow `focus`: only while the timeline has the focus */

/** Keys that scroll the page or activate something are taken only from the timeline itself; letters work anywhere but in a field.
 *  @param {KeyRow[]} rows @param {{key: string, ctrlKey: boolean, metaKey: boolean, altKey: boolean}} e
 *  @param {boolean} onTimeline @param {boolean} inField @returns {string|null} */
export const keyAction = (rows, e, onTimeline, inField) => {
  if (e.ctrlKey || e.metaKey || e.altKey) return null;
  if (inField) return e.key === "Escape" ? "clear" : null;
  const find = (/** @type {string} */ key) => rows.find((r) => r.keys.split(" ").includes(key));
  const row = find(e.key) || find(e.key.toLowerCase());
  return row && (row.focus === undefined || onTimeline || /^[wasd]$/i.test(e.key)) ? row.do : null;
};

/** @param {any} target @returns {boolean} where typing means text, or keys choose among options */
export const isField = (target) => target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
