/** A run that was saved into a file: the answers that its page needs, made from what the file holds. */
import type { Artifact, Call, Completeness, Conversation, LoggedEvent, Message, Reasoning, Skeleton, Task, ToolCall, Why } from "../api/types.gen";

export interface Snapshot {
  version: number;
  entity: "task" | "conversation" | "operation";
  id: string;
  title: string;
  left_out: string[];
  skeleton: Skeleton;
  conversation: Conversation | null;
  completeness: Completeness;
  tasks: Record<string, Task>;
  messages: Record<string, Message[]>;
  tools: Record<string, ToolCall[]>;
  reasoning: Record<string, Reasoning[]>;
  artifacts: Record<string, Artifact[]>;
  calls: Record<string, Call[]>;
  events: Record<string, LoggedEvent[]>;
  why: Record<string, Why>;
  bodies: Record<string, string>;
}

export interface Answer {
  status: number;
  body: unknown;
}

const found = (body: unknown): Answer => ({ status: 200, body });
const listed = (items: unknown[]): Answer => found({ seq: 0, items, next: null });

export function missing(what: string): Answer {
  return { status: 404, body: { error: { code: "not_saved", message: `${what} is not in this file`, hint: "Open the run where it was recorded" } } };
}

type Rows = Skeleton["rows"];

/** Columns of one task and everything under it; they follow each other. */
export function subtree(skeleton: Skeleton, id: string): Skeleton | null {
  for (const rows of [skeleton.rows, skeleton.unattached]) {
    const at = rows.id.indexOf(id);
    if (at >= 0) return { ...skeleton, n: rows.size[at] ?? 1, rows: cut(rows, at, at + (rows.size[at] ?? 1)), unattached: cut(rows, 0, 0) };
  }
  return null;
}

function cut(rows: Rows, from: number, to: number): Rows {
  const above = rows.depth[from] ?? 0;
  const within = (at: number) => at >= from && at < to;
  const columns = Object.entries(rows).map(([name, column]) => [name, (column as unknown[]).slice(from, to)]);
  return {
    ...(Object.fromEntries(columns) as Rows),
    depth: rows.depth.slice(from, to).map((depth) => depth - above),
    open: rows.open.filter(within).map((at) => at - from),
    active: rows.active.filter((_, nth) => within(rows.open[nth] ?? -1)),
  };
}

export class SavedRun {
  constructor(private readonly run: Snapshot) {}

  answer(url: string): Answer {
    const { pathname, searchParams } = new URL(url, "http://saved.invalid");
    const [kind = "", id = "", part = ""] = pathname.replace(/^\/api\//, "").split("/").map(decodeURIComponent);
    switch (kind) {
      case "tasks":
        return id ? this.task(id, part, searchParams.get("tree") === "true") : this.some(searchParams);
      case "titles":
        return this.some(searchParams);
      case "conversations":
        return this.conversation(id, part);
      case "calls":
        return id ? this.call(id, part) : this.calls(searchParams);
      case "tools":
        return this.tool(id);
      default:
        return missing("This");
    }
  }

  private some(given: URLSearchParams): Answer {
    const ids = (given.get("ids") ?? "").split(",");
    return listed(ids.flatMap((id) => this.run.tasks[id] ?? []));
  }

  private task(id: string, part: string, tree: boolean): Answer {
    const call = this.every("calls").find((one) => one.id === id);
    if (call && part === "messages") return listed((this.run.messages[call.task ?? ""] ?? []).filter((message) => message.call === id));
    const task = this.run.tasks[id];
    if (part === "why") return this.run.why[id] ? found({ seq: 0, ...this.run.why[id] }) : missing("Why this is linked");
    if (part === "completeness") return id === this.run.id ? found({ seq: 0, ...this.run.completeness }) : missing("What is not known of this part");
    if (!task && id !== this.run.conversation?.id) return missing("This task");
    switch (part) {
      case "":
        return task ? found({ seq: 0, ...task }) : missing("This task");
      case "tree":
        return found(subtree(this.run.skeleton, id));
      case "subtasks":
        return listed(this.children(id));
      case "messages":
      case "tools":
      case "reasoning":
      case "artifacts":
      case "events":
        return listed((tree || !task ? this.under(id) : [id]).flatMap<unknown>((one) => this.run[part][one] ?? []));
      default:
        return missing("This view");
    }
  }

  private conversation(id: string, part: string): Answer {
    const shape = this.run.conversation;
    if (!shape || shape.id !== id) return missing("The rest of its conversation");
    return part === "tree" ? found(this.run.skeleton) : found({ seq: 0, ...shape });
  }

  private calls(given: URLSearchParams): Answer {
    const task = given.get("task");
    const all = task ? (this.run.calls[task] ?? []) : this.every("calls");
    return listed([...all].sort((one, other) => (other.opened ?? "").localeCompare(one.opened ?? "")));
  }

  private call(id: string, part: string): Answer {
    const call = this.every("calls").find((one) => one.id === id);
    if (!call) return missing("This call");
    if (!part) return found({ seq: 0, ...call });
    const body = this.run.bodies[`${id}/${part}`];
    return body === undefined ? missing(`The ${part} as it was on the wire`) : found(body);
  }

  private tool(id: string): Answer {
    const tool = this.every("tools").find((one) => one.id === id || one.call_id === id);
    return tool ? found({ seq: 0, ...tool }) : missing("This tool call");
  }

  private every<Name extends "calls" | "tools">(name: Name): Snapshot[Name][string] {
    return Object.values(this.run[name]).flat() as Snapshot[Name][string];
  }

  private under(id: string): string[] {
    if (id === this.run.conversation?.id) return [...this.run.skeleton.rows.id, ...this.run.skeleton.unattached.id];
    return subtree(this.run.skeleton, id)?.rows.id ?? [id];
  }

  private children(id: string): Task[] {
    const rows = subtree(this.run.skeleton, id)?.rows;
    return rows ? rows.id.filter((_, at) => rows.depth[at] === 1).flatMap((one) => this.run.tasks[one] ?? []) : [];
  }
}
