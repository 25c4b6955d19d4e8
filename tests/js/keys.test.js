// Keys: each does one thing, and none where people type.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { keyAction } from "../../templates/js/keys.js";

// The help as the page has it: each row with its keys is what keyAction reads.
const html = readFileSync(new URL("../../templates/report.timeline.html", import.meta.url), "utf8");
const ROWS = [...html.matchAll(/<div data-keys="([^"]+)" data-do="([^"]+)"( data-focus)?><dt>(.*?)<\/dt><dd>(.*?)<\/dd><\/div>/g)].map(([, keys, act, focus, names, help]) =>
  ({ keys, do: act, ...(focus ? { focus: "" } : {}), names: [...names.matchAll(/<kbd>(.*?)<\/kbd>/g)].map((m) => m[1]), help }));
const KEYS = ROWS.map((r) => ({ ...r, keys: r.keys.split(" "), action: r.do }));
const keyOf = (...of) => keyAction(ROWS, ...of);

const press = (key, more = {}) => ({ key, ctrlKey: false, metaKey: false, altKey: false, ...more });

test("no key has two meanings, and every row has words", () => {
  const all = KEYS.flatMap((k) => k.keys);
  assert.equal(new Set(all).size, all.length);
  assert.equal(new Set(KEYS.map((k) => k.action)).size, KEYS.length);
  assert.equal(KEYS.length, html.split("data-keys").length - 1);
  for (const k of KEYS) {
    assert.ok(k.help.length > 3 && k.action);
    assert.deepEqual(k.names, k.keys.filter((key) => key !== "=").map((key) => key.replace("Arrow", "").replace("Escape", "Esc")), "what is written is what is pressed");
  }
});

test("the keys of the help do what it says", () => {
  const want = { a: "left", d: "right", w: "in", s: "out", f: "fit", p: "peak", P: "peak", o: "oom", n: "next", N: "previous", 0: "whole", "/": "search", ".": "step", ",": "back", "?": "help", Escape: "clear", b: "mark" };
  for (const [key, action] of Object.entries(want)) assert.equal(keyOf(press(key), false, false), action, key);
  for (const [key, action] of Object.entries({ ArrowLeft: "left", ArrowUp: "in", "+": "in", "-": "out", Enter: "pin" })) {
    assert.equal(keyOf(press(key), true, false), action);
    assert.equal(keyOf(press(key), false, false), null, `${key} belongs to the page while the timeline has no focus`);
  }
  for (const k of KEYS) for (const key of k.keys) assert.equal(keyOf(press(key), true, false), k.action, key);
});

test("not in a field, not with modifiers, not for other keys", () => {
  for (const k of KEYS) for (const key of k.keys) assert.equal(keyOf(press(key), false, true), key === "Escape" ? "clear" : null);
  for (const mod of ["ctrlKey", "metaKey", "altKey"]) assert.equal(keyOf(press("p", { [mod]: true }), true, false), null);
  for (const key of ["x", "F5", "Tab", " ", "Dead"]) assert.equal(keyOf(press(key), true, false), null, key);
});
