/** Keys for the whole page: what is drawn last answers first; nothing acts while somebody types. */
import { useEffect, useRef } from "react";
import type { Act } from "../state/keys";
import { actOf } from "../state/keys";

type Handlers = Partial<Record<Act, () => void>>;

const stack: { current: Handlers }[] = [];
let pending = "";

function typing(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));
}

/** A focused button or link keeps its own Enter; arrows and letters are the page's. */
function itsOwn(event: KeyboardEvent): boolean {
  return event.key === "Enter" && event.target instanceof HTMLElement && event.target.closest("a, button, summary") !== null;
}

addEventListener("keydown", (event) => {
  const typed = typing(event.target);
  if (typed && !(event.ctrlKey || event.metaKey || event.key === "Escape")) return;
  if (itsOwn(event) || event.defaultPrevented) return;
  const { act, pending: next } = actOf(event, pending);
  pending = next;
  if (!act) return;
  if (typed && event.key === "Escape") {
    (event.target as HTMLElement).blur();
    return;
  }
  if (perform(act)) event.preventDefault();
});

/** Does what the key of this act would do; says whether anything on the page knows it. */
export function perform(act: Act): boolean {
  for (let at = stack.length - 1; at >= 0; at -= 1) {
    const handler = stack[at]?.current[act];
    if (handler) {
      handler();
      return true;
    }
  }
  return false;
}

export function useKeys(handlers: Handlers): void {
  const latest = useRef(handlers);
  latest.current = handlers;
  useEffect(() => {
    stack.push(latest);
    return () => void stack.splice(stack.indexOf(latest), 1);
  }, []);
}
