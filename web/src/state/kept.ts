/** Reading order in protocols whose tasks keep their own rows: by time, and a child where it was announced or asked for. */
import type { Artifact, LoggedEvent, Message, Reasoning, Task, ToolCall } from "../api/types.gen";
import type { Step } from "./logged";
import { momentOf, stepsOf } from "./logged";
import type { Piece } from "./pieces";
import { piecesOf } from "./pieces";
import type { Item, ToolUse } from "./transcript";
import { gathered } from "./transcript";

export type KeptItem =
  | { kind: "spoken"; key: string; side: Side; message: Message; pieces: Piece[]; again: number }
  | { kind: "note"; key: string; note: Reasoning }
  | { kind: "artifact"; key: string; artifact: Artifact; task: string }
  | { kind: "step"; key: string; step: Step };

export type Side = "human" | "prompt" | "agent" | "unknown" | "system";

export interface Rows {
  messages: Message[];
  tools: ToolCall[];
  reasoning: Reasoning[];
  events: LoggedEvent[];
}

const PROTOCOLS = ["a2a", "sam", "adcp"];
const LOGGED = "taskType"; // of every task of the event log, also where nobody gave it an id

/** The protocol of a task that keeps its rows; none: its words are in model calls. */
export function keptProtocol(task: Task): string | null {
  if (LOGGED in task.native) return "adcp";
  return task.refs.find((ref) => PROTOCOLS.includes(ref.protocol) && ["task", "call", "message"].includes(ref.kind))?.protocol ?? null;
}

interface Placed {
  at: string;
  /** Among things of one moment: what was said comes before what came of it. */
  rank: number;
  item: Item;
}

export function readKept(task: Task, rows: Rows, children: Task[]): Item[] {
  const spawned = new Set(rows.tools.flatMap((tool) => tool.spawned));
  const given = children.filter((child) => !spawned.has(child.id) && !rows.tools.some((tool) => tool.id === child.link?.via_id));
  const placed: Placed[] = [
    ...rows.messages.map((message) => ({ at: saidAt(message, rows.reasoning), rank: 0, item: spokenItem(message, task) })),
    ...rows.reasoning.filter(worthReading(rows.messages)).map((note, at) => ({ at: note.timestamp ?? "", rank: 0, item: noteItem(note, at) })),
    ...rows.tools.map((tool) => ({ at: tool.timestamp ?? "", rank: 1, item: toolItem(tool, children) })),
    ...given.map((child) => cardPlace(child, rows.messages)),
    ...(task.artifacts ?? []).map((artifact) => ({ at: artifact.timestamp ?? "", rank: 3, item: artifactItem(artifact, task) })),
    ...stepsOf(rows.events).map((step) => ({ at: momentOf(step), rank: 0, item: stepItem(step) })),
  ];
  placed.sort((one, other) => one.at.localeCompare(other.at) || one.rank - other.rank);
  return gathered(saidOnce(placed.map((one) => one.item)));
}

const SIDES: Record<string, Side> = { human: "human", system: "system", harness: "system" };

function spokenItem(message: Message, task: Task): Item {
  const own = message.role === "agent" || message.author_id === task.id;
  const side: Side = own ? "agent" : message.author === "agent" ? "prompt" : (SIDES[message.author] ?? "unknown");
  return { kind: "spoken", key: message.id, side, message, pieces: piecesOf(message.blocks, "\n"), again: 0 };
}

function noteItem(note: Reasoning, at: number): Item {
  const key = `${note.message_id ?? ""}.${note.kind}.${at}`;
  if (note.kind === "thinking") return { kind: "thinking", key, text: note.text, withheld: note.withheld, call: note.call };
  return { kind: "note", key, note };
}

const wordsOf = (message: Message): string => message.blocks.map((block) => (block as { text?: string }).text ?? "").join("\n").trim();

/** Where its words were told as an explanation before, it was said then: before the tools that it explains. */
function saidAt(message: Message, notes: Reasoning[]): string {
  const told = notes.findLast((note) => note.kind === "explanation" && note.text.trim() === wordsOf(message) && (note.timestamp ?? "") <= (message.timestamp ?? ""));
  return (told ?? message).timestamp ?? "";
}

/** A thought without words says only that a model was called; an explanation is often said once more as a message. */
function worthReading(messages: Message[]): (note: Reasoning) => boolean {
  const said = new Set(messages.map(wordsOf));
  return (note) => note.withheld || (note.text.trim() !== "" && !(note.kind === "explanation" && said.has(note.text.trim())));
}

const STATUSES: Record<ToolCall["status"], ToolUse["status"]> = { running: "running", ok: "ok", error: "error", canceled: "error", timed_out: "error", missing: "running" };

function toolItem(tool: ToolCall, children: Task[]): Item {
  const child = tool.spawned[0] ?? children.find((one) => one.link?.via_id === tool.id)?.id ?? null;
  const use: ToolUse = {
    id: tool.id, name: tool.name ?? "tool", input: tool.args, result: tool.result ?? tool.error ?? null,
    status: STATUSES[tool.status], child, call: tool.call, time: tool.timestamp,
  };
  return child ? { kind: "spawn", key: tool.id, tool: use } : { kind: "tools", key: tool.id, tools: [use], loops: 0 };
}

/** At the message that announced it; else where it began. */
function cardPlace(child: Task, messages: Message[]): Placed {
  const announced = messages.findLast((message) => message.observation !== null && message.observation !== undefined && child.link?.evidence.includes(message.observation));
  const use: ToolUse = { id: `began.${child.id}`, name: announced ? "announced" : "", input: null, result: null, status: "ok", child: child.id, call: null, time: child.opened };
  return { at: announced?.timestamp ?? child.opened ?? "", rank: 2, item: { kind: "spawn", key: use.id, tool: use } };
}

const artifactItem = (artifact: Artifact, task: Task): Item => ({ kind: "artifact", key: `artifact.${artifact.artifactId}`, artifact, task: task.id });
const stepItem = (step: Step): Item => ({ kind: "step", key: step.kind === "exchange" ? step.request.eventId : step.event.eventId, step });

/** The same words of the same agent right after each other (a stream's last, and its end's) are shown once, and counted. */
function saidOnce(items: Item[]): Item[] {
  const found: Item[] = [];
  for (const item of items) {
    const last = found.at(-1);
    if (item.kind === "spoken" && last?.kind === "spoken" && item.side === "agent" && last.side === "agent" && same(item.pieces, last.pieces)) last.again += 1;
    else found.push(item);
  }
  return found;
}

const trimmed = (piece: Piece): Piece => (piece.kind === "text" ? { ...piece, text: piece.text.trim() } : piece);
const same = (one: Piece[], other: Piece[]): boolean => JSON.stringify(one.map(trimmed)) === JSON.stringify(other.map(trimmed));
