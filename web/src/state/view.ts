/** The address is the state: one pure pair, so that copying the address copies the view. */

export const PAGES = ["runs", "conversations", "calls", "search", "compare", "findings", "statistics", "health", "audit", "latest", "operations", "events", "task", "conversation", "operation", "unknown"] as const;
export type Page = (typeof PAGES)[number];
export const TABS = ["transcript", "tree", "timeline", "graph", "calls", "cache", "artifacts", "tools", "reasoning", "flow"] as const;
export type Tab = (typeof TABS)[number];
export const PANES = ["details", "why", "raw"] as const;
export type Pane = (typeof PANES)[number];

export interface View {
  page: Page;
  id: string;
  tab: Tab;
  /** What is looked at: `task:ID`, `tool:ID`, `call:ID`. */
  selected: string | null;
  pane: Pane;
  words: string;
  status: string;
  kind: string;
  below: number | null;
  toggled: string[];
  focus: string | null;
  /** Zoom of the timeline: milliseconds since the beginning of the run. */
  from: number | null;
  to: number | null;
  onlyPeople: boolean;
  /** Of the timeline: the critical path, and a lane for each agent instead of a row for each task. */
  critical: boolean;
  lanes: boolean;
  a: string;
  b: string;
  /** Of the statistics: what is summed up by, since when (also of the event log, there as a moment), and what is drawn. */
  by: string;
  since: string;
  measure: string;
  /** Of the event log: whose events, and which. "-" is what names no operation. */
  session: string;
  operation: string;
  agent: string;
  source: string;
}

export const START: View = {
  page: "runs", id: "", tab: "transcript", selected: null, pane: "details", words: "", status: "", kind: "", below: null, toggled: [],
  focus: null, from: null, to: null, onlyPeople: false, critical: false, lanes: false, a: "", b: "",
  by: "", since: "", measure: "",
  session: "", operation: "", agent: "", source: "",
};

export function parseView(url: URL): View {
  const [first = "", second = ""] = url.pathname.split("/").filter(Boolean).map(decoded);
  const read = (name: string) => url.searchParams.get(name) ?? "";
  const page = pageOf(first, second);
  return {
    page,
    id: page === "unknown" ? url.pathname : second,
    tab: oneOf(TABS, read("tab"), "transcript"),
    selected: read("sel") || null,
    pane: oneOf(PANES, read("pane"), "details"),
    words: read("q"),
    status: read("status"),
    kind: read("kind"),
    below: number(read("below")),
    toggled: read("toggled").split(",").filter(Boolean),
    focus: read("focus") || null,
    from: number(read("from")),
    to: number(read("to")),
    onlyPeople: read("people") === "1",
    critical: read("critical") === "1",
    lanes: read("lanes") === "1",
    a: read("a"),
    b: read("b"),
    by: read("by"),
    since: read("since"),
    measure: read("measure"),
    session: read("session"),
    operation: read("operation"),
    agent: read("agent"),
    source: read("source"),
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function pageOf(first: string, second: string): Page {
  if (first === "") return "runs";
  if ((first === "task" || first === "conversation" || first === "operation") && second) return first;
  const plain: readonly string[] = ["conversations", "calls", "search", "compare", "findings", "statistics", "health", "audit", "latest", "operations", "events"];
  return plain.includes(first) && !second ? (first as Page) : "unknown";
}

export function formatView(view: View): string {
  const path = view.page === "runs" ? "/" : view.page === "unknown" ? view.id : view.id ? `/${view.page}/${encodeURIComponent(view.id)}` : `/${view.page}`;
  const given: [string, string][] = [
    ["tab", view.tab === "transcript" ? "" : view.tab],
    ["sel", view.selected ?? ""],
    ["pane", view.pane === "details" ? "" : view.pane],
    ["q", view.words],
    ["status", view.status],
    ["kind", view.kind],
    ["below", view.below === null ? "" : String(view.below)],
    ["toggled", view.toggled.join(",")],
    ["focus", view.focus ?? ""],
    ["from", view.from === null ? "" : String(view.from)],
    ["to", view.to === null ? "" : String(view.to)],
    ["people", view.onlyPeople ? "1" : ""],
    ["critical", view.critical ? "1" : ""],
    ["lanes", view.lanes ? "1" : ""],
    ["a", view.a],
    ["b", view.b],
    ["by", view.by],
    ["since", view.since],
    ["measure", view.measure],
    ["session", view.session],
    ["operation", view.operation],
    ["agent", view.agent],
    ["source", view.source],
  ];
  const query = given.filter(([, value]) => value !== "").map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return query.length ? `${path}?${query.join("&")}` : path;
}

function oneOf<Word extends string>(words: readonly Word[], given: string, otherwise: Word): Word {
  return words.find((word) => word === given) ?? otherwise;
}

function number(text: string): number | null {
  const value = Number(text);
  return text !== "" && Number.isFinite(value) && value >= 0 ? value : null;
}

export function toggle(list: string[], id: string): string[] {
  return list.includes(id) ? list.filter((one) => one !== id) : [...list, id];
}
