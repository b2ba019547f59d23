/** A run that plays itself into this store: for whoever has nothing to show yet. */
import { useState } from "react";
import { api } from "../api/client";
import { asApiError } from "../ui/hooks";

type Stage = { kind: "ready" } | { kind: "asked" } | { kind: "playing" } | { kind: "refused"; words: string };

export function LoadDemo({ begun }: { begun?: () => void }) {
  const [stage, set] = useState<Stage>({ kind: "ready" });
  const load = async () => {
    set({ kind: "asked" });
    try {
      await api.demo();
      set({ kind: "playing" });
      begun?.();
    } catch (error) {
      const { message, hint } = asApiError(error);
      set({ kind: "refused", words: `${message}. ${hint}.` });
    }
  };
  return (
    <p className="load-demo">
      <button type="button" disabled={stage.kind === "asked"} onClick={() => void load()}>
        Load a demo run
      </button>
      <span role="status">
        {stage.kind === "playing" && "It plays for about twenty seconds; its first request is on its way."}
        {stage.kind === "refused" && stage.words}
      </span>
    </p>
  );
}
