/** Operations over many agents: which need somebody, how far each agent is, and what was said by whom. */
import type { AgentShare, LoggedEvent, Operation, OperationDetail, Task } from "../api/types.gen";
import { count } from "./format";
import type { Step } from "./logged";
import { stepsOf } from "./logged";
import { isDone, isFailed } from "./status";

const URGENT = ["input-required", "auth-required", "working", "submitted", "pending", "unknown"];
const rank = (status: string): number => (URGENT.includes(status) ? URGENT.indexOf(status) : URGENT.length);

export const isOpen = (operation: Operation): boolean => URGENT.includes(operation.status);

/** Open ones first, and of those what most needs somebody; then the last that moved. */
export function ordered(operations: Operation[]): Operation[] {
  return [...operations].sort((one, other) => Number(isOpen(other)) - Number(isOpen(one)) || (other.updatedAt ?? "").localeCompare(one.updatedAt ?? ""));
}

const sum = (counts: Record<string, number>, which: (status: string) => boolean): number =>
  Object.entries(counts).reduce((total, [status, number]) => total + (which(status) ? number : 0), 0);

export const endedOf = (share: { statusCounts: Record<string, number> }): number => sum(share.statusCounts, isDone);
export const failedOf = (share: { statusCounts: Record<string, number> }): number => sum(share.statusCounts, isFailed);
export const openTasks = (operation: Operation): number => sum(operation.statusCounts, (status) => !isDone(status));

/** "3 agents: 2 completed, 1 working, 9 events" */
export function headline(operation: Operation): string {
  const states = new Map<string, number>();
  for (const share of Object.values(operation.byAgent)) states.set(share.status, (states.get(share.status) ?? 0) + 1);
  const told = [...states].sort(([one], [other]) => rank(other) - rank(one)).map(([status, number]) => `${number} ${status}`);
  return `${count(operation.agents.length, "agent")}: ${[...told, count(operation.eventCount, "event")].join(", ")}`;
}

/** "3 creatives, 1 product": what the tasks made or changed. */
export function objectWords(operation: Operation): string {
  return Object.entries(operation.objectTypes).map(([kind, number]) => count(number, kind)).join(", ");
}

export interface AgentLine {
  agent: string;
  share: AgentShare | null;
  tasks: Task[];
  steps: Step[];
  events: number;
  flags: string[];
}

/** What each agent was asked and said, in the order in which agents came; what names none stands last, under "". */
export function agentLines(detail: OperationDetail): AgentLine[] {
  const names = new Set([...Object.keys(detail.operation?.byAgent ?? {}), ...detail.events.map((event) => event.agentId ?? "")]);
  const lines = [...names].map((agent) => lineOf(agent, detail));
  const first = (line: AgentLine) => line.share?.firstAt ?? "9";
  return lines.sort((one, other) => Number(one.agent === "") - Number(other.agent === "") || first(one).localeCompare(first(other)));
}

function lineOf(agent: string, detail: OperationDetail): AgentLine {
  const events = detail.events.filter((event) => (event.agentId ?? "") === agent);
  const tasks = detail.tasks.filter((task) => (task.agent ?? "") === agent);
  return {
    agent,
    share: detail.operation?.byAgent[agent] ?? null,
    tasks,
    steps: stepsOf(events),
    events: events.length,
    flags: [...new Set([...tasks.flatMap((task) => task.flags), ...events.flatMap((event) => event.flags)])].sort(),
  };
}

export interface Wanted {
  operation: string;
  agent: string;
  kind: string;
  status: string;
  source: string;
  /** Only what the store took at this time or later. */
  since: string;
}

/** What the address of the feed asks for; "-" is what names no operation. */
export function fits(event: LoggedEvent, wanted: Wanted): boolean {
  const operation = wanted.operation === "-" ? "" : wanted.operation;
  return (
    (!wanted.operation || (event.operationId ?? "") === operation) &&
    (!wanted.agent || event.agentId === wanted.agent) &&
    (!wanted.kind || event.eventType === wanted.kind) &&
    (!wanted.status || event.status === wanted.status) &&
    (!wanted.source || event.source === wanted.source) &&
    (!wanted.since || Date.parse(event.recordedAt ?? "") >= Date.parse(wanted.since))
  );
}
