/** Reading order: prompt, then turns of reasoning, words and tools, with sub-tasks where they were started. */
import type { Call, Message, Task } from "../api/types.gen";
import type { KeptItem } from "./kept";
import type { Picture } from "./payload";
import { pictureOf } from "./payload";
import { readable } from "./text";

export interface ToolUse {
  id: string;
  name: string;
  input: unknown;
  result: unknown;
  status: "running" | "ok" | "error";
  child: string | null;
  call: string | null;
  time: string | null;
}

export type Item =
  | { kind: "said"; key: string; author: "human" | "agent" | "system" | "unknown"; message: Message; text: string; pictures: Picture[] }
  | { kind: "harness"; key: string; message: Message; text: string }
  | { kind: "prompt"; key: string; message: Message; text: string }
  | { kind: "thinking"; key: string; text: string; withheld: boolean; call: string | null }
  | { kind: "words"; key: string; text: string; call: string | null }
  | { kind: "tools"; key: string; tools: ToolUse[]; loops: number }
  | { kind: "spawn"; key: string; tool: ToolUse }
  | { kind: "trouble"; key: string; call: Call; retries: number }
  | KeptItem;

interface Block {
  type?: string;
  text?: string;
  thinking?: string;
  data?: string;
  id?: string;
  name?: string;
  input?: unknown;
  input_text?: unknown;
  tool_use_id?: string;
  content?: unknown;
  is_error?: boolean;
  source?: { type?: string; media_type?: string; data?: string };
}

export const REPEATED = 3; // worth a word; whether a task loops, the server says
const blocksOf = (message: Message): Block[] => message.blocks as Block[];

/** `children` are the tasks that this one gave; they stand at the call that started them, or else where they began. */
export function readTranscript(messages: Message[], calls: Call[], children: Task[]): Item[] {
  const results = resultsOf(messages);
  const spawned = new Map(children.filter((child) => child.link?.via).map((child) => [child.link?.via ?? "", child.id]));
  const items: Item[] = [];
  const troubles = troublesOf(calls);
  const strays = straysOf(children);
  for (const message of messages) {
    while (strays[0] && (message.timestamp ?? "") > (strays[0].opened ?? "")) items.push(cardOf(strays.shift() as Task));
    const trouble = troubles.get(message.call ?? "");
    if (trouble && message.role === "assistant") items.push(trouble);
    if (message.role === "assistant") readAnswer(message, results, spawned, items);
    else readQuestion(message, items);
  }
  const answered = new Set(messages.filter((message) => message.role === "assistant").map((message) => message.call));
  items.push(...strays.map(cardOf));
  for (const [call, trouble] of troubles) if (!answered.has(call)) items.push(trouble);
  return gathered(items);
}

/** Children of which no tool call here is known to have started them, as they began. */
function straysOf(children: Task[]): Task[] {
  const strays = children.filter((child) => !child.link?.via);
  return strays.sort((one, other) => (one.opened ?? "").localeCompare(other.opened ?? ""));
}

function cardOf(child: Task): Item {
  const tool: ToolUse = { id: `began.${child.id}`, name: "", input: null, result: null, status: "ok", child: child.id, call: null, time: child.opened };
  return { kind: "spawn", key: tool.id, tool };
}

function resultsOf(messages: Message[]): Map<string, Block> {
  const found = new Map<string, Block>();
  for (const message of messages) {
    for (const block of blocksOf(message)) if (block.tool_use_id && !found.has(block.tool_use_id)) found.set(block.tool_use_id, block);
  }
  return found;
}

/** Calls that failed or were cut short, and attempts of one call told as one. */
function troublesOf(calls: Call[]): Map<string, Item & { kind: "trouble" }> {
  const found = new Map<string, Item & { kind: "trouble" }>();
  for (const call of calls) {
    const retries = calls.filter((other) => other.attempt_of === call.id).length;
    if (call.attempt_of || (retries === 0 && call.status !== "error" && call.status !== "aborted")) continue;
    found.set(call.id, { kind: "trouble", key: `${call.id}.trouble`, call, retries });
  }
  return found;
}

function readQuestion(message: Message, items: Item[]): void {
  const blocks = blocksOf(message).filter((block) => block.type !== "tool_result");
  const text = blocks.map((block) => block.text ?? (block.type === "image" ? "" : readable(block))).join("\n").trim();
  const pictures = blocks.flatMap(pictureOf);
  if (!text && !pictures.length) return;
  const key = message.id;
  if (message.author === "harness") items.push({ kind: "harness", key, message, text });
  else if (message.author === "agent") items.push({ kind: "prompt", key, message, text });
  else if (message.author !== "tool") items.push({ kind: "said", key, author: message.author, message, text, pictures });
}

function readAnswer(message: Message, results: Map<string, Block>, spawned: Map<string, string>, items: Item[]): void {
  blocksOf(message).forEach((block, at) => {
    const key = `${message.id}.${at}`;
    if (block.type === "thinking" || block.type === "redacted_thinking") {
      items.push({ kind: "thinking", key, text: block.thinking ?? "", withheld: !block.thinking, call: message.call });
    } else if (block.type === "text" && block.text?.trim()) {
      items.push({ kind: "words", key, text: block.text, call: message.call });
    } else if (block.type?.endsWith("tool_use") && block.id) {
      const tool = toolOf(block, results.get(block.id), spawned.get(block.id) ?? null, message);
      items.push(tool.child ? { kind: "spawn", key, tool } : { kind: "tools", key, tools: [tool], loops: 0 });
    }
  });
}

function toolOf(block: Block, result: Block | undefined, child: string | null, message: Message): ToolUse {
  return {
    id: block.id ?? "",
    name: block.name ?? "tool",
    input: block.input ?? block.input_text,
    result: result?.content ?? null,
    status: !result ? "running" : result.is_error ? "error" : "ok",
    child,
    call: message.call,
    time: message.timestamp,
  };
}

/** Tool calls that follow each other are one block; the same call again and again is said to be the same. */
export function gathered(items: Item[]): Item[] {
  const found: Item[] = [];
  for (const item of items) {
    const last = found.at(-1);
    if (item.kind === "tools" && last?.kind === "tools") last.tools.push(...item.tools);
    else found.push(item.kind === "tools" ? { ...item, tools: [...item.tools] } : item);
  }
  for (const item of found) if (item.kind === "tools") item.loops = longestLoop(item.tools);
  return found;
}

export function longestLoop(tools: ToolUse[]): number {
  let longest = 1;
  let run = 1;
  for (let at = 1; at < tools.length; at += 1) {
    const same = tools[at]?.name === tools[at - 1]?.name && JSON.stringify(tools[at]?.input) === JSON.stringify(tools[at - 1]?.input);
    run = same ? run + 1 : 1;
    longest = Math.max(longest, run);
  }
  return longest;
}

/** "5 tools: Read ×3, Bash ×2, 1 failed" */
export function toolSummary(tools: ToolUse[]): string {
  const names = new Map<string, number>();
  for (const tool of tools) names.set(tool.name, (names.get(tool.name) ?? 0) + 1);
  const told = [...names].map(([name, times]) => (times > 1 ? `${name} ×${times}` : name));
  const failed = tools.filter((tool) => tool.status === "error").length;
  return [...told, ...(failed ? [`${failed} failed`] : [])].join(", ");
}
