/** Tabs of tasks inside the page: grouped by run, parent first, closed together if wished. */

export interface OpenTab {
  id: string;
  title: string;
  root: string;
  parent: string | null;
  /** As it was when the tab was last looked at. */
  status: string;
}

export type Tabs = OpenTab[];

/** Opened once; behind its parent or its run, so that a group stands together. */
export function open(tabs: Tabs, tab: OpenTab): Tabs {
  const known = tabs.findIndex((one) => one.id === tab.id);
  if (known >= 0) return tabs.map((one, at) => (at === known ? { ...one, ...tab, title: tab.title || one.title } : one));
  const group = tabs.map((one, at) => (one.root === tab.root ? at : -1)).filter((at) => at >= 0);
  if (tab.id === tab.root && group.length) return splice(tabs, group[0] ?? 0, tab);
  return splice(tabs, group.length ? (group.at(-1) ?? 0) + 1 : tabs.length, tab);
}

function splice(tabs: Tabs, at: number, tab: OpenTab): Tabs {
  return [...tabs.slice(0, at), tab, ...tabs.slice(at)];
}

/** Tabs that were opened from this one, at any distance. */
export function below(tabs: Tabs, id: string): Tabs {
  const found = new Set([id]);
  for (let grew = true; grew; ) {
    const fresh = tabs.filter((tab) => tab.parent !== null && found.has(tab.parent) && !found.has(tab.id));
    for (const tab of fresh) found.add(tab.id);
    grew = fresh.length > 0;
  }
  return tabs.filter((tab) => tab.id !== id && found.has(tab.id));
}

export function close(tabs: Tabs, id: string, withChildren: boolean): Tabs {
  const gone = new Set([id, ...(withChildren ? below(tabs, id).map((tab) => tab.id) : [])]);
  return tabs.filter((tab) => !gone.has(tab.id));
}

/** Where one looks next when a tab is closed: its parent, else its neighbour. */
export function afterClosing(tabs: Tabs, id: string, withChildren: boolean): string | null {
  const at = tabs.findIndex((tab) => tab.id === id);
  const left = close(tabs, id, withChildren);
  const parent = tabs[at]?.parent;
  if (parent && left.some((tab) => tab.id === parent)) return parent;
  return left[Math.min(at, left.length - 1)]?.id ?? null;
}

// -- children that are announced while somebody looks ------------------------------------------------------------------

export interface Child {
  id: string;
  parent: string;
  title: string;
  status: string;
}

/** The tab that an announced child gets: in the group of the nearest task above it that is open. None is open: none. */
export function tabOf(tabs: Tabs, child: Child, parents: ReadonlyMap<string, string>): OpenTab | null {
  const seen = new Set<string>();
  for (let above: string | undefined = child.parent; above !== undefined && !seen.has(above); above = parents.get(above)) {
    seen.add(above);
    const open = tabs.find((tab) => tab.id === above);
    if (open) return { id: child.id, title: child.title, root: open.root, parent: child.parent, status: child.status };
  }
  return null;
}

/** A task that was known by name only turned out to be another: its tab becomes that one's, and there are never two. */
export function renamed(tabs: Tabs, old: string, fresh: string): Tabs {
  const known = tabs.some((tab) => tab.id === fresh);
  return tabs
    .filter((tab) => tab.id !== old || !known)
    .map((tab) => ({ ...tab, id: tab.id === old ? fresh : tab.id, root: tab.root === old ? fresh : tab.root, parent: tab.parent === old ? fresh : tab.parent }));
}

/** Who of the open tabs should say that somebody is waited for: those that wait, and every one above them. */
export function asking(tabs: Tabs, states: ReadonlyMap<string, { status: string; waiting: number }>): Set<string> {
  const found = new Set(tabs.filter((tab) => WAITING.includes(states.get(tab.id)?.status ?? tab.status) || (states.get(tab.id)?.waiting ?? 0) > 0).map((tab) => tab.id));
  for (let grew = true; grew; ) {
    const above = tabs.filter((tab) => !found.has(tab.id) && tabs.some((child) => child.parent === tab.id && found.has(child.id)));
    for (const tab of above) found.add(tab.id);
    grew = above.length > 0;
  }
  return found;
}

const WAITING = ["input-required", "auth-required"];
