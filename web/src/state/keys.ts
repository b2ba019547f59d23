/** Every key, once: the page acts by this table and the help is drawn from it. */

export const KEYS = [
  ["next", ["j", "ArrowDown"], "next row"],
  ["previous", ["k", "ArrowUp"], "previous row"],
  ["expand", ["ArrowRight"], "unfold, or to the first child"],
  ["collapse", ["ArrowLeft"], "fold, or to the parent"],
  ["open", ["Enter"], "open in a tab of its own"],
  ["close", ["Escape"], "close the pane, then let go of the selection"],
  ["parent", ["u"], "return to the parent"],
  ["before", ["["], "sibling before"],
  ["after", ["]"], "sibling after"],
  ["failure", ["e"], "next failure"],
  ["focus", ["f"], "only this task and what is under it, and back"],
  ["critical", ["c"], "in the timeline: what the end had to wait for"],
  ["why", ["y"], "why is it linked?"],
  ["mark", ["x"], "choose this row, to move it"],
  ["move", ["m"], "move what is chosen under another task"],
  ["raw", ["r"], "raw request and response"],
  ["people", ["p"], "only what a person wrote, and back"],
  ["live", ["."], "hold still, or live again"],
  ["filter", ["/"], "filter this page"],
  ["palette", ["Ctrl-k"], "search everything"],
  ["copy", ["C"], "copy the link of this view"],
  ["help", ["?"], "these keys"],
  ["tab1", ["1"], "transcript"],
  ["tab2", ["2"], "tree"],
  ["tab3", ["3"], "timeline"],
  ["tab4", ["4"], "graph"],
  ["tab5", ["5"], "calls"],
  ["tab6", ["6"], "prompt cache"],
  ["tab7", ["7"], "artifacts"],
  ["tab8", ["8"], "tools"],
  ["tab9", ["9"], "reasoning"],
  ["tab0", ["0"], "flow"],
  ["runs", ["g t"], "runs"],
  ["conversations", ["g c"], "conversations"],
  ["calls", ["g n"], "model calls"],
  ["operations", ["g o"], "operations"],
  ["events", ["g e"], "events"],
  ["findings", ["g f"], "findings"],
  ["statistics", ["g s"], "statistics"],
  ["health", ["g h"], "health"],
] as const;

export type Act = (typeof KEYS)[number][0];

const BY_KEY = new Map<string, Act>(KEYS.flatMap(([act, keys]) => keys.map((key) => [key, act] as const)));
const FIRST = new Set([...BY_KEY.keys()].filter((key) => key.includes(" ")).map((key) => key.split(" ")[0] ?? ""));

export interface Pressed {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
}

/** What a key means after the one before it; `pending` is what to remember for the next. */
export function actOf(pressed: Pressed, pending: string): { act: Act | null; pending: string } {
  if (pressed.altKey) return { act: null, pending: "" };
  const command = pressed.ctrlKey || pressed.metaKey;
  const name = command ? `Ctrl-${pressed.key.toLowerCase()}` : pressed.key;
  const chord = pending ? BY_KEY.get(`${pending} ${name}`) : undefined;
  if (chord) return { act: chord, pending: "" };
  return { act: BY_KEY.get(name) ?? null, pending: FIRST.has(name) ? name : "" };
}
