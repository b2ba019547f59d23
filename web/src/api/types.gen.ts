// Made by `python -m ramify.web.typescript` from the server's own types. Do not edit.

export interface Act {
  id: string;
  call_id: string;
  call: string | null;
  name: string;
  text: string;
  status: string;
  timestamp: string | null;
  spawned: Array<string>;
}

export interface AgentShare {
  status: string;
  taskCount: number;
  statusCounts: Record<string, number>;
  firstAt: string | null;
  lastAt: string | null;
  durationMs: number;
  responseMs: number | null;
  skewMs: number | null;
}

export interface Alive {
  alive: boolean;
}

export interface Answered {
  task: string;
  agent: string;
  message: string;
  status: "pending" | "submitted" | "working" | "input-required" | "auth-required" | "completed" | "failed" | "canceled" | "rejected" | "unknown" | null;
}

export interface Artifact {
  artifactId: string;
  name: string | null;
  parts: Array<Record<string, unknown>>;
  timestamp: string | null;
  partial?: boolean;
  description?: string | null;
  task?: string | null;
}

export interface AuditEntry {
  id: string;
  at: string | null;
  who: string;
  act: string;
  what: string | null;
  way: "http" | "command" | "mcp";
  address: string | null;
  project: string | null;
  more: Record<string, string>;
}

export interface Batch {
  records: Array<Sent>;
}

export interface Breakdown {
  models: Record<string, Usage>;
  agent_types: Record<string, Usage>;
}

export interface CacheEntry {
  call: string;
  before: string | null;
  segments: number;
  same: number;
  difference: Difference | null;
  held: number;
  lost: number;
  lost_usd: number | null;
  cause: string | null;
}

export interface Call {
  id: string;
  task: string | null;
  conversation: string | null;
  branch: string | null;
  parent: string | null;
  kind: "main" | "subagent" | "utility";
  utility: string | null;
  model: string | null;
  attempt: number;
  attempt_of: string | null;
  status: "ok" | "error" | "aborted" | "running";
  link: Link | null;
  opened: string | null;
  closed: string | null;
  first_token_ms: number | null;
  usage: Usage;
  message_count: number;
  new_messages: number;
  stop_reason: string | null;
  duration_ms: number | null;
  http_status: number | null;
  error: string | null;
  agent: string | null;
  refs: Array<Ref>;
  observations: Array<string>;
  sources: Array<string>;
  project: string;
}

export interface Cancellation {
  task: string;
  agent: string;
  asked: boolean;
  status: "pending" | "submitted" | "working" | "input-required" | "auth-required" | "completed" | "failed" | "canceled" | "rejected" | "unknown" | null;
  error: string | null;
}

export interface Candidate {
  parent: string;
  rule: string;
  certainty: number;
  rejected_because: string;
  explanation?: string | null;
}

export interface Capture {
  waiting: number;
  spooled: number;
  lost: number;
  unlinked: number;
  stored: number;
  problem: string | null;
}

export interface Change {
  task?: Task | null;
  call?: Call | null;
  tool?: LiveTool | null;
  conversation?: LiveConversation | null;
  artifact?: LiveArtifact | null;
  operation?: LiveOperation | null;
  gone?: Gone | null;
}

export interface Changes {
  seq: number;
  changes: Array<Change>;
  more?: boolean;
}

export interface Check {
  name: string;
  severity: "error" | "warning" | "note";
  summary: string;
  advice: string;
}

export interface Columns {
  id: Array<string>;
  depth: Array<number>;
  size: Array<number>;
  title: Array<string>;
  agent: Array<number>;
  status: Array<string>;
  start: Array<number>;
  ms: Array<number | null>;
  open: Array<number>;
  active: Array<number>;
  calls: Array<number>;
  tools: Array<number>;
  input: Array<number>;
  output: Array<number>;
  cached: Array<number>;
  cost: Array<number | null>;
  certainty: Array<number | null>;
  flags: Array<Array<string>>;
}

export interface ComparedNode {
  depth: number;
  kind: "same" | "changed" | "left" | "right" | "under";
  size: number;
  a: ComparedTask | null;
  b: ComparedTask | null;
  steps: Array<ComparedStep>;
}

export interface ComparedRun {
  id: string;
  title: string;
  agent: string;
  status: string;
  opened: string | null;
  usage?: Usage | null;
  tree_usage: Usage;
  prompt: string | null;
  models: Array<string>;
  duration_ms: number | null;
  tasks: number;
  tools: number;
}

export interface ComparedStep {
  kind: "same" | "changed" | "left" | "right" | "folded";
  at: number;
  count: number;
  a: Act | null;
  b: Act | null;
}

export interface ComparedTask {
  id: string;
  title: string;
  agent: string;
  status: string;
  opened: string | null;
  usage?: Usage | null;
  tree_usage?: Usage | null;
}

export interface Comparison {
  a: ComparedRun;
  b: ComparedRun;
  asked_the_same: boolean;
  same: boolean;
  parting: PartingPlace | null;
  since: SpentSince | null;
  tasks: Array<ComparedNode>;
  more: boolean;
}

export interface Completeness {
  tasks: number;
  calls: number;
  tools: number;
  unreadable: number;
  withheld_counted: boolean;
  missing: Array<Missing>;
}

export interface Conversation {
  id: string;
  project: string;
  session: string | null;
  title: string;
  opened: string | null;
  active: string | null;
  calls: number;
  tasks: number;
  roots: number;
  subtasks: number;
  branches: Array<string>;
  usage: Usage;
  client: string | null;
  refs: Array<Ref>;
}

export interface Credentials {
  token: string;
}

export interface Deriving {
  done: number;
  total: number;
}

export interface Difference {
  segment: string;
  instead: string;
  at: number;
  old: string;
  new: string;
  shown_from: number;
}

export interface Emptied {
  success: boolean;
  timestamp: string | null;
  data: EmptiedSession;
}

export interface EmptiedSession {
  deleted: number;
}

export interface Engine {
  engine: string;
  version: string;
  age_s: number;
  schema: number;
  log: number;
  indexed: number;
  partitions?: number | null;
  notices?: boolean | null;
  lacks?: Array<string>;
  parts?: number | null;
  most_parts?: number | null;
  merges?: number | null;
  mutations?: number | null;
  shards?: number | null;
  replicas?: number | null;
  answering?: number | null;
}

export interface Error {
  error: Fault;
}

export interface EventGap {
  from: number;
  to: number;
}

export interface EventList {
  events: Array<LoggedEvent>;
  firstSeq: number;
  lastSeq: number;
  gap?: EventGap | null;
}

export interface EventOutcome {
  status: string;
  seq: number | null;
  eventId: string | null;
  reason: string | null;
}

export interface EventOutcomes {
  stored: number;
  duplicates: number;
  conflicts: number;
  rejected: number;
  results: Array<EventOutcome>;
}

export interface EventPage {
  success: boolean;
  timestamp: string | null;
  data: EventList;
}

export interface ExplainedLink {
  kind: string;
  rule: string;
  certainty: number;
  parent: string;
  via: string | null;
  via_id: string | null;
  evidence: Array<string>;
  explanation?: string | null;
  child?: string | null;
}

export interface ExportPreview {
  id: string;
  entity: string;
  title: string;
  to: string;
  bytes: number;
  holds: Record<string, number>;
  contents: Array<string>;
  left_out: Array<string>;
  redacted: Record<string, number>;
}

export interface Failed {
  agentId: string;
  reason: string;
}

export interface Fault {
  code: string;
  message: string;
  hint: string;
  candidates?: Array<Record<string, unknown>> | null;
  word?: string | null;
  start?: number | null;
  end?: number | null;
}

export interface Figures {
  count: number;
  ok: number;
  failed: number;
  canceled: number;
  open: number;
  success: number | null;
  mean_ms: number | null;
  p50_ms: number | null;
  p95_ms: number | null;
}

export interface FilterHelp {
  terms: Array<FilterTerm>;
  error: FilterProblem | null;
  suggestions: Array<FilterSuggestion>;
}

export interface FilterProblem {
  start: number;
  end: number;
  message: string;
  hint: string;
}

export interface FilterSuggestion {
  start: number;
  end: number;
  text: string;
  meaning: string;
}

export interface FilterTerm {
  start: number;
  end: number;
  says: string;
}

export interface Finding {
  id: string;
  check: string;
  severity: "error" | "warning" | "note";
  text: string;
  task: string;
  title: string;
  conversation: string;
  project: string;
  since: string | null;
  evidence: Array<string>;
  figures: Record<string, unknown>;
}

export interface Findings {
  items: Array<Finding>;
  next: string | null;
  looked: number;
  checks: Array<Check>;
  hook?: Hook | null;
}

export interface Flow {
  task: Task;
  events: Array<FlowEvent>;
  totals: FlowTotals;
  open: Array<string>;
  final_text: string | null;
  feedback: Array<Record<string, unknown>>;
}

export interface FlowEvent {
  timestamp: string | null;
  kind: "request" | "model_call" | "thinking" | "explanation" | "progress" | "tool_call" | "subtask" | "artifact" | "workflow_node" | "cancel_request" | "error" | "compaction" | "message" | "other" | "end";
  task: string | null;
  id: string | null;
  agent_name: string | null;
  text: string | null;
  status: string | null;
  closed: string | null;
  call_id?: string | null;
  author?: string | null;
}

export interface FlowTotals {
  tasks: number;
  subtasks: number;
  tool_calls: number;
  open_tool_calls: number;
  own: Usage;
  tree: Usage;
}

export interface Forgotten {
  forgotten: Array<string>;
  observations: number;
  bytes: number;
  shared: number;
  pieces: number;
  left: string;
  waiting: number;
  dry_run: boolean;
}

export interface ForgottenNote {
  id: string;
  at: string | null;
  by: string;
  observations: number;
  back: string | null;
}

export interface Gone {
  kind: string;
  id: string;
}

export interface Health {
  status: string;
  version: string;
  uptime_s: number;
  store: string;
  upstream: string;
  capture: Capture;
  agents?: Record<string, string>;
  store_bytes?: number;
  engine?: Engine | null;
  store_limit?: number | null;
  findings?: Hook | null;
  otlp?: Sending | null;
  deriving?: Deriving | null;
  spool_limit?: number;
  disk_free?: number | null;
  notices?: Array<string>;
}

export interface Hit {
  call: string | null;
  task: string | null;
  conversation: string | null;
  kind: string;
  side: string;
  message: number | string;
  block: number;
  snippet: string;
  timestamp: string | null;
}

export interface Hook {
  told: number;
  failed: number;
  waiting: number;
  problem: string | null;
}

export interface Leaving {
  id: string;
  title: string;
  opened: string | null;
  active: string | null;
  tasks: number;
  calls: number;
  tool_calls: number;
  events: number;
  working: boolean;
  parted: Array<string>;
}

export interface Link {
  kind: string;
  rule: string;
  certainty: number;
  parent: string;
  via: string | null;
  via_id: string | null;
  evidence: Array<string>;
}

export interface LiveArtifact {
  id: string;
  task: string;
  artifactId: string;
  name: string | null;
}

export interface LiveConversation {
  id: string;
  active: string | null;
  usage: Usage;
  calls: number;
}

export interface LiveOperation {
  id: string;
  operationId: string;
  updatedAt: string | null;
}

export interface LiveTool {
  id: string;
  call_id: string;
  call: string | null;
  task: string | null;
  name: string | null;
  status: string;
  timestamp: string | null;
  closed: string | null;
  spawned: Array<string>;
}

export interface LoggedEvent {
  eventId: string;
  seq: number;
  eventType?: string | null;
  operationId?: string | null;
  agentId?: string | null;
  agentTaskId?: string | null;
  taskType?: string | null;
  timestamp?: unknown;
  status?: string | null;
  native_status?: string | null;
  payload?: unknown;
  result?: unknown;
  error?: unknown;
  objectType?: string | null;
  objectId?: string | null;
  targetEntity?: string | null;
  source: string;
  recordedAt: string | null;
  observedAt: string | null;
  flags: Array<string>;
  duplicateOf?: number | null;
  task: string | null;
  observation: string;
}

export interface LoggedOut {
  out: boolean;
}

export interface LoginWays {
  needed: boolean;
  token: boolean;
  oidc: string | null;
}

export interface Message {
  id: string;
  task: string | null;
  call: string | null;
  role: string;
  author: "human" | "agent" | "tool" | "harness" | "system" | "unknown";
  author_id: string | null;
  author_kind: string | null;
  reason: string | null;
  blocks: Array<unknown>;
  timestamp: string | null;
  source?: string | null;
  observation?: string | null;
}

export interface Missing {
  kind: "unattached" | "unresolved" | "inferred" | "no_result" | "cut_short" | "failed_calls" | "withheld";
  count: number;
  ids: Array<string>;
}

export interface Move {
  child: string;
  title: string;
  from: Named | null;
  tasks: number;
  usage: Usage;
  refused: string | null;
  before: Said | null;
}

export interface Named {
  id: string;
  title: string;
}

export interface NewAnswer {
  text?: string;
  data?: unknown;
}

export interface NewLink {
  child: string;
  parent: string;
}

export interface NewToken {
  id: string;
  name: string;
  scopes: Array<"capture" | "read" | "write" | "admin">;
  projects: Array<string> | null;
  status: "active" | "expired" | "revoked";
  created: string | null;
  changed: string | null;
  expires: string | null;
  revoked: string | null;
  earlier_until: string | null;
  secret: string;
}

export interface Nothing {
}

export interface Object {
}

export interface Observed {
  id: string;
  kind: string;
  at: string | null;
  line: string;
  body: string;
}

export interface Operation {
  operationId: string;
  id: string;
  session: string;
  status: string;
  agents: Array<string>;
  taskTypes: Array<string>;
  taskCount: number;
  subtaskCount: number;
  eventCount: number;
  objectCount: number;
  objectTypes: Record<string, number>;
  statusCounts: Record<string, number>;
  byAgent: Record<string, AgentShare>;
  startedAt: string | null;
  updatedAt: string | null;
  completedAt: string | null;
  durationMs: number;
  flags: Array<string>;
}

export interface OperationAnswer {
  success: boolean;
  timestamp: string | null;
  data: OperationDetail;
}

export interface OperationDetail {
  operationId: string;
  exists: boolean;
  operation: Operation | null;
  events: Array<LoggedEvent>;
  eventsTotal: number;
  objectEvents: Array<LoggedEvent>;
  tasks: Array<Task>;
}

export interface OperationList {
  success: boolean;
  timestamp: string | null;
  data: Operations;
}

export interface Operations {
  operations: Array<Operation>;
}

export interface PartingPlace {
  kind: "step" | "input" | "result" | "outcome" | "task";
  depth: number;
  passed: number;
  text: string;
  a: PartingSide | null;
  b: PartingSide | null;
}

export interface PartingSide {
  task: string;
  status: string;
  act: Act | null;
}

export interface Playing {
  session: string;
}

export interface Posted {
  success: boolean;
  timestamp: string | null;
  data: EventOutcomes;
}

export interface Preview {
  parent: Named | null;
  moves: Array<Move>;
  tasks: number;
  usage: Usage;
}

export interface Progress {
  tasks: number;
  done: number;
  working: number;
  failed: number;
  waiting: number;
}

export interface Ready {
  ready: boolean;
  store: boolean;
  problem: string | null;
  waiting: number;
  spooled: number;
}

export interface Reasoning {
  task: string | null;
  call: string | null;
  message_id: string | null;
  timestamp: string | null;
  agent_name: string | null;
  kind: "thinking" | "explanation" | "progress" | "context";
  text: string;
  withheld: boolean;
  model: string | null;
  conversation_history: unknown;
}

export interface Reconciled {
  success: boolean;
  timestamp: string | null;
  data: Reconciliation;
}

export interface Reconciliation {
  checked: number;
  corrected: number;
  unchanged: number;
  missing: number;
  anomalies: number;
  errors: Array<Failed>;
  unnamed: Array<Unnamed>;
  startedAt: string | null;
  endedAt: string | null;
}

export interface Ref {
  protocol: string;
  kind: string;
  value: string;
  scope?: string | null;
}

export interface Rotation {
  grace?: number;
}

export interface Said {
  act: "link" | "unlink";
  parent: string | null;
}

export interface Sending {
  to: string;
  sent: number;
  dropped: number;
  waiting: number;
  problem: string | null;
}

export interface Sent {
  id: string;
  at: number;
  source: string;
  format: string;
  body: string;
  place?: string;
  project?: string;
}

export interface SessionAnswer {
  success: boolean;
  timestamp: string | null;
  data: SessionInfo;
}

export interface SessionInfo {
  session: string;
  createdAt: string | null;
  lastActiveAt: string | null;
  expiresAt: string | null;
  eventCount: number;
  objectEventCount: number;
  operationCount: number;
  taskCount: number;
  openTasks: number;
  firstSeq: number;
  lastSeq: number;
  droppedEvents: number;
  dropped: boolean;
  evictedSessions: number;
  bytes: number;
  limits: Record<string, number | null>;
}

export interface Skeleton {
  seq: number;
  base: string | null;
  n: number;
  longest: number;
  agents: Array<string>;
  rows: Columns;
  unattached: Columns;
}

export interface SpentSince {
  a: Usage;
  b: Usage;
  more_usd: number | null;
}

export interface SqlAnswer {
  columns: Array<string>;
  rows: Array<Array<unknown>>;
  more: boolean;
  ms: number;
}

export interface SqlQuery {
  sql: string;
  limit?: number;
}

export interface Statistics {
  by: Array<string>;
  since: string | null;
  until: string | null;
  rows: Array<SumsRow>;
  more: boolean;
  total: Sums;
}

export interface Stats {
  conversations: number;
  tasks: number;
  roots: number;
  calls: number;
  running: number;
  failed: number;
  aborted: number;
  tool_calls: number;
  usage: Usage | null;
  unreadable: number;
  unreadable_newest: Array<Unreadable>;
  indexed: number;
  capture: Capture;
}

export interface Sums {
  usage: Usage;
  calls: Figures | null;
  tools: Figures | null;
  tasks: Figures | null;
}

export interface SumsRow {
  usage: Usage;
  calls: Figures | null;
  tools: Figures | null;
  tasks: Figures | null;
  day?: string | null;
  project?: string | null;
  agent?: string | null;
  model?: string | null;
  tool?: string | null;
}

export interface Taken {
  taken: number;
}

export interface Task {
  id: string;
  title: string | null;
  prompt: string | null;
  prompt_author: string | null;
  agent: string | null;
  agent_type: string | null;
  status: "pending" | "submitted" | "working" | "input-required" | "auth-required" | "completed" | "failed" | "canceled" | "rejected" | "unknown";
  native_status: string | null;
  flags: Array<string>;
  conversation: string | null;
  branch: string | null;
  operation: string | null;
  root: string;
  depth: number;
  link: Link | null;
  opened: string | null;
  closed: string | null;
  duration_ms: number | null;
  usage: Usage;
  tree_usage: Usage;
  subtasks: number;
  tool_calls: number;
  refs: Array<Ref>;
  native: Record<string, unknown>;
  project: string;
  progress?: Progress | null;
  parent?: string | null;
  artifacts?: Array<Artifact> | null;
  feedback?: Array<Record<string, unknown>> | null;
}

export interface TaskTree {
  id: string;
  title: string | null;
  prompt: string | null;
  prompt_author: string | null;
  agent: string | null;
  agent_type: string | null;
  status: "pending" | "submitted" | "working" | "input-required" | "auth-required" | "completed" | "failed" | "canceled" | "rejected" | "unknown";
  native_status: string | null;
  flags: Array<string>;
  conversation: string | null;
  branch: string | null;
  operation: string | null;
  root: string;
  depth: number;
  link: Link | null;
  opened: string | null;
  closed: string | null;
  duration_ms: number | null;
  usage: Usage;
  tree_usage: Usage;
  subtasks: number;
  tool_calls: number;
  refs: Array<Ref>;
  native: Record<string, unknown>;
  project: string;
  progress?: Progress | null;
  parent?: string | null;
  artifacts?: Array<Artifact> | null;
  feedback?: Array<Record<string, unknown>> | null;
  children: Array<TaskTree>;
}

export interface TokenEntry {
  id: string;
  name: string;
  scopes: Array<"capture" | "read" | "write" | "admin">;
  projects: Array<string> | null;
  status: "active" | "expired" | "revoked";
  created: string | null;
  changed: string | null;
  expires: string | null;
  revoked: string | null;
  earlier_until: string | null;
}

export interface ToolCall {
  id: string;
  call_id: string;
  task: string | null;
  call: string | null;
  name: string | null;
  type: "llm_response" | "tool_invocation_start" | "tool_result";
  phases: Array<string>;
  args: unknown;
  result: unknown;
  status: "running" | "ok" | "error" | "canceled" | "timed_out" | "missing";
  agent_name: string | null;
  timestamp: string | null;
  closed: string | null;
  duration_ms: number | null;
  spawned: Array<string>;
  result_source: "wire" | "history" | "child" | null;
  refs: Array<Ref>;
  error?: string | null;
}

export interface Tree {
  roots: Array<TaskTree>;
  unattached: Array<Task>;
}

export interface Unnamed {
  agentId: string;
  reason: string;
  hint: string;
}

export interface Unreadable {
  observation: string;
  at: string | null;
  reason: string;
}

export interface Usage {
  calls: number;
  input: number;
  output: number;
  cache_read: number;
  cache_write: number;
  cost_usd: number | null;
}

export interface WantedToken {
  name: string;
  scopes: Array<"capture" | "read" | "write" | "admin">;
  projects?: Array<string> | null;
  expires_in?: number;
}

export interface Who {
  name: string;
  scopes: Array<"capture" | "read" | "write" | "admin">;
  projects: Array<string> | null;
  login: boolean;
}

export interface Why {
  id: string;
  links: Array<ExplainedLink>;
  candidates: Array<Candidate>;
  witnesses: Array<Witness>;
}

export interface Witness {
  observation: string;
  source: string;
  rule: string | null;
  explanation?: string | null;
}
