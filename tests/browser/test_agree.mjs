// test_agree.mjs: what stands twice on a page is the same everywhere, and what `--format json` says: every number of the failure wherever it is said,
// roles and phases in each table, one name of a place in every table, band and sentence. Ends with 77 where there is no Chromium.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import * as kit from "./kit.mjs";

kit.skipUnlessPossible();
after(kit.closeBrowser);

const REAL = ["cs336_magma_partial_frames.pickle", "cs336_wedson_512_training.pickle", "decomfl_python_only_torch2.9.pickle"].map((name) => join(kit.MEMTRACE_SHARED_DATA, "torch", name));
const INPUTS = [["verl_grpo_oom_logprob.pickle", "80GiB"], ["verl_two_ranks.tar.gz", "24GiB"], ["fragmentation_oom.pickle", "24GiB"], ["expandable_segments.pickle", "80GiB"], ["tiny.pickle", "1GiB"],
  ["fsdp_finetune.pickle", "24GiB"], ["python_only.pickle", "24GiB"], ["torch/ring.pickle.gz", "24GiB"], ["torch/checkpoint.pickle.gz", "24GiB"]].map(([name, capacity]) => [join(kit.samples, name), capacity]);

/** All that is folded, opened: what every part of the page says. */
const read = async (page) => {
  await page.evaluate(() => { for (const d of document.querySelectorAll("details.part")) d.open = true; });
  await page.locator(".cursor").scrollIntoViewIfNeeded();
  await kit.until(page, "the panels at the cursor", () => document.querySelector(".cursor .ib") !== null);
  await page.locator("#segments").scrollIntoViewIfNeeded();
  await kit.settled(page);
  return page.evaluate(() => {
    const text = (e) => e.innerText.replace(/\u00a0/g, " ").replace(/\s+/g, " ").trim(), all = (s) => [...document.querySelectorAll(s)];
    const first = (e) => [...e.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data).join("").trim();
    return {
      roles: Object.fromEntries(JSON.parse(document.getElementById("mt-index").textContent).roles.map((r) => [r.id, r.name])),
      colors: Object.fromEntries(JSON.parse(document.getElementById("mt-index").textContent).roles.map((r) => [r.id, r.color])),
      boxes: all(".cursor .ib").map((b) => [b.title.split(" ")[0].replace(/:$/, ""), b.style.background]),
      text: Object.fromEntries(all("main > *").map((e) => [e.id, text(e)])), said: text(document.querySelector(".tl-said")), moment: text(document.querySelector(".cursor .moment")),
      // Tables of a part that are not of another device: heads, and cells by row.
      tables: Object.fromEntries(["phases", "roles", "occurrences", "owners", "ranks", "segments"].map((id) => [id, all(`#${id} table`).filter((t) => !t.closest(".more")).map((t) => ({
        heads: [...t.tHead.rows[0].cells].map(text), rows: [...t.tBodies[0].rows].map((r) => [...r.cells].map(text)) }))])),
      tiles: Object.fromEntries(["numbers", "segments"].map((id) => [id, all(`#${id} .cards dt`).map((dt) => [text(dt), first(dt.nextElementSibling), text(dt.nextElementSibling)])])),
      key: all(".card .key li").map((li) => [first(li) || text(li).replace(/ [\d.,]+ [KMGT]?i?B.*/, ""), text(li.querySelector("b"))]),
      legend: all(".tl-legend > span:first-child > *").map((e) => [text(e.querySelector("bdi")), text(e).slice(text(e.querySelector("bdi")).length).trim()]),
      cursor: all(".cursor tbody tr").filter((r) => r.cells.length === 4).map((r) => [text(r.cells[0]), text(r.cells[1])]),
      map: all(".segmap figcaption").map(text),
      bands: all("#timeline svg.plot text[text-anchor=middle][font-size='11']").map((e) => e.textContent),
      heat: all("#ranks table").slice(1).flatMap((t) => [...t.tHead.rows[0].cells].slice(1).map(text)),
    };
  });
};

const SIZE = "([\\d.,]+ [KMGT]?i?B)";
/** Every place where a number of the failure stands: what JSON says, and [part, words around it]. */
const factsOf = (d, oom, capacity) => {
  const f = d.focus, fail = oom ? [
    ["asked for", oom.request_bytes, [["verdict", `asked for ${SIZE} `], ["verdict", `asked for ${SIZE}(?! at)`], ["timeline", `asks for ${SIZE}`], ["numbers", `Request that failed ${SIZE}`], ["cause", `It asked for ${SIZE}`],
      ["segments", `for a request of ${SIZE}`], ["segments", `Asked for ${SIZE}`]]],
    ["free on the device", oom.device_free_bytes, [["verdict", `with ${SIZE} free on the device`], ["verdict", `free on the device ${SIZE}`], ["timeline", `; ${SIZE} is free on the device`], ["numbers", `Free on the device ${SIZE}`],
      ["cause", `; ${SIZE} was free on the device`], ["change", `and ${SIZE} on the device`], ["segments", `Free on the device ${SIZE}`]]],
    ["live", oom.live_bytes, [["numbers", `Live at the OOM ${SIZE}`], ["verdict", `: ${SIZE} was live of`], ["segments", `Reserved at the OOM [^L]*? ${SIZE} live`], ["owners", `${SIZE} live at the OOM`]]],
    ["largest hole", oom.largest_usable_hole_bytes, [["change", `\\(largest hole ${SIZE}\\)`], ["numbers", `Largest usable hole ${SIZE}`], ["cause", `hole that could serve it had ${SIZE}`], ["segments", `Largest hole it could use ${SIZE}`]]],
    ["holes", oom.usable_free_bytes, [["change", `Only ${SIZE} was free`], ["numbers", `Largest usable hole \\S+ \\S+ ${SIZE} in`], ["cause", `holes together ${SIZE}`], ["segments", `All holes it could use ${SIZE}`], ["segments", `All of these holes ${SIZE}`]]],
  ] : [];
  return [...fail,
    ["reserved", f.reserved_bytes, [["verdict", `was live of ${SIZE} reserved`], ["verdict", ` with ${SIZE} reserved in`], ["numbers", `Reserved at the (?:OOM|peak) ${SIZE}`], ["segments", `Reserved at the (?:OOM|peak) ${SIZE}`], ["segments", `: ${SIZE} in [\\d,]+ segments`]]],
    ["reserved and not live", f.reserved_free_bytes, [["verdict", `reserved but free ${SIZE}`], ["numbers", `Reserved but free ${SIZE}`], ["segments", `Not in use ${SIZE}`]]],
    ["capacity", capacity, [["verdict", `end of the card ${SIZE}`], ["numbers", `Capacity ${SIZE}`], ["verdict", `of the ${SIZE} card`], ["timeline", `capacity ${SIZE}`], ["cause", `of the card's ${SIZE}`]]],
    ["peak", d.live_peak_bytes, [["numbers", `Peak live ${SIZE}`], ["verdict", `peaked at ${SIZE} live`]]]];
};
const hues = new Map(); // of roles, on the pages so far
const sameCells = (cells, what) => assert.equal(new Set(cells.filter((c) => c !== undefined)).size, 1, `${what}: ${cells}`);

for (const [input, capacity] of [...INPUTS, ...REAL.map((name) => [name, "80GiB"])]) {
  const name = input.split("/").slice(-2).join("/");
  test(`${name}: what stands twice is the same`, { skip: existsSync(input) ? false : "no such file here" }, async () => {
    const { html, json } = kit.reportOf([input], name.replaceAll("/", "_"), "--capacity", capacity), { verdict } = json, d = json.devices.find((v) => v.rank === verdict.rank && v.device === verdict.device);
    const { page, seen, done } = await kit.open(html, { hash: "#x=e" });
    await kit.exact(page);
    const p = await read(page), [phases] = p.tables.phases, [occurrences] = p.tables.occurrences, [roles] = p.tables.roles, oom = d.focus.is === "oom" ? d.ooms.find((o) => o.event === d.focus.event) : null;
    const at = phases.heads.findIndex((h) => /^Live at /.test(h)), own = json.phases.filter((v) => v.rank === d.rank && v.device === d.device);

    // Numbers.
    let twice = 0;
    for (const [what, bytes, places] of factsOf(d, oom, d.capacity_bytes)) {
      const found = places.flatMap(([part, words]) => { const m = new RegExp(words).exec(p.text[part] ?? ""); return m ? [[part, m[1]]] : []; });
      twice += found.length > 1;
      for (const [part, size] of found) {
        assert.ok(kit.saysBytes(size, bytes), `${what} in #${part}: ${size}, ${bytes} by JSON`);
        assert.equal(size, found[0][1], `${what} in #${part} and #${found[0][0]}`);
      }
    }
    assert.ok(twice >= (oom ? 7 : 2), `${twice} numbers stand in several places`);
    const sum = (t) => t.rows.at(-1);
    sameCells([sum(phases)[at], sum(roles)[1], / (\S+ [KMGT]?i?B) live at the /.exec(` ${p.text.owners}`)?.[1]], "all that is live");

    // Pools: of the moment that matters, as the replay of the script has them; they add up to what is reserved there.
    const [pools] = p.tables.segments;
    if (pools) {
      const column = (head) => pools.rows.map((r) => kit.bytesIn(r[pools.heads.indexOf(head)])), all = (list) => list.reduce(([n, off], [v, o]) => [n + v, off + o], [0, 0]);
      const [reserved, slack] = all(column("Reserved")), [free, off] = all(column("Free")), most = column("Largest free").sort(([a], [b]) => b - a)[0];
      assert.ok(Math.abs(reserved - d.focus.reserved_bytes) <= slack + 1, `${reserved} reserved in the pools, ${d.focus.reserved_bytes} by JSON`);
      assert.ok(free <= d.focus.reserved_free_bytes + off, `${free} free in the pools, ${d.focus.reserved_free_bytes} by JSON`);
      assert.ok(most[0] - most[1] <= d.focus.largest_hole_bytes && (!oom || most[0] + most[1] >= oom.largest_usable_hole_bytes), `the largest is ${most}, ${d.focus.largest_hole_bytes} by JSON`);
      const map = p.map.map((words) => /: ([\d.,]+ [KMGT]?i?B) in ([\d,]+) segments?/.exec(words)).filter(Boolean).map((m) => [kit.bytesIn(m[1]), Number(m[2].replace(/,/g, ""))]), segments = pools.rows.reduce((n, r) => n + Number(r[pools.heads.indexOf("Segments")].replace(/,/g, "")), 0);
      if (map.length) assert.ok(map.reduce((n, [, k]) => n + k, 0) === segments && Math.abs(all(map.map(([b]) => b))[0] - reserved) <= slack + all(map.map(([b]) => b))[1], `the map has ${JSON.stringify(map)}, the table ${segments} segments`);
    }

    // Roles.
    for (const r of d.roles.filter((v) => v.bytes).map((v) => ({ ...v, words: p.roles[v.role] }))) {
      const say = [p.key.find(([k]) => k === r.words)?.[1], roles.rows.find(([k]) => k === r.words)?.[1], p.legend.find(([k]) => k === r.words)?.[1], p.cursor.find(([k]) => k === r.words)?.[1]];
      assert.ok(say[1] && kit.saysBytes(say[1], r.bytes), `${r.words}: ${say}`);
      sameCells(say, r.words);
    }

    // A role has the same colour on every page, none that another role has, and so have the boxes of what is for it.
    const pale = (hex) => `rgb(${[1, 3, 5].map((i) => Math.round((parseInt(hex.slice(i, i + 2), 16) + 255) / 2)).join(", ")})`, here = d.roles.filter((r) => r.bytes).map((r) => r.role);
    for (const [id, color] of Object.entries(p.colors)) assert.equal(hues.get(id) ?? (hues.set(id, color), color), color, id);
    assert.equal(new Set(Object.values(p.colors)).size, Object.keys(p.colors).length, "two roles have one colour");
    assert.ok(p.boxes.length > 1);
    for (const [frame, color] of p.boxes) assert.ok(here.some((id) => pale(p.colors[id]) === color), `${frame}: ${color} is of no role that is live`);
    for (const [frame, color] of p.boxes) if (frame === "_allocate_kv_cache_tensors") assert.equal(color, pale(p.colors.kv_cache));

    // Phases: each row is one of JSON, and a phase without parts left behind what it retained.
    assert.deepEqual(phases.rows.slice(0, -1).map(([k]) => k.replace(/^before recording, /, "")), own.map((v) => v.phase_name));
    const kept = phases.heads.findIndex((h) => /^Retained/.test(h));
    for (const row of phases.rows.slice(0, -1)) {
      const v = own.find((o) => o.phase_name === row[0].replace(/^before recording, /, ""));
      assert.ok(kit.saysBytes(row[at], v.at_focus_bytes), `${row}: ${v.at_focus_bytes}`);
      if (kept > 0) assert.ok(kit.saysBytes(row[kept], v.retained_bytes), `${row}: ${v.retained_bytes}`);
    }
    // What a phase left behind, in a table of times that has one, is what it retained where it has no parts and ran once.
    const left = (occurrences?.heads ?? []).indexOf("Left behind");
    for (const row of occurrences?.rows ?? []) {
      const parts = own.filter((v) => v.phase_name === row[0] || v.phase_name.startsWith(`${row[0]} (`));
      if (left < 0 || row[1] !== "1" || parts.length !== 1 || parts[0].phase_name !== row[0] || parts[0].last_event === d.events - 1) continue;
      assert.ok(row[left] === "-" ? parts[0].retained_bytes === 0 : kit.saysBytes(row[left], parts[0].retained_bytes), `${row}: retained ${parts[0].retained_bytes}`);
    }
    // The cause has one name.
    const why = /^Cause: ([^;]*);/.exec(p.text.cause?.replace(/^Why /, "") ?? "")?.[1], known = ["capacity", "no cause"].includes(why) ? null : why;
    if (oom && known) assert.ok(p.text.verdict.startsWith(`Out of memory: ${known} `), `${why}: ${p.text.verdict}`);
    // Names: everything that names a phase names a row of that table, or what stands around its bracket.
    const names = new Set(own.flatMap((v) => [v.phase_name, v.phase_name.replace(/ \(.*/, "")])), ofAll = new Set(json.phases.map((v) => v.phase_name.replace(/ \(.*/, "")));
    const born = p.tables.owners.filter((t) => t.heads.at(-1) === "Born in").flatMap((t) => t.rows.map((r) => r.at(-1).replace(/ (allocated before .*|when .*)$/, "")));
    assert.ok(born.length > 0);
    for (const [where, list] of Object.entries({ verdict: [verdict.phase_name], headline: [verdict.phase_name].filter((n) => n !== "unattributed" && !p.text.verdict.includes(` in ${n}`)), born, times: (occurrences?.rows ?? []).map(([k]) => k), band: p.bands,
      cursor: [/, in ([^,]*), /.exec(p.said)?.[1]].filter(Boolean), heat: p.heat }))
      for (const n of list.filter(Boolean)) {
        if (where === "band" && [...names].some((v) => v.endsWith(` (${n})`))) continue; // there is no room for the rest
        assert.notEqual(where, "headline", `the headline does not name ${n}: ${p.text.verdict}`);
        assert.ok((where === "heat" ? ofAll : names).has(n), `${where}: "${n}" is no row of Phases: ${[...names]}`);
      }
    assert.deepEqual(seen, []);
    await done();
  });
}

test("the band of phases is grey, with red where it failed; stacked by phase it has the colours of the phases", async () => {
  const { html } = kit.reportOf([join(kit.samples, "verl_grpo_oom_logprob.pickle")], "band"), { page, done } = await kit.open(html, { hash: "#x=e" });
  await kit.exact(page);
  await kit.settled(page);
  const hued = () => page.evaluate(() => {
    const base = document.querySelector(".tl-base"), g = Object.assign(document.createElement("canvas"), { width: base.width, height: base.height }).getContext("2d", { willReadFrequently: true }), dpr = base.width / base.clientWidth;
    g.fillStyle = "#fff";
    g.fillRect(0, 0, base.width, base.height);
    g.drawImage(base, 0, 0);
    const { data } = g.getImageData(58 * dpr, base.height - 48 * dpr, base.width - 70 * dpr, 20 * dpr), seen = { grey: 0, red: 0, other: 0 };
    for (let i = 0; i < data.length; i += 4) {
      const [r, gr, b] = data.subarray(i, i + 3);
      seen[Math.max(r, gr, b) - Math.min(r, gr, b) < 24 ? "grey" : r > gr && Math.abs(gr - b) < 24 ? "red" : "other"]++;
    }
    return seen;
  });
  const byRole = await hued();
  assert.ok(byRole.grey > 500 && byRole.red > 50 && byRole.other < 20, JSON.stringify(byRole));
  await page.locator("button[value=phase]").first().click();
  await kit.settled(page);
  assert.ok((await hued()).other > 500);
  await done();
});
