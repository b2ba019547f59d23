import { expect, test } from "vitest";
import { place, plainWords, pointed, put, withoutTerm } from "./filter";

test("a suggestion takes the place of what it completes, and the cursor stands behind it", () => {
  expect(put("is:root st", { start: 8, end: 10, text: "status:", meaning: "" })).toEqual(["is:root status:", 15]);
  expect(put("agent:w is:root", { start: 6, end: 7, text: "WeatherAgent", meaning: "" })).toEqual(["agent:WeatherAgent is:root", 18]);
  expect(put("🦊 st", { start: 2, end: 4, text: "status:", meaning: "" })).toEqual(["🦊 status:", 10]);
  expect(place("🦊 st", 5)).toBe(4);
});

test("a term is taken out with the space that parted it", () => {
  expect(withoutTerm("is:root status:failed tea", { start: 8, end: 21 })).toEqual(["is:root tea", 7]);
  expect(withoutTerm("is:root", { start: 0, end: 7 })).toEqual(["", 0]);
});

test("carets stand under the wrong word, also in a long filter", () => {
  expect(pointed("is:root statsu:x tea", { start: 8, end: 16 })).toEqual({ before: "is:root ", word: "statsu:x", after: " tea", carets: "        ^^^^^^^^" });
  const long = pointed(`${"a ".repeat(100)}b:c`, { start: 200, end: 203 });
  expect([long.before.length, long.carets.trim()]).toEqual([41, "^^^"]);
});

test("only words are marked in what was found", () => {
  expect(plainWords('tea "garden leave" agent:HR* -draft cost>0.5 tool:"a b"')).toEqual(["tea", "garden leave"]);
});
