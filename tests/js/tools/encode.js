// A second writer of docs/report-data.md, for tests of the reader: written from that document, not from render/pack*.c.
import { deflateSync } from "node:zlib";
import { decodeBeside } from "../../../templates/js/beside.js";
import { readTables } from "../../../templates/js/tables.js";

/** Unsigned LEB128. */
export class Bytes {
  constructor() { this.buf = new Uint8Array(64); this.n = 0; }
  byte(b) {
    if (this.n === this.buf.length) { const next = new Uint8Array(2 * this.n); next.set(this.buf); this.buf = next; }
    this.buf[this.n++] = b;
  }
  u(v) {
    if (!(v >= 0 && v <= Number.MAX_SAFE_INTEGER)) throw new Error(`cannot write ${v}`);
    for (; v > 127; v = Math.floor(v / 128)) this.byte(v % 128 + 128);
    this.byte(v);
  }
  z(v) { this.u(v >= 0 ? 2 * v : -2 * v - 1); }
  done() { return this.buf.subarray(0, this.n); }
}

export function column(values, sign = false) {
  const b = new Bytes();
  for (const v of values) sign ? b.z(v) : b.u(v);
  return b.done();
}
/** The two bytes of numbers in columns of their own, larger numbers in a third. */
export function wide(values) {
  const big = (v) => v >= 0xff00;
  return [Uint8Array.from(values, (v) => big(v) ? 0 : v % 256), Uint8Array.from(values, (v) => big(v) ? 255 : v >> 8), column(values.filter(big).map((v) => v - 0xff00))];
}
export const differences = (values) => values.map((v, i) => i ? v - values[i - 1] : v);
export const signed = (values) => column(differences(values), true);
export const rising = (values) => column(differences(values));

export function joined(columns) {
  const head = new Bytes();
  head.u(columns.length);
  for (const c of columns) head.u(c.length);
  return Buffer.concat([head.done(), ...columns]);
}
export const packed = (columns) => deflateSync(joined(columns)).toString("base64");

/** The byte of the time column for a gap, and the gap it stands for; null = write the gap in full. */
export function timeByte(gap, slack) {
  if (gap < 0) return null;
  if (gap < 16) return [gap, gap];
  const shift = Math.floor(Math.log2(gap)) - 3;
  let m = Math.round(gap / 2 ** shift), s = shift;
  if (m === 16) { m = 8; s++; }
  const b = (s + 1) * 8 + (m - 8), value = m * 2 ** s;
  return b > 254 || Math.abs(value - gap) > slack ? null : [b, value];
}

const SEGMENTS = { segment_alloc: 5, segment_free: 6, segment_map: 7, segment_unmap: 8 };

/**
 * events: [{op, tick, ...}]: alloc {site, size, addr}; free_requested, free_completed {block: id} (id null = not known); segment_* {size, addr,
 * lane}; oom {size, free, site}; snapshot {size}; other; lost {block} (no event). old: [{site, size, addr, pending}] have the first ids.
 * Returns the blocks by element id, the entry of the index, and what a reader has to find.
 */
export function encodeTrack({ id = 0, events, old = [], chunk = 65536, tickNs = 1000, times = true, remainders = true, addresses = true,
  unit = 512, places = 2 ** 20, reserved0 = 0, segments0 = [], windows = null, level = "exact" }) {
  const blocks = {}, runs = [], chunks = [], name = (s) => `mt-t${id}-${s}`;
  const known = [], live = new Set(), segments = segments0.slice(), slack = 100000 / tickNs;
  const seen = new Map();
  let nextId = 0, total = 0, pending = 0, reserved = reserved0, ordinal = 0, out = null, cols = null, run = null;
  const expect = [];
  for (const o of old) {
    known.push({ ...o, event: 0, state: o.pending ? 1 : 0 });
    live.add(nextId++);
    total += o.size;
    pending += o.pending ? o.size : 0;
  }
  const start = { live: total, pending, reserved };

  function keyframe(tick) {
    const ids = [...live], b = ids.map((i) => known[i]), sorted = segments.slice().sort((x, y) => x.addr - y.addr);
    blocks[name(`r${runs.length}`)] = packed([
      Buffer.concat([column([ordinal, tick, nextId, total]), column([pending], true), column([reserved, ids.length, sorted.length + 1])]), rising(ids), column(b.map((x) => x.site)),
      column(b.map((x) => Math.floor(x.size / 512))), column(b.map((x) => x.size % 512)), column(b.map((x) => x.state)),
      column(b.map((x) => x.event)), addresses ? signed(b.map((x) => x.addr / unit)) : new Uint8Array(0),
      addresses ? rising(sorted.map((s) => s.addr / unit)) : new Uint8Array(0), column(sorted.map((s) => s.size)), column(sorted.map((s) => 2 * s.lane + (s.map ? 1 : 0))),
    ]);
    run = { first: ordinal, events: 0, chunks: 0 };
    runs.push(run);
    out = { tick };
  }
  function flush() {
    if (!cols) return;
    const n = chunks.length, rest = remainders && cols.rest.some((r) => r);
    blocks[name(`c${n}`)] = packed([...wide(cols.code), ...wide(cols.site), ...wide(cols.size), cols.more.done()]);
    if (times) blocks[name(`t${n}`)] = packed([cols.dt.done(), cols.far.done()]);
    if (rest) blocks[name(`m${n}`)] = packed(wide(cols.rest));
    if (addresses) blocks[name(`a${n}`)] = packed([...wide(cols.addr), cols.others.done(), cols.where.done(), cols.lane.done()]);
    chunks.push({ m: rest ? 1 : 0, a: addresses ? 1 : 0 });
    run.chunks++;
    cols = null;
  }
  const bytes = () => new Bytes();
  function time(tick) {
    if (!times) return;
    const gap = tick - out.tick, b = timeByte(gap, slack);
    if (b) { cols.dt.byte(b[0]); out.tick += b[1]; } else { cols.dt.byte(255); cols.far.z(gap); out.tick = tick; }
  }
  const special = (kind, ...values) => { cols.code.push(1); cols.more.u(kind); values.forEach((v) => cols.more.u(v)); };

  function write(e, whole) {
    const first = ordinal;
    cols ??= { events: 0, code: [], dt: bytes(), far: bytes(), site: [], size: [], more: bytes(), rest: [], addr: [], others: bytes(), at: 0, where: bytes(), lane: bytes(), wat: 0 };
    time(e.tick);
    if (e.op === "alloc") {
      cols.code.push(0);
      cols.site.push(e.site);
      cols.size.push(Math.floor(e.size / 512));
      cols.rest.push(e.size % 512);
      if (!seen.has(e.addr) && seen.size < places) seen.set(e.addr, seen.size + 1);
      cols.addr.push(seen.get(e.addr) ?? 0);
      if (!seen.has(e.addr)) { cols.others.z(e.addr / unit - cols.at); cols.at = e.addr / unit; }
      known.push({ site: e.site, size: e.size, addr: e.addr, event: ordinal + 1, state: 0 });
      live.add(nextId++);
      total += e.size;
    } else if (whole) {
      cols.code.push(nextId - e.block + 1);
      live.delete(e.block);
      total -= known[e.block].size;
    } else if (e.op === "free_requested" || e.op === "free_completed" || e.op === "lost") {
      if (e.block === null) {
        special(e.op === "free_requested" ? 3 : 4, e.size);
        pending += e.op === "free_requested" ? e.size : -e.size;
        total -= e.op === "free_requested" ? 0 : e.size;
      } else {
        const b = known[e.block], asked = e.op === "free_requested";
        special(asked ? 1 : e.op === "lost" ? 12 : 2, nextId - e.block);
        if (asked) { b.state = 1; pending += b.size; } else live.delete(e.block);
        if (e.op === "free_completed") { total -= b.size; pending -= b.size; }
      }
    } else if (e.op in SEGMENTS) {
      special(SEGMENTS[e.op], e.size);
      const there = e.op === "segment_alloc" || e.op === "segment_map";
      reserved += there ? e.size : -e.size;
      if (addresses) { cols.where.z(e.addr / unit - cols.wat); cols.wat = e.addr / unit; cols.lane.u(e.lane); }
      if (there) segments.push({ addr: e.addr, size: e.size, lane: e.lane, map: e.op === "segment_map" });
      else segments.splice(segments.findIndex((s) => s.addr === e.addr && s.size === e.size), 1);
    } else if (e.op === "oom") special(9, e.size, e.free, e.site === undefined ? 0 : e.site + 1);
    else if (e.op === "snapshot") special(10, e.size);
    else special(11);
    const n = e.op === "lost" ? 0 : whole ? 2 : 1;
    ordinal += n;
    run.events += n;
    cols.events += n;
    expect.push({ op: whole ? "free" : e.op, event: first, tick: e.tick, total, pending, reserved, block: e.op === "alloc" ? nextId - 1 : e.block });
    if (cols.events >= chunk - 1) flush();
  }
  const inside = (ev) => !windows || windows.some(([a, n]) => ev >= a && ev < a + n);
  function skip(e) {
    // Outside the windows: only the state goes on.
    flush();
    run = null;
    if (e.op === "alloc") { known.push({ ...e, event: ordinal + 1, state: 0 }); live.add(nextId++); total += e.size; }
    if (e.op === "free_requested" && e.block !== null) { known[e.block].state = 1; pending += known[e.block].size; }
    if (e.op === "free_completed" && e.block !== null) { live.delete(e.block); total -= known[e.block].size; pending -= known[e.block].size; }
    ordinal++;
  }
  let held = null;
  const put = (e, whole) => {
    if (!inside(ordinal)) { skip(e); if (whole) skip({ ...e, op: "free_completed" }); return; }
    if (!run) keyframe(times ? e.tick : 0);
    write(e, whole);
  };
  if (!windows) keyframe(0);
  for (const e of events) {
    if (held) {
      const whole = e.op === "free_completed" && e.block === held.block && e.block !== null && e.tick - held.tick <= slack && e.tick >= held.tick
        && inside(ordinal) === inside(ordinal + 1);
      put(held, whole);
      held = null;
      if (whole) continue;
    }
    if (e.op === "free_requested") held = e;
    else put(e, false);
  }
  if (held) put(held, false);
  flush();
  if (addresses) blocks[name("d")] = packed([signed([...seen.keys()].map((a) => a / unit))]);
  const peak = expect.reduce((m, e) => Math.max(m, e.total), start.live);
  return {
    blocks, expect, known, old: old.length,
    meta: {
      id, label: `device ${id}`, rank: 0, device: id, kind: "cuda", input: "test", primary: true, events: ordinal, old: old.length,
      capacity: 0, addr_unit: unit, time: times ? { t0_ns: "0", tick_ns: tickNs, end: expect.at(-1)?.tick ?? 0 } : null, groups: [], level, left_out: [],
      runs, chunks, start, peak: { event: 0, live: peak, tick: 0 }, focus: { event: 0, live: peak, oom: false }, marks: [],
    },
  };
}

/** frames: [{name, file, line, kind}]; stacks: [[frame, caller's stack]], from 1; sites: [{stack, role, phase, sub, lane, label}]; lanes: words */
export function encodeSites({ frames, stacks, sites, lanes = ["not recorded"] }) {
  const strings = [], ids = new Map();
  const str = (s) => { if (!ids.has(s)) { ids.set(s, strings.length); strings.push(Buffer.from(s)); } return ids.get(s); };
  const f = frames.map((x) => [str(x.name), str(x.file), x.line, x.kind ?? 1]), labels = sites.map((s) => str(s.label)), pools = lanes.map(str);
  const pick = (list, k) => column(list.map((x) => x[k]));
  return packed([
    column(strings.map((s) => s.length)), Buffer.concat(strings), pick(f, 0), pick(f, 1), pick(f, 2), pick(f, 3),
    column(stacks.map((s) => s[0])), column(stacks.map((s, i) => i + 1 - s[1])), pick(sites, "stack"), pick(sites, "role"), pick(sites, "phase"),
    pick(sites, "sub"), pick(sites, "lane"), column(labels), column(pools),
  ]);
}

/** Columns by name, as decodeOverview() gives them back. */
export function encodeOverview({ axis, x0, x1, events, high, low, reserved, pending, event, phase, groups }) {
  return packed([column([events.length, axis === "t" ? 1 : 0, x0, x1, groups.length]), column(events), signed(high), signed(low), signed(reserved), signed(pending),
    signed(event.map((e) => e + 1)), column(phase), ...groups.map(signed)]);
}

/** stretches: [[event, phase, sub]]; steps: [first]; ranges: [[name, t0, t1, lane]] */
export function encodePhases({ stretches, steps, ranges }) {
  const of = (list, i) => list.map((x) => x[i]), names = [...new Set(of(ranges, 0))], text = names.map((s) => Buffer.from(s));
  return packed([rising(of(stretches, 0)), column(of(stretches, 1)), column(of(stretches, 2)), rising(steps),
    column(of(ranges, 0).map((s) => names.indexOf(s))), rising(of(ranges, 1)),
    column(ranges.map((r) => r[2] - r[1])), column(of(ranges, 3)), column(text.map((t) => t.length)), Buffer.concat(text)]);
}

/** A page without a page: blocks by id, no worker. @returns {any} */
export const ioOf = (...maps) => ({ text: (id) => Object.assign({}, ...maps)[id] ?? null, tables: readTables, decode: (...of) => decodeBeside(() => null, ...of) });

/** Numbers that look random and are always the same. */
export function dice(seed) {
  let s = seed >>> 0 || 1;
  return (n) => {
    s ^= s << 13; s >>>= 0;
    s ^= s >>> 17;
    s ^= s << 5; s >>>= 0;
    return s % n;
  };
}

/** A made-up job: n events, blocks that live short and long, pending frees, segments, now and then an out of memory. */
export function* madeEvents(n, { seed = 7, sites = 20, old = 0, live = 200, rare = true } = {}) {
  const d = dice(seed), have = Array.from({ length: old }, (_, i) => i), waiting = [];
  let next = old, tick = 0, addr = 0x7f0000000000;
  for (let i = 0; i < n; i++) {
    tick += d(40) ? d(30) : d(8000);
    const roll = d(1000);
    if (rare && roll < 4) yield { op: "segment_alloc", tick, size: 2097152, addr: (addr += 4194304), lane: d(2) };
    else if (rare && roll === 4) yield { op: "oom", tick, size: 1 << 30, free: d(1 << 20), site: d(sites) };
    else if (rare && roll === 5) yield { op: "snapshot", tick, size: 0 };
    else if (rare && roll === 6) yield { op: "other", tick };
    else if (rare && roll === 7) { yield { op: "free_requested", tick, block: null, size: 0 }; yield { op: "free_completed", tick, block: null, size: 0 }; i++; }
    else if (rare && roll < 12 && have.length) { const b = have.splice(d(have.length), 1)[0]; waiting.push(b); yield { op: "free_requested", tick, block: b }; }
    else if (waiting.length > 8) yield { op: "free_completed", tick, block: waiting.splice(d(waiting.length), 1)[0] };
    else if (have.length < live && (d(10) || !have.length)) { have.push(next++); yield { op: "alloc", tick, site: d(sites), size: 1 + d(1 << (4 + d(24))), addr: 0x7f0000000000 + 512 * d(1 << 30) }; }
    else {
      const at = d(3) ? have.length - 1 - d(Math.min(4, have.length)) : d(have.length), b = have[at];
      have[at] = have[have.length - 1];
      have.pop();
      yield { op: "free_requested", tick, block: b };
      yield { op: "free_completed", tick: tick + 1, block: b };
      i++;
    }
  }
}
