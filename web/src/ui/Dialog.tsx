/** What lies over the page. The element that had the focus gets it back. */
import type { ReactNode } from "react";
import { useEffect, useRef } from "react";

export function Dialog({ label, close, children }: { label: string; close: () => void; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog ref={dialog} aria-label={label} onClose={close} onClick={(event) => event.target === dialog.current && close()}>
      {children}
    </dialog>
  );
}
