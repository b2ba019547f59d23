/** One function for each question and act. Errors of the server come out as ApiError, with its own words. */
import type {
  Answered, Artifact, AuditEntry, CacheEntry, Call, Cancellation, Comparison, Completeness, Conversation, EmptiedSession, EventList, ExportPreview, FilterHelp, Findings, Flow, Forgotten, ForgottenNote, Health, Hit, Leaving, LoggedEvent, LoggedOut, LoginWays, Message, Named, Observed, Operation,
  OperationDetail, Playing, Preview, Reasoning, Reconciliation, SessionInfo, Skeleton, Statistics, Stats, Task, ToolCall, Who, Why,
} from "./types.gen";
import { gate } from "../state/gate";
import { source } from "./source";

export interface Listed<Item> {
  seq: number;
  items: Item[];
  next: string | null;
}

export type Runs = Listed<Task> & { hidden: number };
export type Seen<Shape> = Shape & { seq: number };

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint: string,
  ) {
    super(message);
  }
}

type Parameters = Record<string, string | number | boolean | null | undefined>;

export function address(path: string, parameters: Parameters = {}): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return `/api/${path}${given.length ? `?${query}` : ""}`;
}

async function failure(response: Response): Promise<ApiError> {
  if (response.status === 401) gate.lock();
  const body: unknown = await response.json().catch(() => null);
  const error = (body as { error?: { code: string; message: string; hint: string } } | null)?.error;
  if (error) return new ApiError(response.status, error.code, error.message, error.hint);
  return new ApiError(response.status, "http", `The server answered with status ${response.status}`, "Try again");
}

declare global {
  interface Window {
    /** What `early.js` asked for before this code was there. */
    ramifyEarly?: { address: string; answer: Promise<Response> } | undefined;
  }
}

/** Once: whoever asks again wants news. */
function takeEarly(url: string): Promise<Response> | null {
  const early = window.ramifyEarly;
  if (early?.address !== url) return null;
  window.ramifyEarly = undefined;
  return early.answer;
}

async function asked<Answer>(url: string, options: RequestInit = {}): Promise<Answer> {
  const given = (options.headers ?? {}) as Record<string, string>;
  let response: Response;
  try {
    response = await (takeEarly(url) ?? source.fetch(url, { ...options, headers: { accept: "application/json", ...given } }));
  } catch {
    throw new ApiError(0, "unreachable", "The server cannot be reached", "Is ramify serve still running?");
  }
  if (!response.ok) throw await failure(response);
  return (await response.json()) as Answer;
}

const one = encodeURIComponent;
const get = <Answer>(path: string, parameters?: Parameters) => asked<Answer>(address(path, parameters));

interface Enveloped<Data> {
  data: Data;
}

/** Errors of the event log say the same in an envelope of their own. */
export const sessionAddress = (session: string, what: string, given: Parameters = {}): string => address(`sessions/${one(session)}/${what}`, given);

export interface EventFilter {
  operation: string;
  agent: string;
  kind: string;
  status: string;
  source: string;
  since: string;
}

async function eventsOf(session: string, wanted: EventFilter, more: Parameters): Promise<EventList> {
  const given = { agent_id: wanted.agent, event_type: wanted.kind, status: wanted.status, source: wanted.source, since: wanted.since, ...more };
  const named = wanted.operation === "-" ? "operation_id=" : wanted.operation ? `operation_id=${one(wanted.operation)}` : "";
  const plain = sessionAddress(session, "events", given);
  const url = named ? `${plain}${plain.includes("?") ? "&" : "?"}${named}` : plain;
  return (await asked<Enveloped<EventList>>(url)).data;
}

/** By any of its ids: first whose it is, unless that is known, then everything about it. */
async function operationOf(id: string, session: string): Promise<OperationDetail> {
  const known = session ? (await asked<Enveloped<OperationDetail>>(sessionAddress(session, `operations/${one(id)}`))).data : null;
  if (known?.exists) return known;
  const { operation } = await get<{ operation: Operation }>(`all/operations/${one(id)}`);
  return (await asked<Enveloped<OperationDetail>>(sessionAddress(operation.session, `operations/${one(operation.operationId)}`))).data;
}

const act = <Answer>(url: string, method: "POST" | "DELETE") => asked<Enveloped<Answer>>(url, { method, headers: { "content-type": "application/json" } }).then(({ data }) => data);

export type Subject = "task" | "conversation";
const places = { task: "tasks", conversation: "conversations" } as const;

/** What an export is to hold; what does not concern its format is left away. */
export interface Wish {
  to: string;
  results?: boolean;
  bodies?: boolean;
  content?: boolean;
}

export const api = {
  exportPreview: (kind: Subject, id: string, wish: Wish) => get<Seen<ExportPreview>>(`${places[kind]}/${one(id)}/export/preview`, { ...wish }),
  runs: (given: Parameters) => get<Runs>("tasks", { roots: true, ...given }),
  tasks: (ids: string[]) => get<Listed<Task>>("tasks", { ids: ids.join(",") }),
  titles: (ids: string[]) => get<Listed<Named>>("titles", { ids: ids.join(",") }),
  task: (id: string) => get<Seen<Task>>(`tasks/${one(id)}`),
  skeleton: (kind: Subject, id: string) => get<Skeleton>(`${places[kind]}/${one(id)}/tree`, { shape: "skeleton" }),
  subtasks: (id: string) => get<Listed<Task>>(`tasks/${one(id)}/subtasks`, { limit: 5000 }),
  messages: (id: string, cursor: string | null = null, limit = 400) =>
    get<Listed<Message>>(`tasks/${one(id)}/messages`, { limit, cursor }),
  tools: (id: string, tree: boolean, limit = 5000, brief = false, filter = "") => get<Listed<ToolCall>>(`tasks/${one(id)}/tools`, { tree, limit, brief, filter }),
  flow: (id: string) => get<Seen<Flow>>(`tasks/${one(id)}/flow`),
  reasoning: (id: string, tree: boolean, limit = 5000) => get<Listed<Reasoning>>(`tasks/${one(id)}/reasoning`, { tree, limit, brief: true }),
  artifacts: (id: string, tree: boolean, limit: number) => get<Listed<Artifact>>(`tasks/${one(id)}/artifacts`, { tree, limit }),
  taskEvents: (id: string) => get<Listed<LoggedEvent>>(`tasks/${one(id)}/events`),
  why: (id: string) => get<Seen<Why>>(`tasks/${one(id)}/why`),
  completeness: (id: string) => get<Seen<Completeness>>(`tasks/${one(id)}/completeness`),
  cache: (id: string) => get<Listed<CacheEntry>>(`tasks/${one(id)}/cache`, { limit: 200 }),
  tool: (id: string) => get<Seen<ToolCall>>(`tools/${one(id)}`),
  calls: (given: Parameters) => get<Listed<Call>>("calls", given),
  call: (id: string) => get<Seen<Call>>(`calls/${one(id)}`),
  conversations: (given: Parameters) => get<Listed<Conversation>>("conversations", given),
  conversation: (id: string) => get<Seen<Conversation>>(`conversations/${one(id)}`),
  leaving: (id: string) => get<Seen<Leaving>>(`conversations/${one(id)}/leaving`),
  forget: (id: string, by: string) => asked<Seen<Forgotten>>(address(`conversations/${one(id)}`, { by }), { method: "DELETE" }),
  forgotten: () => get<Listed<ForgottenNote>>("forgotten"),
  operations: (given: Parameters) => get<Listed<Operation>>("all/operations", given),
  operation: operationOf,
  sessions: () => get<Listed<SessionInfo>>("sessions", { limit: 200 }),
  events: eventsOf,
  clearSession: (session: string) => act<EmptiedSession>(sessionAddress(session, "events"), "DELETE"),
  reconcileAll: () => act<Reconciliation>(address("all/reconcile"), "POST"),
  reconcile: (session: string) => act<Reconciliation>(sessionAddress(session, "reconcile"), "POST"),
  filter: (list: string, q: string, at: number) => get<Seen<FilterHelp>>("filter", { list, q, at }),
  search: (q: string, cursor: string | null = null) => get<Listed<Hit> & { indexed: number; indexing: boolean }>("search", { q, cursor, limit: 100 }),
  stats: () => get<Seen<Stats>>("stats"),
  statistics: (by: string, since: string) => get<Seen<Statistics>>("stats", { by, since, limit: 5000 }),
  compare: (a: string, b: string) => get<Seen<Comparison>>("compare", { a, b }),
  lint: (given: Parameters) => get<Seen<Findings>>("lint", given),
  health: () => get<Seen<Health>>("health"),
  me: () => get<Who>("me"),
  loginWays: () => get<LoginWays>("login"),
  logIn: (token: string) => asked<Who>(address("login"), { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ token }) }),
  logOut: () => asked<LoggedOut>(address("logout"), { method: "POST" }),
  audit: (given: Parameters) => get<Listed<AuditEntry>>("audit", { limit: 100, ...given }),
  observation: (id: string) => get<Seen<Observed>>(`observations/${one(id)}`),
  link: (child: string, parent: string) =>
    asked<Seen<Why>>(address("links"), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ child, parent }),
    }),
  answer: (id: string, body: { text: string } | { data: unknown }) =>
    asked<Seen<Answered>>(address(`tasks/${one(id)}/answer`), { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
  cancel: (id: string) => asked<Listed<Cancellation>>(address(`tasks/${one(id)}/cancel`), { method: "POST", headers: { "content-type": "application/json" }, body: "{}" }),
  demo: () => asked<Playing>(address("demo"), { method: "POST", headers: { "content-type": "application/json" }, body: "{}" }),
  preview: (children: string[], parent: string) => get<Seen<Preview>>("links/preview", { child: children.join(","), parent }),
  withdraw: (child: string) => asked<Seen<Why>>(address(`links/${one(child)}`, { withdraw: true }), { method: "DELETE" }),
  unlink: (child: string) => asked<Seen<Why>>(address(`links/${one(child)}`), { method: "DELETE" }),
};

export interface Body {
  text: string;
  bytes: number;
  encoding: string;
}

const PACKED: Record<string, CompressionFormat> = { gzip: "gzip", deflate: "deflate" };

/** Saves the bytes of the wire as a file. */
export const save = (call: string, side: "request" | "response"): Promise<void> => download(address(`calls/${one(call)}/${side}`), `${call}-${side}`);

/** A run as a file to pass on. */
export const saveExport = (kind: Subject, id: string, wish: Wish): Promise<void> => download(address(`${places[kind]}/${one(id)}/export`, { ...wish }), id);

/** With `fetch`, so that a refusal is told on the page and not saved as a file. */
async function download(url: string, name: string): Promise<void> {
  const response = await source.fetch(url);
  if (!response.ok) throw await failure(response);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = /filename="([^"]+)"/.exec(response.headers.get("content-disposition") ?? "")?.[1] ?? name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** The bytes of the wire as text; packed ones are unpacked where the browser can do it. */
export async function body(call: string, side: "request" | "response"): Promise<Body> {
  const response = await source.fetch(address(`calls/${one(call)}/${side}`));
  if (!response.ok) throw await failure(response);
  const encoding = response.headers.get("x-ramify-content-encoding") ?? "";
  const raw = await response.arrayBuffer();
  const format = PACKED[encoding];
  if (encoding && !format) return { text: "", bytes: raw.byteLength, encoding };
  const stream = new Blob([raw]).stream();
  const plain = format ? stream.pipeThrough(new DecompressionStream(format)) : stream;
  return { text: await new Response(plain).text(), bytes: raw.byteLength, encoding: "" };
}
