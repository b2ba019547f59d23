import { describe, expect, test } from "vitest";
import type { Part } from "./payload";
import { Exact, isPlain, lineDiff, parsed, partsOf, pictureOf, unified, wordsOf } from "./payload";

const shown = (part: Part | undefined) => part?.kind === "diff" && part.lines.map((line) => line.text).join("\n");
const kinds = (value: unknown) => partsOf(value).map((part) => part.kind);
const PNG = { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } };

describe("a value", () => {
  test("is told by what it is", () => {
    expect(kinds(null)).toEqual([]);
    expect(kinds("plain words")).toEqual(["code"]);
    expect(kinds('{"a": [1, 2]}')).toEqual(["json"]);
    expect(kinds("{not json")).toEqual(["code"]);
    expect(kinds([{ type: "text", text: "[1, 2]" }, PNG, { type: "text", text: "" }])).toEqual(["json", "picture"]);
    expect(kinds({ command: "ls" })).toEqual(["json"]);
    expect(kinds([1, 2])).toEqual(["json"]);
  });

  test("of a few short words needs no other way to be read", () => {
    expect([{ command: "ls", quiet: true }, { command: "a\nb" }, { deep: {} }, [1], { long: "x".repeat(300) }].map(isPlain)).toEqual([true, false, false, false, false]);
  });

  test("keeps numbers that a browser would change", () => {
    const value = parsed('{"id": 12345678901234567890, "small": 7, "one": 1.0}') as Record<string, unknown>;
    if (value.id instanceof Exact) expect(value.id.source).toBe("12345678901234567890"); // where the engine tells the source
    expect(value.small).toBe(7);
  });

  test("is never a picture by an address, of another format, or of other characters", () => {
    expect(pictureOf(PNG)).toEqual([{ type: "image/png", data: "iVBORw0KGgo=" }]);
    expect(pictureOf({ type: "image", mimeType: "image/webp", data: "AAAA" })).toHaveLength(1);
    expect(pictureOf({ type: "image", source: { type: "url", url: "https://evil.example/x.png" } })).toEqual([]);
    expect(pictureOf({ type: "image", source: { type: "base64", media_type: "image/svg+xml", data: "AAAA" } })).toEqual([]);
    expect(pictureOf({ type: "image", source: { type: "base64", media_type: "image/png", data: 'AA" onerror="x' } })).toEqual([]);
  });
});

describe("a change of a file", () => {
  test("is a diff of its lines, with the other arguments beside it", () => {
    const [diff, rest] = partsOf({ file_path: "a.py", old_string: "one\ntwo\nthree\n", new_string: "one\n2\nthree\n", replace_all: true });
    expect(diff).toMatchObject({ kind: "diff", name: "a.py" });
    expect(shown(diff)).toBe(" one\n-two\n+2\n three");
    expect(diff?.kind === "diff" && diff.text).toContain('"old_string": "one');
    expect(rest).toMatchObject({ kind: "json", value: { replace_all: true } });
    expect(partsOf({ path: "a", edits: [{ old_string: "a", new_string: "b" }, { old_string: "c", new_string: "" }] }).map(shown)).toEqual(["-a\n+b", "-c"]);
  });

  test("of very many lines goes and comes as a whole", () => {
    const [old, fresh] = [Array.from({ length: 2000 }, (_, at) => `a${at}`), Array.from({ length: 2000 }, (_, at) => `b${at}`)];
    expect(lineDiff(["same", ...old], ["same", ...fresh])).toHaveLength(4001);
  });

  test("is known by its form in a text, and a list with dashes is none", () => {
    expect(unified("diff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-gone\n stays")?.map((line) => line.kind)).toEqual(["place", "place", "place", "place", "place", "old", "same"]);
    expect(unified("- one\n- two")).toBeNull();
    expect(unified("some words\n@@ -1 +1 @@\n-a")).toBeNull();
  });
});

describe("words", () => {
  test("stay as they are, and what stands between fences is code, JSON or a diff", () => {
    const parts = wordsOf('Look:\n\n```json\n{"a": 1}\n```\nand\n```diff\n-x\n+y\n```\n```sh\nls\n```\nDone.');
    expect(parts.map((part) => (part.kind === "text" || part.kind === "code" ? part.text : part.kind))).toEqual(["Look:", "json", "and", "diff", "ls", "Done."]);
  });

  test("with a fence that is never closed are words", () => {
    expect(wordsOf("a\n```json\n{").map((part) => part.kind === "text" && part.text)).toEqual(["a\n```json\n{"]);
  });
});
