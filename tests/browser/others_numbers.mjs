// others_numbers.mjs: gestures in a browser that others.mjs drives, each followed by the numbers that it leaves in cells and labels, against `--format json` and
// `memtrace dump`: roles, owners, boxes to tick, a dragged range, the wheel, a drag, hits of a search, a pin, a row of ranks, calls of a driver.
import assert from "node:assert/strict";
import { join } from "node:path";
import * as kit from "./kit.mjs";
import { changesOf } from "./changes.mjs";

const sample = join(kit.samples, "verl_grpo_oom_logprob.pickle"), dump = kit.dumpOf(sample), changeOf = changesOf(dump), born = dump.filter((l) => l.action === "alloc");
const wait = (ms) => new Promise((r) => setTimeout(r, ms));
const number = (text) => Number(/[\d,]+/.exec(text)?.[0].replace(/,/g, ""));

/** A cell is n bytes. */
const cell = (text, n, what) => {
  const [v, slack] = kit.bytesIn(text);
  assert.ok(Math.abs(v - n) <= slack, `${what}: "${text}", ${n} by the analysis`);
};

/** @param {any} b the browser @param {any} hands of others.mjs: run, open, step @param {Record<string, {html: string, json: any}>} reports @param {(html: string) => string} watched */
export async function numbers(b, { run, open, step }, reports, watched) {
  const { json } = reports.oom, [device] = json.devices, copy = watched(reports.oom.html);
  /** Cells of the rows of the first table of a section that has that column, wherever it is folded. */
  const cells = (where, column = "") => run(`const t = [...document.querySelectorAll(${JSON.stringify(`${where} table`)})].find((e) => (e.tHead?.textContent ?? "").includes(${JSON.stringify(column)}));
    return [...t.tBodies[0].rows].map((tr) => [...tr.cells].map((c) => c.textContent.trim()))`);
  const hash = async () => { await wait(700); return new URLSearchParams((await run("return location.hash")).slice(1)); };
  const plot = () => run(`const o = document.querySelector(".tl-over"); o.scrollIntoView({ block: "center" }); const r = o.getBoundingClientRect(); return [r.left, r.top, r.width, r.height]`);
  const span = (h) => (h.get("e") ?? "").split("-").map(Number);
  /** The mouse from one place of the picture to another, with the button down; places are shares of what it shows. */
  const drag = async (from, to, shift) => {
    const [left, top, width, height] = await plot(), at = (x) => ({ type: "pointerMove", duration: 30, x: Math.round(left + 58 + (width - 70) * x), y: Math.round(top + height / 2), origin: "viewport" });
    const key = (type) => ({ type: "key", id: "k", actions: [...(type ? [{ type, value: "\uE008" }] : [])] });
    if (shift) await b.call("PerformActions", { actions: [key("keyDown")] });
    await b.call("PerformActions", { actions: [{ type: "pointer", id: "m", parameters: { pointerType: "mouse" }, actions: [at(from), { type: "pointerDown", button: 0 },
      at((from * 2 + to) / 3), at((from + to * 2) / 3), at(to), { type: "pointerUp", button: 0 }] }] });
    if (shift) await b.call("PerformActions", { actions: [key("keyUp")] });
  };

  await step("owners and roles: bytes of every row", async () => {
    await open(copy);
    const owners = await cells("#owners", "Allocated by"), roles = await cells("#roles");
    const has = (rows, n, what) => assert.ok(rows.some((r) => r.some((c) => kit.saysBytes(c, n))), `${what}: ${n} in no row`);
    const seen = json.owners.slice(0, 8);
    assert.ok(owners.length >= seen.length && roles.length > 3);
    seen.forEach((o, i) => assert.ok(owners[i].some((c) => kit.saysBytes(c, o.bytes)), `owner ${i}: ${owners[i]}, ${o.bytes}`));
    for (const r of device.roles.filter((r) => r.bytes)) has(roles, r.bytes, r.role);
    return `${seen.length} owners, ${device.roles.filter((r) => r.bytes).length} roles`;
  });
  await step("boxes to tick: what the card would hold, for every set", async () => {
    const { choices } = json.after, all = choices.at(-1).rules;
    for (const { rules, needed_bytes, lacking_bytes } of choices) {
      await run(`[...document.querySelectorAll(".whatif input")].forEach((box, i) => { if (box.checked !== ${JSON.stringify(all.map((r) => rules.includes(r)))}[i]) box.click(); })`);
      const [words, kind] = await run(`const b = [...document.querySelectorAll(".outcome > div")].find((d) => d.getClientRects().length).querySelector("b"); return [b.textContent, b.className]`);
      assert.ok(kit.saysBytes(/(\S+ \S+) (?:needed|live)/.exec(words)[1], needed_bytes), `${rules}: ${words}, ${needed_bytes}`);
      assert.equal(kind, lacking_bytes ? "lacks" : "fits", `${rules}: ${words}`);
    }
    return `${choices.length} sets`;
  });
  await step("a dragged range: new, gone and net in cells, by stack", async () => {
    await open(copy, "#x=e&e=0-2376");
    await drag(0.45, 0.8, true);
    const s = (await hash()).get("s");
    assert.match(s ?? "", /^\d+-\d+$/, "a range is chosen");
    const [from, to] = s.split("-").map(Number), net = changeOf(from, to), sum = [...net.values()].reduce((x, y) => x + y, 0);
    const tables = await run(`return [...document.querySelectorAll(".tl-tables table")].map((t) => [...t.tBodies[0].rows].map((tr) => [...tr.cells].map((c) => c.textContent.trim())))`);
    assert.equal(tables.length, 3);
    let checked = 0;
    for (const rows of tables) {
      let all = 0, off = 0;
      for (const row of rows) {
        const [[n, a], [m, p], [g, q]] = row.slice(1, 4).map(kit.bytesIn);
        assert.ok(Math.abs(n - m - g) <= a + p + q, row.join(" | "));
        all += n;
        off += a;
      }
      assert.ok(off > 0 && Math.abs(all - sum) <= off, `rows: ${all}, the dump: ${sum}`);
    }
    for (const [name, change] of tables[2]) {
      const place = [...net.keys()].find((k) => name.includes(k.split(":")[0]) && name.includes(`:${k.split(":")[1]}`));
      if (!place) continue;
      cell(change, net.get(place), place);
      checked++;
    }
    assert.ok(checked > 2, `${checked} places were found`);
    return `events ${s}, ${tables.map((t) => t.length)} rows, ${checked} of them place by place`;
  });
  await step("wheel and drag: the event under the pointer stays, a pan keeps the span", async () => {
    await open(copy, "#x=e&e=500-1500&c=900");
    const [left, top, width, height] = await plot(), x = Math.round(left + 58 + (width - 70) * 0.25), y = Math.round(top + height / 2);
    await wait(400); // a wheel that turns while the page scrolls is for the page
    const real = await b.call("PerformActions", { actions: [{ type: "wheel", id: "w", actions: [1, 2, 3].map(() => ({ type: "scroll", x, y, deltaX: 0, deltaY: -120, duration: 0, origin: "viewport" })) }] }).then(() => true, () => false);
    const turned = real && span(await hash())[1] !== 1500;
    if (!turned) await run(`for (let i = 0; i < 3; i++) document.querySelector(".tl-over").dispatchEvent(new WheelEvent("wheel", { deltaY: -120, clientX: ${x}, clientY: ${y}, bubbles: true, cancelable: true }))`);
    const [lo, hi] = span(await hash()), under = (from, to) => from + (to - from) * ((x - left - 58) / (width - 70));
    assert.ok(hi - lo < 900 && Math.abs(under(lo, hi) - under(500, 1500)) < (hi - lo) / 100, `${lo} to ${hi}`);
    await drag(0.6, 0.4, false);
    const [a, z] = span(await hash());
    assert.ok(Math.abs(z - a - (hi - lo)) < 2 && Math.abs(a - lo - 0.2 * (hi - lo)) < (hi - lo) / 50, `${lo}-${hi} became ${a}-${z}`);
    return `${turned ? "a real wheel" : "a wheel event made in the page"}, 500-1500 became ${Math.round(lo)}-${Math.round(hi)}, then ${Math.round(a)}-${Math.round(z)}`;
  });
  await step("a search: how many, the largest, Enter to the first born, its pin", async () => {
    await open(copy);
    await run(`const f = document.querySelector(".tl-search"); f.focus(); f.value = ">64MiB"; f.dispatchEvent(new Event("input", { bubbles: true }))`);
    await wait(900);
    const big = born.filter((e) => e.size > 64 * 2 ** 20), sizes = big.map((e) => e.size).sort((p, q) => q - p);
    const [found, hits] = await run(`return [document.querySelector(".tl-found").textContent, [...document.querySelectorAll(".tl-hits button")].map((x) => x.textContent)]`);
    assert.equal(number(found), big.length);
    assert.equal(hits.length, Math.min(8, sizes.length));
    hits.forEach((h, i) => assert.ok(kit.saysBytes(h, sizes[i]), `${h}: ${sizes[i]}`));
    await b.call("PerformActions", { actions: [{ type: "key", id: "k", actions: [{ type: "keyDown", value: "\uE007" }, { type: "keyUp", value: "\uE007" }] }] });
    const at = Number((await hash()).get("c")), [hit] = big.filter((e) => e.n === at), pin = await run(`return document.querySelector(".tl-pin").textContent`);
    assert.ok(hit, `event ${at} is none of the found`);
    assert.ok(kit.saysBytes(/Size\s*([\d.]+ \w+iB)/.exec(pin)[1], hit.size), pin);
    return `${found}; the pin of event ${at}`;
  });
  await step("a table sorted by a click is in that order, whole", async () => {
    const before = await cells("#owners", "Allocated by");
    await run(`const t = [...document.querySelectorAll("#owners table")].find((e) => (e.tHead?.textContent ?? "").includes("Allocated by"));
      t.closest("details")?.setAttribute("open", ""); [...t.tHead.querySelectorAll("button")].find((x) => x.textContent.includes("Blocks")).click()`);
    const once = await cells("#owners", "Allocated by");
    assert.deepEqual([...once].map(String).sort(), [...before].map(String).sort());
    const blocks = once.map((r) => number(r[4])), down = blocks[0] >= blocks.at(-1);
    assert.deepEqual(blocks, [...blocks].sort((p, q) => (down ? q - p : p - q)), "in the order of blocks");
    assert.notDeepEqual(once, before);
    return `${once.length} rows, by blocks`;
  });
  await step("two ranks: a click on a row, and the choice above the picture, show that one, with its bytes", async () => {
    await open(watched(reports.ranks.html));
    const { devices } = reports.ranks.json, n = await run(`const s = document.querySelector(".tl-track"); return s.options.length`);
    for (let i = 0; i < n; i++) {
      // the first way is by the list, the second by the row of that rank
      const name = await run(`const s = document.querySelector(".tl-track"), name = s.options[${i}].textContent;
        if (${i % 2}) document.querySelector('#ranks .rows [data-place="' + name + '"] button').click();
        else { s.selectedIndex = ${i}; s.dispatchEvent(new Event("change", { bubbles: true })); }
        return name`);
      await wait(600);
      assert.equal(await run(`return document.querySelector(".tl-track").selectedOptions[0].textContent`), name);
      await wait(600);
      await b.call("PerformActions", { actions: [{ type: "key", id: "k", actions: [{ type: "keyDown", value: "p" }, { type: "keyUp", value: "p" }] }] });
      await wait(500);
      const said = await run(`return document.querySelector(".tl-said").textContent`);
      assert.ok(devices.some((d) => kit.saysBytes(said, d.live_peak_bytes) && said.includes(`event ${d.peak_event.toLocaleString("en")}`)), `${name}: ${said}`);
    }
    return `${n} of them`;
  });
  await step("a recorded job: what its calls held at the failure, the call under the pointer, its pin", async () => {
    await open(watched(reports.calls.html));
    await wait(600);
    const { focus, recorded_peak_bytes } = reports.calls.json.job.ledgers[0], said = () => run(`return document.querySelector(".tl-said").textContent`);
    assert.ok(kit.saysBytes(await said(), focus.recorded_bytes), await said());
    const rows = await cells("#ledger .cursor");
    cell(rows[0][1], focus.recorded_bytes, "all owners");
    assert.equal(number(rows[0][3]), focus.rows.reduce((n, r) => n + r.live_allocations, 0));
    const [left, top, width, height] = await plot(), to = { type: "pointerMove", duration: 0, x: Math.round(left + width * 0.6), y: Math.round(top + height / 2), origin: "viewport" };
    await b.call("PerformActions", { actions: [{ type: "pointer", id: "m", parameters: { pointerType: "mouse" }, actions: [{ ...to, x: to.x - 5 }, to] }] });
    await wait(400);
    const tip = await run(`const t = document.querySelector(".tl-tip"); return t.hidden ? "" : t.innerText`);
    assert.match(tip, /Call: cuMemAlloc \(cudaMalloc\) by .+, pid (4711|4800)/);
    await b.call("PerformActions", { actions: [{ type: "pointer", id: "m", parameters: { pointerType: "mouse" }, actions: [to, { type: "pointerDown", button: 0 }, { type: "pointerUp", button: 0 }] }] });
    await wait(500);
    const [size] = /^[\d.]+ \w+/.exec(tip), pin = await run(`return document.querySelector(".tl-pin").textContent`);
    assert.ok(pin.includes(size), `${size}: ${pin}`);
    await b.call("PerformActions", { actions: [{ type: "key", id: "k", actions: [{ type: "keyDown", value: "p" }, { type: "keyUp", value: "p" }] }] });
    await wait(500);
    assert.ok(kit.saysBytes(await said(), recorded_peak_bytes), await said());
    return `${size} under the pointer`;
  });
}
