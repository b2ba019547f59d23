/** What a captured value is for a reader: words, code, a JSON tree, a diff or a picture. Never markup. */
import { readable } from "./text";

export interface Picture {
  type: string;
  data: string;
}

export interface DiffLine {
  kind: "same" | "old" | "new" | "place";
  text: string;
}

export type Part =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "json"; value: unknown; text: string }
  | { kind: "diff"; lines: DiffLine[]; text: string; name: string }
  | { kind: "picture"; picture: Picture };

/** A number that a browser would change; shown as it was written. */
export class Exact {
  constructor(readonly source: string) {}
}

const LARGEST_JSON = 2_000_000;
const SAFE_PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const BASE64 = /^[A-Za-z0-9+/\s]+={0,2}\s*$/;

interface Block {
  type?: unknown;
  text?: unknown;
  source?: { type?: unknown; media_type?: unknown; data?: unknown };
  data?: unknown;
  mimeType?: unknown;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

/** Only four plain formats, and only where the bytes themselves are there: an address is never loaded. */
export function pictureOf(value: unknown): Picture[] {
  if (!isObject(value) || value.type !== "image") return [];
  const { source, data, mimeType } = value as Block;
  const [type, bytes] = source?.type === "base64" ? [source.media_type, source.data] : [mimeType, data];
  if (typeof type !== "string" || typeof bytes !== "string" || !SAFE_PICTURES.includes(type) || !BASE64.test(bytes)) return [];
  return [{ type, data: bytes }];
}

/** What a tool was given, or gave back. */
export function partsOf(value: unknown): Part[] {
  if (value === null || value === undefined || value === "") return [];
  if (typeof value === "string") return [textPart(value)];
  if (Array.isArray(value) && value.length > 0 && value.every(isBlock)) return value.flatMap(blockParts);
  if (isObject(value)) return [...editsOf(value), ...rest(value)];
  return [jsonPart(value)];
}

function isBlock(value: unknown): boolean {
  return isObject(value) && typeof value.type === "string";
}

function blockParts(block: Block): Part[] {
  if (block.type === "text" && typeof block.text === "string") return block.text ? [textPart(block.text)] : [];
  const pictures = pictureOf(block);
  return pictures.length ? pictures.map((picture) => ({ kind: "picture", picture })) : [jsonPart(block)];
}

function textPart(text: string): Part {
  const value = parsed(text);
  if (value !== undefined) return { kind: "json", value, text };
  const lines = unified(text);
  return lines ? { kind: "diff", lines, text, name: "" } : { kind: "code", text };
}

const FEW = 4;

/** Some short words and numbers by name are as plain as they can be. */
export function isPlain(value: unknown): boolean {
  if (!isObject(value)) return false;
  const fields = Object.values(value);
  return fields.length <= FEW && fields.every((field) => (typeof field === "string" ? field.length <= 200 && !field.includes("\n") : typeof field !== "object" || field === null));
}

const jsonPart = (value: unknown): Part => ({ kind: "json", value, text: readable(value) });

type Reviver = (this: unknown, key: string, value: unknown, context?: { source?: string }) => unknown;

/** An object or a list that is all of the text; undefined for anything else. */
export function parsed(text: string): unknown {
  if (text.length > LARGEST_JSON || !/^\s*[{[]/.test(text)) return undefined;
  const exact: Reviver = (_key, value, context) => (typeof value === "number" && context?.source && String(value) !== context.source ? new Exact(context.source) : value);
  try {
    return JSON.parse(text, exact) as unknown;
  } catch {
    return undefined;
  }
}

// -- diffs --------------------------------------------------------------------------------------------------------------

const PLACE = /^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@/;

/** The lines of a text that is a unified diff; null for any other. */
export function unified(text: string): DiffLine[] | null {
  if (!/^@@ -\d/m.test(text)) return null;
  const lines = text.replace(/\n$/, "").split("\n");
  const first = lines.findIndex((line) => PLACE.test(line));
  if (first < 0 || !lines.slice(0, first).every((line) => line === "" || HEAD.test(line))) return null;
  return lines.map((line) => ({ kind: kindOf(line), text: line }));
}

const HEAD = /^(diff |index |--- |\+\+\+ |old mode|new mode|new file|deleted file|similarity|rename |copy |Binary )/;

function kindOf(line: string): DiffLine["kind"] {
  if (PLACE.test(line) || HEAD.test(line)) return "place";
  return line.startsWith("+") ? "new" : line.startsWith("-") ? "old" : "same";
}

const PAIRS: [string, string][] = [["old_string", "new_string"], ["old_str", "new_str"], ["old", "new"]];
const NAMES = ["file_path", "path", "notebook_path"];

/** Tools that change a file say what it was and what it becomes. */
function editsOf(input: Record<string, unknown>): Part[] {
  const name = NAMES.map((field) => input[field]).find((field) => typeof field === "string") ?? "";
  const edits = Array.isArray(input.edits) ? input.edits.filter(isObject) : [input];
  return edits.flatMap((edit) => {
    const pair = pairOf(edit);
    return pair ? [changed(edit, pair, name as string)] : [];
  });
}

function pairOf(edit: Record<string, unknown>): [string, string] | undefined {
  return PAIRS.find(([old, fresh]) => typeof edit[old] === "string" && typeof edit[fresh] === "string");
}

/** What is not part of a change; nothing, where that would only be the name of the file. */
function rest(input: Record<string, unknown>): Part[] {
  const whole = Array.isArray(input.edits) && input.edits.length > 0 && input.edits.every((edit) => isObject(edit) && pairOf(edit));
  const pair = pairOf(input);
  if (!pair && !whole) return [jsonPart(input)];
  const told: string[] = [...(pair ?? []), ...(whole ? ["edits"] : []), ...NAMES];
  const left = Object.entries(input).filter(([field]) => !told.includes(field));
  return left.length ? [jsonPart(Object.fromEntries(left))] : [];
}

function changed(edit: Record<string, unknown>, [old, fresh]: [string, string], name: string): Part {
  return { kind: "diff", lines: lineDiff(split(edit[old] as string), split(edit[fresh] as string)), text: readable(edit), name };
}

const split = (text: string): string[] => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));
const LARGEST_TABLE = 1_000_000;

/** Lines that both have stay, the others go or come. Where both are very long, what differs goes and comes as a whole. */
export function lineDiff(old: string[], fresh: string[]): DiffLine[] {
  let start = 0;
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < fresh.length - start && old[old.length - 1 - end] === fresh[fresh.length - 1 - end]) end += 1;
  const same = (line: string): DiffLine => ({ kind: "same", text: ` ${line}` });
  return [
    ...old.slice(0, start).map(same),
    ...middle(old.slice(start, old.length - end), fresh.slice(start, fresh.length - end)),
    ...old.slice(old.length - end).map(same),
  ];
}

function middle(old: string[], fresh: string[]): DiffLine[] {
  const gone = (line: string): DiffLine => ({ kind: "old", text: `-${line}` });
  const come = (line: string): DiffLine => ({ kind: "new", text: `+${line}` });
  if (old.length * fresh.length > LARGEST_TABLE) return [...old.map(gone), ...fresh.map(come)];
  const width = fresh.length + 1;
  const longest = new Uint32Array((old.length + 1) * width);
  const at = (i: number, j: number): number => longest[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = fresh.length - 1; j >= 0; j -= 1) longest[i * width + j] = old[i] === fresh[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  }
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < fresh.length) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) {
      lines.push({ kind: "same", text: ` ${old[i]}` });
      i += 1;
      j += 1;
    } else if (i < old.length && (j >= fresh.length || at(i + 1, j) >= at(i, j + 1))) lines.push(gone(old[i++] as string));
    else lines.push(come(fresh[j++] as string));
  }
  return lines;
}

// -- words ---------------------------------------------------------------------------------------------------------------

const FENCE = /^(?: {0,3})(`{3,}|~{3,})([^\n`]*)$/;

/** What somebody wrote: words as they are, and between fences code, JSON or a diff. */
export function wordsOf(text: string): Part[] {
  const whole = parsed(text);
  if (whole !== undefined) return [{ kind: "json", value: whole, text }];
  const parts: Part[] = [];
  let words: string[] = [];
  let fence: { mark: string; language: string; lines: string[]; opening: string } | null = null;
  const flush = () => {
    const said = words.join("\n").replace(/^\n+|\n+$/g, "");
    if (said) parts.push({ kind: "text", text: said });
    words = [];
  };
  for (const line of text.split("\n")) {
    const [, mark = "", language = ""] = FENCE.exec(line) ?? [];
    if (fence && mark.startsWith(fence.mark) && !language.trim()) {
      flush();
      parts.push(fenced(fence.language, fence.lines.join("\n")));
      fence = null;
    } else if (fence) fence.lines.push(line);
    else if (mark) fence = { mark, language: language.trim().toLowerCase(), lines: [], opening: line };
    else words.push(line);
  }
  if (fence) words.push(fence.opening, ...fence.lines); // never closed: then it is no fence
  flush();
  return parts;
}

function fenced(language: string, text: string): Part {
  if (language === "diff" || language === "patch") {
    return { kind: "diff", lines: text.split("\n").map((line) => ({ kind: kindOf(line), text: line })), text, name: "" };
  }
  return textPart(text);
}
