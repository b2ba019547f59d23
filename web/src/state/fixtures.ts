/** Small trees for the tests. */
import type { Columns, Skeleton, Task } from "../api/types.gen";

const BASE = "2026-05-01T10:00:00.000000Z";

export function columns(rows: [id: string, depth: number, more?: Partial<{ status: string; cost: number | null; agent: number; certainty: number }>][]): Columns {
  const of = <Value>(pick: (row: (typeof rows)[number], at: number) => Value) => rows.map(pick);
  return {
    id: of(([id]) => id),
    depth: of(([, depth]) => depth),
    size: of(() => 1),
    title: of(([id]) => `task ${id}`),
    agent: of(([, , more]) => more?.agent ?? 0),
    status: of(([, , more]) => more?.status ?? "c"),
    start: of((_, at) => at * 1000),
    ms: of(([, , more]) => (more?.status === "w" ? null : 500)),
    open: rows.flatMap(([, , more], at) => (more?.status === "w" ? [at] : [])),
    active: rows.flatMap(([, , more], at) => (more?.status === "w" ? [at * 1000] : [])),
    calls: of(() => 1),
    tools: of(() => 2),
    input: of(() => 10),
    output: of(() => 5),
    cached: of(() => 100),
    cost: of(([, , more]) => (more && "cost" in more ? (more.cost ?? null) : 1)),
    certainty: of(([, depth, more]) => (depth ? (more?.certainty ?? 1) : null)),
    flags: of(() => []),
  };
}

export function skeleton(rows: Parameters<typeof columns>[0], loose: Parameters<typeof columns>[0] = []): Skeleton {
  return { seq: 1, base: BASE, n: rows.length, longest: 48, agents: ["Explore", "Plan"], rows: columns(rows), unattached: columns(loose) };
}

const USAGE = { calls: 1, input: 10, output: 5, cache_read: 70, cache_write: 30, cost_usd: 1 };

export function task(id: string, parent: string | null, more: Partial<Task> = {}): Task {
  const link = parent ? { kind: "spawned", rule: "agent-id-header", certainty: 1, parent, via: "toolu_1", via_id: null, evidence: [] } : null;
  return {
    id, title: `task ${id}`, prompt: "do it", prompt_author: "agent", agent: null, agent_type: "Explore", status: "working", native_status: null,
    flags: [], conversation: "conv", branch: null, operation: null, root: id, depth: 0, link, opened: "2026-05-01T10:01:00.000000Z", closed: null,
    duration_ms: null, usage: USAGE, tree_usage: USAGE, subtasks: 0, tool_calls: 0, refs: [], native: {}, project: "default", parent, ...more,
  };
}
