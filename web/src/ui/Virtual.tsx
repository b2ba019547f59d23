/** Very many rows of one height: only those in view are drawn, and the row under the reader's eye stays where it is. */
import type { ReactNode } from "react";
import { useEffect, useImperativeHandle, useLayoutEffect, useRef, useState } from "react";

export interface VirtualHandle {
  reveal(index: number): void;
}

interface Properties {
  label: string;
  role: "tree" | "grid";
  ids: string[];
  height: number;
  draw: (index: number) => ReactNode;
  /** Drawn over the rows, in the coordinates of all of them; told which are in view. */
  over?: (first: number, last: number) => ReactNode;
  /** Told which rows are in view. */
  look?: (ids: string[]) => void;
  active: string | null;
  handle?: React.Ref<VirtualHandle>;
}

const AROUND = 8;
export const rowId = (id: string) => `row-${id}`;

export function Virtual({ label, role, ids, height, draw, over, look, active, handle }: Properties) {
  const box = useRef<HTMLDivElement>(null);
  const [place, set] = useState({ top: 0, height: 800 });
  const pointer = useRef<number | null>(null);
  useImperativeHandle(handle, () => ({ reveal: (index) => box.current && reveal(box.current, index, height) }), [height]);
  useAnchor(box, ids, height, active, pointer);
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const measure = () => set({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(place.top / height) - AROUND);
  const last = Math.min(ids.length, Math.ceil((place.top + place.height) / height) + AROUND);
  const shown = active !== null && ids.slice(first, last).includes(active) ? rowId(active) : undefined;
  useEffect(() => look?.(ids.slice(first, last)), [ids, first, last]);
  const rows = [];
  for (let index = first; index < last; index += 1) rows.push(draw(index));
  return (
    <div
      ref={box}
      className="virtual"
      role={role}
      aria-label={label}
      aria-activedescendant={shown}
      tabIndex={0}
      onScroll={(event) => set({ top: event.currentTarget.scrollTop, height: event.currentTarget.clientHeight })}
      onPointerMove={(event) => {
        pointer.current = event.clientY - (box.current?.getBoundingClientRect().top ?? 0);
      }}
      onPointerLeave={() => {
        pointer.current = null;
      }}
    >
      <div className="virtual-room" role="none" style={{ height: ids.length * height }}>
        <div role="none" style={{ transform: `translateY(${first * height}px)` }}>
          {rows}
        </div>
        {over?.(first, last)}
      </div>
    </div>
  );
}

function reveal(box: HTMLElement, index: number, height: number): void {
  const top = index * height;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + height > box.scrollTop + box.clientHeight) box.scrollTop = top + height - box.clientHeight;
}

/** The row under the pointer, else the selected one if it is in view, else the uppermost keeps its place on the screen. */
function useAnchor(box: React.RefObject<HTMLDivElement | null>, ids: string[], height: number, active: string | null, pointer: React.RefObject<number | null>): void {
  const before = useRef<string[]>(ids);
  useLayoutEffect(() => {
    const element = box.current;
    const old = before.current;
    before.current = ids;
    if (!element || old === ids || element.scrollTop === 0) return;
    const top = Math.floor(element.scrollTop / height);
    const under = pointer.current === null ? -1 : Math.floor((element.scrollTop + pointer.current) / height);
    const selected = active === null ? -1 : old.indexOf(active);
    const visible = selected >= top && selected * height < element.scrollTop + element.clientHeight;
    const anchor = under >= 0 && under < old.length ? under : visible ? selected : top;
    const now = ids.indexOf(old[anchor] ?? "");
    if (now >= 0 && now !== anchor) element.scrollTop += (now - anchor) * height;
  }, [ids]);
}
