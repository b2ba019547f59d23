/** The text of a filter, changed by what was suggested, and shown with what is wrong in it. */
import type { FilterSuggestion } from "../api/types.gen";
import { visible } from "./text";

interface Place {
  start: number;
  end: number;
}

/** The new text, and where the cursor stands in it. The server counts characters, not halves of them. */
export function put(text: string, one: FilterSuggestion): [string, number] {
  const letters = [...text];
  const before = letters.slice(0, one.start).join("") + one.text;
  return [before + letters.slice(one.end).join(""), before.length];
}

export function withoutTerm(text: string, place: Place): [string, number] {
  const letters = [...text];
  const before = letters.slice(0, place.start).join("").trimEnd();
  const after = letters.slice(place.end).join("").trimStart();
  return [before && after ? `${before} ${after}` : before + after, before.length];
}

/** How many characters stand before the cursor, as the server counts them. */
export const place = (text: string, at: number): number => [...text.slice(0, at)].length;

export interface Pointed {
  before: string;
  word: string;
  after: string;
  carets: string;
}

const AROUND = 40;

/** Of a long filter, what stands around the wrong word. */
export function pointed(text: string, { start, end }: Place): Pointed {
  const letters = [...text];
  const cut = (from: number, to: number) => visible(letters.slice(from, to).join(""));
  const from = Math.max(0, start - AROUND);
  const before = (from ? "…" : "") + cut(from, start);
  const word = cut(start, Math.min(end, start + 2 * AROUND));
  return { before, word, after: cut(end, end + AROUND), carets: " ".repeat([...before].length) + "^".repeat(Math.max(1, [...word].length)) };
}

/** What is looked for, as words to mark: terms of the language are none. */
export function plainWords(text: string): string[] {
  const terms = text.match(/-?(?:[A-Za-z_]+(?::|[<>]=?|=))?(?:"[^"]*"|[^\s"])+/g) ?? [];
  return terms.filter((term) => !/^-|^[A-Za-z_]+(?::|[<>=])/.test(term)).map((term) => term.replace(/"/g, "").trim()).filter(Boolean);
}
