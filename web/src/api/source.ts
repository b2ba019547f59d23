/** Where answers come from: the server, or the file itself that a run was saved into. */

export interface Source {
  /** A saved run: nothing can be asked beyond it, and nothing changed. */
  saved: boolean;
  /** Where a saved run begins to be read; its own place is behind the `#` of the file's address. */
  home: string;
  fetch: (url: string, options?: RequestInit) => Promise<Response>;
}

export const source: Source = { saved: false, home: "", fetch: (url, options) => fetch(url, options) };

/** Where a saved run is seen whole. */
export const home = (): URL => new URL(source.home, "http://saved.invalid");

/** The place in the address bar that a view is read from. */
export function place(): URL {
  return source.saved ? new URL(location.hash.slice(1) || source.home, "http://saved.invalid") : new URL(location.href);
}

/** The address of a view, as links and the address bar write it. */
export const written = (view: string): string => (source.saved ? `#${view}` : view);
