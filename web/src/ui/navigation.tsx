/** The view in the address bar, and links that change it. */
import type { AnchorHTMLAttributes, MouseEvent, ReactNode } from "react";
import { createContext, useCallback, useContext, useEffect, useMemo, useState } from "react";
import { place, written } from "../api/source";
import type { View } from "../state/view";
import { START, formatView, parseView } from "../state/view";

export interface Navigation {
  view: View;
  /** To another page or tab: Back returns. */
  go: (change: Partial<View>) => void;
  /** A selection or a fold: Back does not stop at each of them. */
  adjust: (change: Partial<View>) => void;
}

const Context = createContext<Navigation | null>(null);

export function useNavigation(): Navigation {
  const navigation = useContext(Context);
  if (!navigation) throw new Error("outside of the page");
  return navigation;
}

const here = () => parseView(place());
const addressOf = (view: View) => written(formatView(view));

export function NavigationProvider({ children }: { children: ReactNode }) {
  const [view, set] = useState(here);
  useEffect(() => {
    const back = () => set(here());
    addEventListener("popstate", back);
    return () => removeEventListener("popstate", back);
  }, []);
  const go = useCallback((change: Partial<View>) => {
    history.pushState(null, "", addressOf({ ...here(), ...change }));
    set(here());
  }, []);
  const adjust = useCallback((change: Partial<View>) => {
    history.replaceState(null, "", addressOf({ ...here(), ...change }));
    set(here());
  }, []);
  const navigation = useMemo(() => ({ view, go, adjust }), [view, go, adjust]);
  return <Context.Provider value={navigation}>{children}</Context.Provider>;
}

/** A page of its own, with nothing left over from the one before. */
export function fresh(change: Partial<View>): View {
  return { ...START, ...change };
}

type LinkProperties = { to: View } & Omit<AnchorHTMLAttributes<HTMLAnchorElement>, "href">;

export function Link({ to, onClick, ...rest }: LinkProperties) {
  const { go } = useNavigation();
  const click = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    go(to);
  };
  return <a {...rest} href={addressOf(to)} onClick={click} />;
}

export const taskView = (id: string): View => fresh({ page: "task", id });
export const conversationView = (id: string): View => fresh({ page: "conversation", id });
