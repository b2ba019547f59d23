/** What a task that waits for somebody asks: the form that its agent described, else words. */
import type { Message, Task } from "../api/types.gen";
import { keptProtocol } from "./kept";
import { schemaOf } from "./pieces";
import type { Shape } from "./schema";
import { isShape } from "./schema";

export interface Question {
  kind: "input" | "login";
  /** Of the form; null: any words will do. */
  schema: Shape | null;
  /** Addresses that the question names, for a login elsewhere. */
  links: string[];
}

const MOST_LINKS = 10;
const ADDRESS = /https?:\/\/[^\s"'<>()\\]+/g;

/** Null while nobody is asked. Only A2A's tasks take an answer. */
export function questionOf(task: Task, messages: Message[]): Question | null {
  if (keptProtocol(task) !== "a2a" || (task.status !== "input-required" && task.status !== "auth-required")) return null;
  const last = messages.findLast((message) => message.role === "agent");
  const asked = isShape(task.native.question) ? task.native.question : {};
  if (task.status === "auth-required") return { kind: "login", schema: null, links: linksOf([last?.blocks ?? [], asked]) };
  const own = isShape(asked.schema) ? asked.schema : null;
  return { kind: "input", schema: own ?? (last?.blocks ?? []).map(schemaOf).find((schema) => schema !== null) ?? null, links: [] };
}

/** Plain web addresses; nothing else is ever a link. */
function linksOf(where: unknown): string[] {
  const found = JSON.stringify(where).match(ADDRESS) ?? [];
  return [...new Set(found.map((link) => link.replace(/[.,;:!?]+$/, "")))].slice(0, MOST_LINKS);
}
