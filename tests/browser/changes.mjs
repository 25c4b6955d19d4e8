// changes.mjs: what changed between two events, by the place that allocates, of a device's part of `memtrace dump`: the oracle of the page's differences.
import assert from "node:assert/strict";

/** @param {any[]} dump @param {number} device @returns {(a: number, b: number) => Map<string, number>} bytes alive after the later event less those after the
 *  earlier, by place; what was alive at both, or at neither, counts nowhere */
export function changesOf(dump, device = 0) {
  const events = dump.filter((l) => l.type === "event" && l.device === device), frames = new Map(dump.filter((l) => l.type === "stack").map((l) => [l.id, l.frames]));
  /** Where a stack allocates: its innermost frame of Python that is not PyTorch's. */
  const placeOf = (stack) => {
    const [name, , line] = frames.get(stack)?.find(([, file]) => file.endsWith(".py") && !/\/torch\//.test(file)) ?? [];
    return name ? `${name}:${line}` : "(no stack recorded)";
  };
  const ends = events.map((e, i) => ({ e, i })).filter(({ e }) => e.action === "alloc" || e.action === "free_completed");
  return (a, b) => {
    const net = new Map(), at = new Map(), add = (place, size) => net.set(place, (net.get(place) ?? 0) + size);
    for (const { e, i } of ends) {
      if (e.action === "alloc") at.set(e.addr, { place: placeOf(e.stack), size: e.size, born: i });
      else {
        const block = at.get(e.addr) ?? assert.fail(`event ${i} frees what the dump does not allocate`);
        at.delete(e.addr);
        if (block.born <= a && i > a && i <= b) add(block.place, -block.size);
        if (block.born > a && block.born <= b && i > b) add(block.place, block.size);
      }
    }
    for (const { place, size, born } of at.values()) if (born > a && born <= b) add(place, size);
    return net;
  };
}
