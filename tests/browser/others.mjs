// others.mjs [FOLDER]: a report in Firefox and in WebKitGTK, from file://. Started by others.sh.
// At 1440 pixels and at 390, light and dark, with mouse, keys and a finger.
// Firefox is driven by Marionette, which is inside it, WebKitGTK by WebDriver: no package is needed for either.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import * as kit from "./kit.mjs";
import { numbers } from "./others_numbers.mjs";

/**
 * A browser under control: `call` is a WebDriver command, `said` what it complained of on its own.
 * @typedef {{name: string, call: (what: string, args?: any) => Promise<any>, said: () => Promise<string[]>, close: () => Promise<void>}} Driver
 */
const WIDTH = 1440, HEIGHT = 1000;
const wait = (ms) => new Promise((r) => setTimeout(r, ms));

async function within(seconds, what, f) {
  for (const end = Date.now() + seconds * 1000; Date.now() < end; await wait(100)) {
    const v = await f();
    if (v) return v;
  }
  assert.fail(`${what}: not within ${seconds} s`);
}
const freePort = () => new Promise((resolve) => {
  const s = createServer().listen(0, "127.0.0.1", () => { const { port } = s.address(); s.close(() => resolve(port)); });
});
const version = (program) => (spawnSync(program, ["--version"], { encoding: "utf8" }).stdout ?? "").trim().split("\n").pop();

/** Marionette: over TCP, each message is its length, a colon, and JSON. @returns {Promise<Driver|null>} */
async function firefox(dark) {
  const binary = ["/usr/bin/firefox-esr", "/usr/bin/firefox"].map((p) => process.env.FIREFOX || p).find((p) => existsSync(p));
  if (!binary) return null;
  const port = await freePort(), profile = mkdtempSync(join(kit.scratch, "firefox-"));
  // nothing of its own is asked of the network; warnings of pages are kept
  const prefs = { "marionette.port": port, "app.update.enabled": false, "network.captive-portal-service.enabled": false, "network.connectivity-service.enabled": false,
    "datareporting.policy.dataSubmissionEnabled": false, "browser.shell.checkDefaultBrowser": false, "browser.startup.homepage_override.mstone": "ignore",
    "services.settings.server": "http://127.0.0.1:9/", "extensions.update.enabled": false, "browser.region.network.url": "", "browser.safebrowsing.update.enabled": false,
    "layout.css.prefers-color-scheme.content-override": dark ? 0 : 1 };
  writeFileSync(join(profile, "user.js"), Object.entries(prefs).map(([k, v]) => `user_pref(${JSON.stringify(k)}, ${JSON.stringify(v)});\n`).join(""));
  const child = spawn(binary, ["--headless", "--no-remote", "--profile", profile, "--marionette", "--remote-allow-system-access"],
    { stdio: "ignore", env: { ...process.env, MOZ_HEADLESS_WIDTH: String(WIDTH), MOZ_HEADLESS_HEIGHT: String(HEIGHT) } });
  const gone = new Promise((r) => child.on("exit", r)), waiting = new Map();
  const socket = await within(60, "Firefox", () => new Promise((resolve) => {
    const s = connect(port, "127.0.0.1", () => resolve(s));
    s.on("error", () => resolve(null));
  }));
  let held = Buffer.alloc(0), id = 0;
  socket.on("data", (more) => {
    held = Buffer.concat([held, more]);
    for (let colon = held.indexOf(58); colon > 0; colon = held.indexOf(58)) {
      const end = colon + 1 + Number(held.subarray(0, colon));
      if (held.length < end) return;
      const message = JSON.parse(held.toString("utf8", colon + 1, end));
      held = held.subarray(end);
      if (Array.isArray(message)) waiting.get(message[1])?.(message);
    }
  });
  const call = (what, args = {}) => new Promise((resolve, reject) => {
    waiting.set(++id, ([, , error, result]) => (error ? reject(new Error(`${what}: ${error.error}: ${error.message}`)) : resolve(result?.value ?? result)));
    socket.write(((text) => `${Buffer.byteLength(text)}:${text}`)(JSON.stringify([0, id, `${what.includes(":") ? "" : "WebDriver:"}${what}`, args])));
  });
  await call("NewSession", { pageLoadStrategy: "normal" });
  await call("SetWindowRect", { width: WIDTH, height: HEIGHT });
  return { name: version(binary), call,
    // the console of the whole browser, as far as it is about pages from files
    said: async () => {
      await call("Marionette:SetContext", { value: "chrome" });
      const list = await call("ExecuteScript", { args: [], script: `return Services.console.getMessageArray().filter((m) => m instanceof Ci.nsIScriptError)
        .filter((m) => m.sourceName.startsWith("file:") || m.sourceName.startsWith("blob:")).map((m) => m.errorMessage + " (" + m.category + ", line " + m.lineNumber + ")");` });
      await call("Marionette:SetContext", { value: "content" });
      return list;
    },
    close: async () => {
      await call("Marionette:Quit", { flags: ["eForceQuit"] }).catch(() => {});
      const timer = setTimeout(() => child.kill("SIGKILL"), 5000);
      await gone;
      clearTimeout(timer);
    } };
}

/** WebDriver commands as HTTP: method and path below the session. */
const HTTP = { Navigate: "url", ExecuteScript: "execute/sync", PerformActions: "actions", SetWindowRect: "window/rect", SwitchToFrame: "frame" };

/** @returns {Promise<Driver|null>} */
async function webkit(dark) {
  const program = "/usr/bin/WebKitWebDriver", root = "/usr/lib";
  const binary = existsSync(program) && readdirSync(root).flatMap((d) => ["4.1", "4.0"].map((v) => join(root, d, `webkit2gtk-${v}`, "MiniBrowser"))).find((p) => existsSync(p));
  if (!binary) return null;
  if (!process.env.DISPLAY && !process.env.WAYLAND_DISPLAY) {
    console.log("# WebKitGTK is here, but no display: apt-get install xvfb xauth");
    return null;
  }
  const port = await freePort();
  const child = spawn(program, [`--port=${port}`], { stdio: "ignore", env: { ...process.env, WEBKIT_DISABLE_COMPOSITING_MODE: "1", LIBGL_ALWAYS_SOFTWARE: "1" } });
  const gone = new Promise((r) => child.on("exit", r));
  const ask = async (method, path, body) => {
    const reply = await fetch(`http://127.0.0.1:${port}${path}`, { method, body: body && JSON.stringify(body), headers: { "Content-Type": "application/json" } });
    const { value } = await reply.json();
    if (!reply.ok) throw new Error(`${path}: ${value?.error}: ${value?.message}`);
    return value;
  };
  await within(30, "WebKitWebDriver", () => ask("GET", "/status").then(() => true, () => false));
  const { sessionId, capabilities } = await ask("POST", "/session", { capabilities: { alwaysMatch: { "webkitgtk:browserOptions": { binary, args: ["--automation", ...(dark ? ["--dark-mode"] : [])] } } } });
  const at = `/session/${sessionId}`;
  const call = (what, args) => (what === "TakeScreenshot" ? ask("GET", `${at}/screenshot`) : ask("POST", `${at}/${HTTP[what]}`, args));
  await call("SetWindowRect", { width: WIDTH, height: HEIGHT }).catch(() => {}); // without a window manager a window keeps its size
  return { name: `${capabilities.browserName} ${capabilities.browserVersion} (WebKitGTK)`, call, said: async () => [],
    close: async () => {
      await ask("DELETE", at).catch(() => {});
      child.kill();
      await gone;
    } };
}

/** The page with a first script that writes down what goes wrong; the policy lets exactly that script in too. */
function watched(html) {
  const script = `window.wrong = [];
    addEventListener("error", (e) => window.wrong.push("error: " + (e.message || e.target)), true);
    addEventListener("unhandledrejection", (e) => window.wrong.push("rejection: " + e.reason));
    document.addEventListener("securitypolicyviolation", (e) => window.wrong.push("policy: " + e.violatedDirective + " " + e.blockedURI));
    for (const how of ["error", "warn"]) { const was = console[how]; console[how] = (...a) => { window.wrong.push(how + ": " + a.join(" ")); was(...a); }; }`;
  const text = readFileSync(html, "utf8"), hash = createHash("sha256").update(script).digest("base64"), out = html.replace(/\.html$/, ".watched.html");
  const changed = text.replace("script-src '", `script-src 'sha256-${hash}' '`).replace(/(<meta charset[^>]*>\s*<meta http-equiv[^>]*>)/, (all) => `${all}<script>${script}</script>`);
  assert.notEqual(changed.indexOf(script), -1);
  writeFileSync(out, changed);
  return out;
}

const reports = {
  oom: kit.reportOf([join(kit.samples, "verl_grpo_oom_logprob.pickle")], "oom", "--capacity", "80GiB"),
  driver: kit.reportOf([join(kit.samples, "driver_v1.trace.gz"), join(kit.samples, "expandable_segments.pickle")], "driver"),
  calls: kit.reportOf([join(kit.samples, "nsys/job.sqlite")], "calls"),
  ranks: kit.reportOf([join(kit.samples, "verl_two_ranks.tar.gz")], "ranks"),
};
// what slow_big.mjs has made, where it was told to keep it
const made = join(process.env.MT_BROWSER_DIR ?? "/nonexistent", "loop-oom-1000000.pickle"), large = existsSync(made) ? kit.reportOf([made], "large") : null;
const [device] = reports.oom.json.devices, eventOf = (text) => Number(/event ([\d,]+)/.exec(text)?.[1].replace(/,/g, ""));

/** What both rounds do. @param {Driver} b */
function handsOn(b) {
  const run = (script) => b.call("ExecuteScript", { script, args: [] });
  const press = async (...list) => {
    await b.call("PerformActions", { actions: [{ type: "key", id: "k", actions: list.flatMap((value) => [{ type: "keyDown", value }, { type: "keyUp", value }]) }] });
    await wait(500); // the glide, and the address, follow with a delay
  };
  const said = () => run(`return document.querySelector(".tl-said").textContent`);
  const state = () => run(`const t = document.querySelector(".tl"), s = document.querySelector("#timeline");
    return [s && s.dataset.level || "", t && t.dataset.state || "", t && t.dataset.frame || "", document.querySelector(".tl-state") && document.querySelector(".tl-state").textContent || ""]`);
  const calm = async () => {
    assert.deepEqual(await run("return window.wrong || []"), []);
    assert.deepEqual(await b.said(), []);
  };
  const open = async (html, hash = "") => {
    await calm();
    await b.call("Navigate", { url: "about:blank" }); // else a new hash alone loads nothing
    await b.call("Navigate", { url: `file://${html}${hash}` });
    return exact(html);
  };
  const exact = (html) => within(60, `the exact picture of ${html}`, async () => ((s) => s[1] === "exact" && s)(await state()));
  /** A step ends without an error, a rejection, or anything that the page's policy refused. */
  const step = async (what, f) => {
    const more = await f();
    await calm();
    console.log(`ok - ${b.name}: ${what}${more ? ` (${more})` : ""}`);
  };

  return { run, press, said, calm, open, exact, step };
}

/** @param {Driver} b @param {string|undefined} out */
async function check(b, out) {
  const { run, press, said, open, step } = handsOn(b);
  await step("the page as it is: exact, and it says what the analysis says", async () => {
    const s = await open(reports.oom.html), words = await said();
    assert.ok(kit.saysBytes(words, device.ooms[0].live_bytes), words);
    assert.equal(eventOf(words), device.ooms[0].event);
    return `level ${s[0]}; ${s[3]}; a frame ${s[2]} ms; ${await run(`return Math.round(performance.getEntriesByName("memtrace-exact")[0].startTime)`)} ms to it`;
  });
  const copy = watched(reports.oom.html);
  await step("keys, search, address", async () => {
    await open(copy);
    await press("p");
    assert.equal(eventOf(await said()), device.peak_event);
    await run(`document.querySelector(".tl-over").focus()`);
    await press("w", "w");
    const hash = await run("return location.hash");
    assert.match(hash, /[#&][te]=[\d.]+-[\d.]+/);
    await press("o", "b", ".");
    await run(`const f = document.querySelector(".tl-search"); f.value = ">64MiB"; f.dispatchEvent(new Event("input", { bubbles: true }))`);
    const found = await within(10, "the search", () => run(`return /^[\\d,]+ of/.test(document.querySelector(".tl-found").textContent) && document.querySelector(".tl-found").textContent`));
    await wait(600);
    const last = await run("return location.hash"), words = await said();
    assert.match(last, /q=%3E64M/);
    assert.match(last, /[#&]b=\d+/);
    await open(copy, last);
    await wait(600);
    assert.equal(await run("return location.hash"), last);
    assert.equal(await said(), words);
    await press("t", "t", "t", "?", "\uE00C", "0", "n", "N", "[", "]", ",", "f");
    return found;
  });
  await step("a click pins an allocation, hover names one", async () => {
    await open(copy);
    const [x, y] = await run(`document.querySelector("#timeline").scrollIntoView(); const r = document.querySelector(".tl-over").getBoundingClientRect(); return [r.left + r.width * 0.6, r.top + r.height * 0.7]`);
    const move = (px) => ({ type: "pointerMove", duration: 0, x: Math.round(px), y: Math.round(y), origin: "viewport" });
    await b.call("PerformActions", { actions: [{ type: "pointer", id: "m", parameters: { pointerType: "mouse" }, actions: [move(x - 9), move(x)] }] });
    const tip = await within(10, "the tip", () => run(`const t = document.querySelector(".tl-tip"); return !t.hidden && t.textContent`));
    assert.match(tip, /[KMG]iB/);
    await b.call("PerformActions", { actions: [{ type: "pointer", id: "m", parameters: { pointerType: "mouse" }, actions: [move(x), { type: "pointerDown", button: 0 }, { type: "pointerUp", button: 0 }] }] });
    await wait(600);
    assert.match(await run("return location.hash"), /[#&]a=\d+/);
  });
  await step("nothing wider than the window", async () => {
    const [wide, room] = await run("return [document.documentElement.scrollWidth, innerWidth]");
    assert.ok(wide <= room, `${wide} > ${room}`);
    return `${room} pixels`;
  });
  await step("a driver's trace beside a snapshot; two ranks", async () => {
    await open(watched(reports.driver.html));
    assert.ok(await run(`return !!document.querySelector("#ledger")`));
    await open(watched(reports.ranks.html));
    assert.equal(await run(`return document.querySelectorAll(".tl-track option").length`), reports.ranks.json.devices.length);
  });
  if (large) await step("a million events", async () => {
    const s = await open(watched(large.html)), [d] = large.json.devices;
    await press("p");
    assert.equal(eventOf(await said()), d.peak_event);
    assert.ok(kit.saysBytes(await said(), d.live_peak_bytes), await said());
    return `${s[3]}; a frame ${s[2]} ms; ${await run(`return Math.round(performance.getEntriesByName("memtrace-exact")[0].startTime)`)} ms to it`;
  });
  if (out) {
    await open(reports.oom.html);
    for (const [name, at] of [["top", "scrollTo(0, 0)"], ["timeline", `document.querySelector("#timeline").scrollIntoView()`]]) {
      await run(at);
      await wait(500);
      await shot(b, out, name);
    }
  }
}

/** Light or dark, at a width: neither browser makes a window as narrow as a phone, so the page lies in a frame of that width, and is asked
 *  as one. @param {Driver} b @param {boolean} dark @param {number} width @param {string|undefined} out */
async function look(b, dark, width, out) {
  const { run, press, said, calm, exact, step } = handsOn(b), words = `${width} pixels, ${dark ? "dark" : "light"}`, height = 800;
  const frame = async (html, hash = "") => {
    const path = html.replace(/\.html$/, ".frame.html");
    writeFileSync(path, `<!doctype html><style>body{margin:0}iframe{border:0;display:block;width:${width}px;height:${height}px}</style><iframe src="${html.replace(/.*\//, "")}${hash}"></iframe>`);
    await calm();
    await b.call("Navigate", { url: "about:blank" });
    await b.call("Navigate", { url: `file://${path}` });
    await b.call("SwitchToFrame", { id: 0 });
    return exact(html);
  };
  const copy = watched(reports.oom.html);
  await step(`${words}: exact, nothing wider than the page, the scheme everywhere`, async () => {
    for (const name of ["driver", "ranks", "oom"]) {
      await frame(name === "oom" ? copy : watched(reports[name].html));
      const [wide, room, scheme] = await run(`return [document.documentElement.scrollWidth, innerWidth, matchMedia("(prefers-color-scheme: dark)").matches]`);
      assert.equal(room, width);
      assert.ok(wide <= room, `${name}: ${wide} > ${room}`);
      assert.equal(scheme, dark);
    }
    // the page, its cards and the corner of the canvas are dark or light, the words the other way round
    const [page, card, ink, axis] = await run(`const light = (c) => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number); return Math.round(r * 0.3 + g * 0.59 + b * 0.11); };
      const at = (q) => getComputedStyle(document.querySelector(q)), c = document.querySelector(".tl-base"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
      let inks = 0, n = 0; // the numbers of the axis: what is not clear, left of the picture
      for (let y = 0; y < c.height; y++) for (let x = 0; x < 50 * devicePixelRatio; x++) { const i = (y * c.width + x) * 4; if (d[i + 3] > 200) { n++; inks += d[i] * 0.3 + d[i + 1] * 0.59 + d[i + 2] * 0.11; } }
      return [light(at("body").backgroundColor), light(at("section").backgroundColor), light(at("body").color), n ? Math.round(inks / n) : -1];`);
    assert.ok(dark ? page < 60 && card < 60 && ink > 180 && axis > 110 : page > 200 && card > 200 && ink < 80 && axis >= 0 && axis < 150, `${page} ${card} ${ink} ${axis}`);
    assert.ok(kit.saysBytes(await said(), device.ooms[0].live_bytes), await said());
    return `background ${page}, words ${ink}, axis ${axis} of 255`;
  });
  await step(`${words}: keys, a tap, a finger that pans, two that zoom`, async () => {
    await frame(copy, "#e=500-1500&c=900");
    await run(`document.querySelector(".tl-over").focus({ preventScroll: true })`);
    await press("p");
    assert.equal(eventOf(await said()), device.peak_event);
    await frame(copy, "#e=500-1500&c=900");
    const box = await run(`document.querySelector(".tl-plot").scrollIntoView({ block: "center" }); const r = document.querySelector(".tl-over").getBoundingClientRect(); return [r.left, r.top, r.width, r.height]`);
    const at = (x, y) => ({ type: "pointerMove", duration: 40, x: Math.round(box[0] + box[2] * x), y: Math.round(box[1] + box[3] * y), origin: "viewport" });
    const finger = (id, ...places) => ({ type: "pointer", id, parameters: { pointerType: "touch" }, actions: [places[0], { type: "pointerDown", button: 0 }, ...places.slice(1), { type: "pointerUp", button: 0 }] });
    const hash = async () => { await wait(600); return run("return location.hash"); };
    const span = (text) => (/[#&]e=([\d.]+)-([\d.]+)/.exec(text) ?? []).slice(1).map(Number);
    const fingers = (...list) => b.call("PerformActions", { actions: list }).then(() => b.call("ReleaseActions", {}).catch(() => {}));
    const y = await run(`document.addEventListener("pointerdown", (e) => { window.pointer = e.pointerType; }, true); return scrollY`);
    await fingers(finger("a", at(0.8, 0.5), at(0.7, 0.5), at(0.6, 0.5), at(0.5, 0.5)));
    const touch = (await run("return window.pointer")) === "touch"; // WebKitWebDriver makes a mouse of a finger
    const panned = span(await hash());
    assert.ok(panned[0] > 550 && Math.abs(panned[1] - panned[0] - 1000) < 1, String(panned));
    if (touch) await fingers(finger("a", at(0.4, 0.5), at(0.3, 0.5), at(0.25, 0.5)), finger("b", at(0.6, 0.5), at(0.7, 0.5), at(0.75, 0.5)));
    const zoomed = span(await hash());
    assert.ok(!touch || zoomed[1] - zoomed[0] < 600, String(zoomed));
    await fingers(finger("a", at(0.5, 0.6)));
    assert.match(await hash(), /[#&]a=\d+/);
    assert.equal(await run("return scrollY"), y);
    return `panned to ${panned.map(Math.round)}, ${touch ? `zoomed to ${zoomed.map(Math.round)}` : "with a mouse: the driver has no fingers"}`;
  });
  if (out) {
    await frame(reports.oom.html);
    await run(`document.querySelector("#timeline").scrollIntoView()`);
    await wait(500);
    await shot(b, out, `${width}-${dark ? "dark" : "light"}`);
  }
  await b.call("SwitchToFrame", { id: null });
}

/** @param {Driver} b @param {string} out @param {string} what */
async function shot(b, out, what) {
  mkdirSync(out, { recursive: true });
  const short = b.name.toLowerCase().includes("firefox") ? "firefox" : "webkitgtk";
  writeFileSync(join(out, `${short}-${what}.png`), Buffer.from(await b.call("TakeScreenshot", { full: false }), "base64"));
}

let tried = 0, failed = 0;
for (const [name, start] of [["Firefox", firefox], ["WebKitGTK", webkit]]) {
  for (const dark of [false, true]) {
    const b = await start(dark).catch((error) => { console.log(`not ok - ${name} does not start: ${error.message}`); failed++; return undefined; });
    if (b === undefined) continue;
    if (b === null) { console.log(`# ${name} is not installed: left out`); break; }
    tried++;
    try {
      if (!dark) {
        await check(b, process.argv[2]);
        await numbers(b, handsOn(b), reports, watched);
      }
      for (const width of [WIDTH, 390]) await look(b, dark, width, process.argv[2]);
    } catch (error) {
      failed++;
      console.log(`not ok - ${b.name}: ${error.message}`);
    } finally {
      await b.close();
    }
  }
}
if (!tried && !failed) console.log("# skipped: neither Firefox nor WebKitGTK is installed");
process.exitCode = failed ? 1 : tried ? 0 : 77;
