/** Tabs that are open, for as long as the browser's own tab lives. */
import type { ReactNode } from "react";
import { createContext, useCallback, useContext, useMemo, useState } from "react";
import type { OpenTab, Tabs } from "../state/tabs";
import { close, open, renamed } from "../state/tabs";

const KEPT = "ramify.tabs";

interface TabsContext {
  tabs: Tabs;
  openTab: (tab: OpenTab) => void;
  closeTab: (id: string, withChildren: boolean) => void;
  renameTab: (old: string, fresh: string) => void;
}

const Context = createContext<TabsContext>({ tabs: [], openTab: () => undefined, closeTab: () => undefined, renameTab: () => undefined });
export const useTabs = () => useContext(Context);

function kept(): Tabs {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT) ?? "[]") as Tabs;
  } catch {
    return [];
  }
}

export function TabsProvider({ children }: { children: ReactNode }) {
  const [tabs, set] = useState<Tabs>(kept);
  const change = useCallback((make: (old: Tabs) => Tabs) => {
    set((old) => {
      const fresh = make(old);
      sessionStorage.setItem(KEPT, JSON.stringify(fresh));
      return fresh;
    });
  }, []);
  const openTab = useCallback((tab: OpenTab) => change((old) => open(old, tab)), [change]);
  const closeTab = useCallback((id: string, withChildren: boolean) => change((old) => close(old, id, withChildren)), [change]);
  const renameTab = useCallback((old: string, fresh: string) => change((tabs) => renamed(tabs, old, fresh)), [change]);
  const value = useMemo(() => ({ tabs, openTab, closeTab, renameTab }), [tabs, openTab, closeTab, renameTab]);
  return <Context.Provider value={value}>{children}</Context.Provider>;
}
