/** Everything that happened in a run, by time: a lane for each agent, and arrows where work was given and came back. */
import type { FlowEvent } from "../api/types.gen";

export const PERSON = "a person";

export interface FlowRow {
  key: string;
  event: FlowEvent;
  /** Where it stands; for an arrow, where that ends. */
  lane: number;
  /** Where an arrow begins; null: there is none. */
  from: number | null;
  /** What to look at when it is chosen: `tool:ID`, `call:ID`, `task:ID`. */
  selects: string | null;
}

export interface FlowPicture {
  lanes: string[];
  rows: FlowRow[];
}

/** Lanes stand in the order in which their agents first did something; whoever asked stands first. */
export function flowPicture(events: FlowEvent[]): FlowPicture {
  const agents = new Map<string, string>(); // of each task
  const parents = new Map<string, string>();
  const prompts = new Map<string, string>();
  for (const event of events) {
    if (event.kind === "request" && event.task) {
      agents.set(event.task, event.agent_name || "agent");
      if (event.text) prompts.set(event.task, event.text);
    }
    if (event.kind === "subtask" && event.id && event.task) parents.set(event.id, event.task);
  }
  const lanes: string[] = [];
  const lane = (name: string): number => {
    if (!lanes.includes(name)) lanes.push(name);
    return lanes.indexOf(name);
  };
  const above = (task: string | null): string => (task && parents.has(task) ? (agents.get(parents.get(task) ?? "") ?? "agent") : PERSON);
  const own = (event: FlowEvent): string => agents.get(event.task ?? "") ?? event.agent_name ?? "agent";
  const rows: FlowRow[] = [];
  events.forEach((event, at) => {
    if (event.kind === "request" && event.task && parents.has(event.task)) return; // it is told where the sub-task is given
    if (event.kind === "other" && !event.text) return; // that a model was given something stands at its call
    const made = { key: `${at}`, event, selects: selectsOf(event) };
    if (event.kind === "request") {
      const from = event.author === "human" ? lane(PERSON) : null;
      rows.push({ ...made, lane: lane(own(event)), from });
    } else if (event.kind === "subtask") {
      const from = lane(agents.get(event.task ?? "") ?? "agent");
      rows.push({ ...made, event: { ...event, text: prompts.get(event.id ?? "") ?? event.text }, lane: lane(agents.get(event.id ?? "") ?? event.agent_name ?? "agent"), from });
    } else if (event.kind === "end" && (parents.has(event.task ?? "") || lanes.includes(PERSON))) {
      rows.push({ ...made, lane: lane(above(event.task)), from: lane(own(event)) });
    } else rows.push({ ...made, lane: lane(own(event)), from: null });
  });
  return { lanes, rows };
}

function selectsOf(event: FlowEvent): string | null {
  if (event.kind === "tool_call") return `tool:${event.id ?? event.call_id ?? ""}`;
  if (event.kind === "model_call" || event.kind === "error") return event.id?.startsWith("call_") ? `call:${event.id}` : event.task && `task:${event.task}`;
  if (event.kind === "subtask") return event.id && `task:${event.id}`;
  return event.task && `task:${event.task}`;
}

/** How often each kind is there, most first. */
export function kindsOf(rows: FlowRow[]): [string, number][] {
  const found = new Map<string, number>();
  for (const { event } of rows) found.set(event.kind, (found.get(event.kind) ?? 0) + 1);
  return [...found].sort(([, one], [, other]) => other - one);
}

export function fitting(rows: FlowRow[], kind: string, words: string): FlowRow[] {
  const wanted = words.toLowerCase();
  return rows.filter(({ event }) => (!kind || event.kind === kind) && (!wanted || `${event.kind} ${event.agent_name ?? ""} ${event.text ?? ""} ${event.status ?? ""}`.toLowerCase().includes(wanted)));
}
