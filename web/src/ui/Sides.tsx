/** Two things side by side; one above the other where the page is narrow. */
import type { ReactNode } from "react";

export interface Side {
  title: ReactNode;
  body: ReactNode;
}

export function Sides({ left, right }: { left: Side; right: Side }) {
  return (
    <div className="sides">
      {[left, right].map((side, at) => (
        <div key={at}>
          <h3 className="side-title">{side.title}</h3>
          {side.body}
        </div>
      ))}
    </div>
  );
}
