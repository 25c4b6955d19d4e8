// Keys: each does one thing, and none where people type.
import assert from "node:assert/strict";
import { test } from "node:test";
import { keyAction, KEYS } from "../../templates/js/keys.js";

const press = (key, more = {}) => ({ key, ctrlKey: false, metaKey: false, altKey: false, ...more });

test("no key has two meanings, and every row has words", () => {
  const all = KEYS.flatMap((k) => k.keys);
  assert.equal(new Set(all).size, all.length);
  assert.equal(new Set(KEYS.map((k) => k.action)).size, KEYS.length);
  for (const k of KEYS) assert.ok(k.help.length > 3 && k.action);
});

test("the keys of the help do what it says", () => {
  const want = { a: "left", d: "right", w: "in", s: "out", f: "fit", p: "peak", P: "peak", o: "oom", n: "next", N: "previous", 0: "whole", "/": "search", ".": "step", ",": "back", "?": "help", Escape: "clear", b: "mark" };
  for (const [key, action] of Object.entries(want)) assert.equal(keyAction(press(key), false, false), action, key);
  for (const [key, action] of Object.entries({ ArrowLeft: "left", ArrowUp: "in", "+": "in", "-": "out", Enter: "pin" })) {
    assert.equal(keyAction(press(key), true, false), action);
    assert.equal(keyAction(press(key), false, false), null, `${key} belongs to the page while the timeline has no focus`);
  }
  for (const k of KEYS) for (const key of k.keys) assert.equal(keyAction(press(key), true, false), k.action, key);
});

test("not in a field, not with modifiers, not for other keys", () => {
  for (const k of KEYS) for (const key of k.keys) assert.equal(keyAction(press(key), false, true), key === "Escape" ? "clear" : null);
  for (const mod of ["ctrlKey", "metaKey", "altKey"]) assert.equal(keyAction(press("p", { [mod]: true }), true, false), null);
  for (const key of ["x", "F5", "Tab", " ", "Dead"]) assert.equal(keyAction(press(key), true, false), null, key);
});
