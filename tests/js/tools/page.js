// Tracks out of a report's file, and the program's own words about the same input.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decodeBeside } from "../../../templates/js/beside.js";
import { readTables } from "../../../templates/js/tables.js";
import { Track } from "../../../templates/js/track.js";

const MEMTRACE = process.env.MEMTRACE ?? "memtrace";

/** Elements <script type="text/plain" or "application/json" id="mt-..."> by id. */
export function pageBlocks(html) {
  const out = {};
  for (const m of html.matchAll(/<script type="(?:text\/plain|application\/json)" id="(mt-[^"]+)">([^<]*)<\/script>/g)) out[m[1]] = m[2].trim();
  return out;
}

/** Runs the program; 3 is a report of damaged input. */
export function memtrace(args) {
  try {
    return execFileSync(MEMTRACE, args, { maxBuffer: 1 << 30, stdio: ["ignore", "pipe", "pipe"] }).toString();
  } catch (error) {
    if (error.status === 3) return error.stdout.toString();
    throw new Error(`memtrace ${args.join(" ")}: ${error.stderr}`);
  }
}

/** The report of an input: {index, tracks}. */
export function openReport(input, options = []) {
  const folder = mkdtempSync(join(tmpdir(), "mt-js-")), file = join(folder, "r.html");
  try {
    memtrace(["report", ...[input].flat(), ...options, "-o", file]);
    return openPage(readFileSync(file, "utf8"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export function openPage(html) {
  const blocks = pageBlocks(html), index = JSON.parse(blocks["mt-index"] ?? "null");
  const io = { text: (id) => blocks[id] ?? null, tables: readTables, decode: (...of) => decodeBeside(() => null, ...of) };
  return { index, blocks, html, tracks: (index?.tracks ?? []).map((meta) => new Track(index, meta, io)) };
}

/** `memtrace dump` of one snapshot: {stacks, devices: Map("cuda 0" -> {events, blocks, reserved})}. */
export function openDump(input) {
  const now = { stacks: [[]], devices: new Map(), kind: "", last: null };
  for (const line of memtrace(["dump", input]).split("\n")) {
    const x = line ? JSON.parse(line) : {};
    const device = (kind) => {
      const key = `${kind} ${x.device}`;
      if (!now.devices.has(key)) now.devices.set(key, { events: [], blocks: [], segments: [], reserved: 0 });
      return now.devices.get(key);
    };
    if (x.type === "stack") now.stacks[x.id] = x.frames;
    else if (x.type === "segment" || x.type === "host_segment") {
      now.last = device(x.type === "segment" ? "cuda" : "host");
      now.last.reserved += x.total;
      now.last.segments.push(x);
    } else if (x.type === "block") now.last.blocks.push(x);
    else if (x.type === "device") now.kind = (device(x.kind), x.kind);
    else if (x.type === "event") device(now.kind).events.push(x);
  }
  return now;
}
