/** What was captured is hostile: text is shown as text, with what could deceive the eye made visible. */

const COLOURS = /\u001b\[[0-9;]*m/g;
// Controls other than tab and newline, and marks that turn the direction of writing around.
const DECEIVING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

const NAMES: Record<number, string> = {
  0x202a: "LRE", 0x202b: "RLE", 0x202c: "PDF", 0x202d: "LRO", 0x202e: "RLO",
  0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI", 0x200e: "LRM", 0x200f: "RLM", 0xfeff: "BOM",
};

export function visible(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(COLOURS, "").replace(DECEIVING, mark);
}

function mark(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const name = NAMES[code];
  if (name) return `⟦${name}⟧`;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  return code === 0x7f ? "␡" : `⟦${code.toString(16).toUpperCase()}⟧`;
}

export interface Clipped {
  text: string;
  /** Lines, or characters where the lines are very long, that are not shown. */
  hiddenLines: number;
  hiddenCharacters: number;
}

export const LINES = 12;
export const CHARACTERS = 2_000;

/** The beginning of a text: some lines of it, and never more than some characters, however long a line is. */
export function clip(text: string, lines = LINES, characters = CHARACTERS): Clipped {
  let end = 0;
  for (let line = 0; line < lines && end >= 0; line += 1) end = text.indexOf("\n", end) + 1 || -1;
  let cut = end < 0 ? text : text.slice(0, end - 1);
  if (cut.length > characters) cut = cut.slice(0, characters);
  if (cut.length === text.length) return { text, hiddenLines: 0, hiddenCharacters: 0 };
  const rest = text.slice(cut.length);
  return { text: cut, hiddenLines: (rest.match(/\n/g) ?? []).length, hiddenCharacters: rest.length };
}

export function firstLine(text: string, length = 120): string {
  const line = visible(text.trimStart().split("\n", 1)[0] ?? "").slice(0, length + 1);
  return line.length > length ? `${line.slice(0, length)}…` : line;
}

/** Any JSON value for people: texts as they are, the rest indented. */
export function readable(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  return JSON.stringify(value, null, 2) ?? "";
}

/** The one argument of a tool that tells most. */
export function peek(input: unknown): string {
  if (typeof input === "string") return firstLine(input, 90);
  if (typeof input !== "object" || input === null) return "";
  const given = input as Record<string, unknown>;
  const telling = ["description", "command", "file_path", "path", "pattern", "query", "url", "prompt"];
  const name = telling.find((one) => typeof given[one] === "string") ?? Object.keys(given).find((one) => typeof given[one] === "string");
  return name ? firstLine(String(given[name]), 90) : "";
}
